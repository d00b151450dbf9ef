"""Rows of large tables that several stream tables of one refresh look up by keys: read once.

Whoever joins customers with their orders needs the orders of the customers that changed, and there may be ten such
stream tables. The first one that asks has the table read for its own keys and for all others of that name that are
known here, with the columns that any of them needs; the next ones find their rows at hand. What the table held before
is what it holds now without its change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t
from sqlglot import exp

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.names import TableName, quote
from spark_trickle.spark.local import Spares, fetch, hand_back, key_predicate, travels
from spark_trickle.spark.parallel import Turns
from spark_trickle.spark.sharing import Brought, exact, netted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_READERS = 3
"""Reading a table for all with the columns of all takes longer than for one: that pays off from so many readers on."""
MOST_ROWS = 500_000
"""More are not brought here."""

_KEY = "trickle_key"


@dataclass(frozen=True, slots=True)
class _Found:
    keys: pa.Array
    rows: pa.Table
    schema: t.StructType


@dataclass(frozen=True, slots=True)
class Lookups:
    """What was looked up in one unit, whichever session asks."""

    brought: Brought
    least_rows: int
    """Smaller tables are read by whoever needs them."""
    _found: dict[tuple[str, str], _Found | None] = field(default_factory=dict)
    """None: too much."""
    _turns: Turns = field(default_factory=Turns)

    def worthwhile(self, source: str, total: int) -> bool:
        return total >= self.least_rows and self.brought.readers.get(source, 0) >= LEAST_READERS

    def get(
        self, session: SparkSession, table: TableName, column: str, keys: pa.ChunkedArray, name: str, spares: Spares
    ) -> tuple[pa.Table, t.StructType] | None:
        """Rows of a table whose `column` is one of the keys, with all columns that anybody here reads.

        None: they are too many, or cannot be told apart here. `name` is what the keys are called where they come from.
        """
        wanted = _distinct(keys)
        if not _comparable(wanted.type):
            return None
        place = (str(table), column)
        with self._turns.of(place):
            had = self._found.get(place)
            if place in self._found and had is None:
                return None
            if had is None or not _covers(had.keys, wanted):
                had = self._found[place] = self._read(session, table, column, self._wider(wanted, name, had), spares)
        if had is None:
            return None
        kind = had.rows.schema.field(column).type
        rows = had.rows.filter(pc.is_in(had.rows.column(column), value_set=wanted.cast(kind)))
        return rows, had.schema

    def _wider(self, keys: pa.Array, name: str, had: _Found | None) -> pa.Array:
        """With keys of the same name that are known here: others will ask for them."""
        known = [change.rows for change in self.brought.fetched.values()]
        known += [found.rows for found in self._found.values() if found is not None]
        parts = [keys] if had is None else [keys, had.keys.cast(keys.type)]
        parts += [
            _distinct(rows.column(name))
            for rows in known
            if name in rows.column_names and rows.schema.field(name).type == keys.type
        ]
        wide = pc.unique(pa.chunked_array(parts))
        return wide if len(wide) <= MOST_ROWS else keys

    def _read(
        self, session: SparkSession, table: TableName, column: str, keys: pa.Array, spares: Spares
    ) -> _Found | None:
        names = tuple(self.brought.wanted.get(str(table), ()))
        if column not in names:
            return None
        given = pa.table({_KEY: keys})
        bounds = key_predicate(exp.column(column, table="trickle_t", quoted=True), given, _KEY, spares)
        listed = ", ".join(f"trickle_t.{quote(name)}" for name in names)
        kind = session.table(table.sql).schema[column].dataType
        view = f"trickle_keys_{abs(hash((str(table), column)))}"
        hand_back(session, given, t.StructType([t.StructField(_KEY, kind)])).createOrReplaceTempView(view)
        frame = session.sql(
            f"SELECT {listed} FROM {table.sql} AS trickle_t LEFT SEMI JOIN {view} AS trickle_k "
            f"ON trickle_t.{quote(column)} = trickle_k.{_KEY} WHERE {bounds.sql(dialect='spark')}"
        )
        schema = frame.schema
        if not travels(schema):
            return None
        rows = fetch(frame.limit(MOST_ROWS + 1))
        session.catalog.dropTempView(view)
        return _Found(keys, rows, schema) if rows.num_rows <= MOST_ROWS else None


def narrowed(rows: pa.Table, schema: t.StructType, columns: tuple[str, ...]) -> tuple[pa.Table, t.StructType]:
    return rows.select(list(columns)), t.StructType([schema[name] for name in columns])


def without(rows: pa.Table, change: pa.Table, column: str, keys: pa.ChunkedArray) -> pa.Table | None:
    """What these rows were before a change of their table; None: its rows cannot be told apart here."""
    columns = rows.column_names
    if not all(exact(rows.schema.field(name).type) for name in columns):
        return None
    kind = rows.schema.field(column).type
    mine = change.filter(pc.is_in(change.column(column), value_set=_distinct(keys).cast(kind))).select(
        [*columns, WEIGHT]
    )
    undone = mine.set_column(len(columns), WEIGHT, pc.negate(mine.column(WEIGHT)))
    now = rows.append_column(WEIGHT, pa.array(np.ones(rows.num_rows, dtype="int64")))
    net = netted(pa.concat_tables([now, undone.cast(now.schema)]), columns)
    weights = np.asarray(net.column(WEIGHT).combine_chunks())
    if (weights < 0).any():
        return None  # the change is not one of these rows: let Spark read the version itself
    kept = net.select(columns)
    return kept if (weights == 1).all() else kept.take(pa.array(np.repeat(np.arange(len(weights)), weights)))


def _distinct(keys: pa.ChunkedArray) -> pa.Array:
    return pc.unique(keys.combine_chunks().drop_null())


def _comparable(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_date(kind))


def _covers(known: pa.Array, wanted: pa.Array) -> bool:
    if known.type != wanted.type:
        wanted = wanted.cast(known.type)
    return bool(pc.all(pc.is_in(wanted, value_set=known), min_count=0).as_py())
