"""Tiny tables held in memory from one refresh to the next.

Most stream tables that somebody looks at have ten or a hundred rows, and so has much of the state behind them. For
Spark to read one takes a plan, a scan, a job and a broadcast: longer than all that is done with its rows. A version of
a table never changes, so what this process has read or written of one is as true at the next refresh. A tiny table of
ours is then also written whole, which needs no addresses and no deletion vectors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.model.frontier import Pin
from spark_trickle.storage.newest import Newest, size_in_bytes

if TYPE_CHECKING:
    from pyspark.sql import types as t

MOST_BYTES = 64 * 1024 * 1024
"""Of all that is held together."""


@dataclass(frozen=True, slots=True)
class Contents:
    """All rows of a version of a table."""

    rows: pa.Table
    schema: t.StructType


class Held:
    """Contents of tiny tables by their versions. Any thread may ask."""

    def __init__(self, most_rows: int, most_bytes: int = MOST_BYTES) -> None:
        self.most_rows = most_rows
        """Larger tables are not held."""
        self._contents: Newest[tuple[str, int | None, int], Contents] = Newest(
            most_bytes, _bytes, family=lambda version: version[0]
        )

    def get(self, version: Pin) -> Contents | None:
        return self._contents.get(_key(version))

    def put(self, version: Pin, contents: Contents) -> None:
        if contents.rows.num_rows <= self.most_rows:
            self._contents.put(_key(version), contents)


def _bytes(contents: Contents) -> int:
    return size_in_bytes(contents.rows)


def floating(schema: t.StructType) -> bool:
    """Whether some column holds floating values."""
    kinds = (field.dataType.simpleString() for field in schema.fields)
    return any("double" in kind or "float" in kind for kind in kinds)


NOTHING_HELD = Held(-1)
"""For whoever wants to read the tables themselves."""


def changed(rows: pa.Table, gone: Sequence[int], came: pa.Table) -> pa.Table:
    """The rows without those at some places, and with others."""
    stays = np.ones(rows.num_rows, dtype=bool)
    stays[list(gone)] = False
    return pa.concat_tables([rows.filter(pa.array(stays)), came.cast(rows.schema)])


def places(rows: pa.Table, delta: pa.Table, key: tuple[str, ...]) -> list[int]:
    """Where the rows are that a delta takes away: by their keys or, where there is none, by all columns and as many
    copies as the weights say. Those that are not there are missing from the answer.
    """
    names = list(key) or rows.column_names
    waiting: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place, values in enumerate(_tuples(rows, names, exactly=not key)):
        waiting[values].append(place)
    found: list[int] = []
    weights = delta.column(WEIGHT).to_pylist()
    for values, weight in zip(_tuples(delta, names, exactly=not key), weights, strict=True):
        if weight < 0:
            here = waiting[values]
            found += here[:-weight]
            del here[:-weight]
    return found


def _tuples(rows: pa.Table, names: Sequence[str], *, exactly: bool) -> Iterator[tuple[object, ...]]:
    columns = [[_token(value, exactly=exactly) for value in _plain(rows.column(name)).to_pylist()] for name in names]
    return zip(*columns, strict=True)


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Moments as numbers: those of the year 1 have no Python value in time zones where it is still the year before."""
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("us", tz=values.type.tz)).cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def _token(value: Any, *, exactly: bool) -> object:
    """A value so that those are equal that Spark's `<=>` says are; `exactly`: 0.0 and -0.0 are two values."""
    if isinstance(value, float):
        return repr(value) if exactly or value != value else value + 0.0
    return value


def _key(version: Pin) -> tuple[str, int | None, int]:
    return (version.uuid, version.snapshot_id, version.schema_id)
