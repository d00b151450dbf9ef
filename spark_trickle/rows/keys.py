"""Keys of one column of one data file, and the rows that have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Wanted:
    """Keys that are looked for, each once and none of them NULL."""

    values: pa.Array
    numbers: np.ndarray | None
    """The same in order, where keys are numbers."""

    @classmethod
    def of(cls, values: pa.Array) -> Wanted:
        distinct = pc.unique(values.drop_null())
        return cls(distinct, np.sort(numbers_of(distinct)) if is_number(distinct.type) else None)


def is_key(kind: pa.DataType) -> bool:
    """Whether keys of a type are equal here whenever they are to Spark."""
    return is_number(kind) or bool(pa.types.is_string(kind))


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind))


def numbers_of(values: pa.Array) -> np.ndarray:
    """Keys that are numbers, or days, as long integers. None of them is NULL."""
    whole = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    return np.asarray(whole).astype(np.int64, copy=False)


def sorted_run(values: pa.Array) -> pa.Table:
    """The keys of a column in order, each with its row; rows without one are left out."""
    places = np.arange(len(values), dtype=np.uint32)
    if values.null_count:
        places = places[np.asarray(values.is_valid())]
        values = values.drop_null()
    numbers = numbers_of(values)
    order = np.argsort(numbers, kind="stable")
    return pa.table({"key": numbers[order], "row": places[order]})


def rows_in_run(run: pa.Table, wanted: np.ndarray) -> np.ndarray:
    """Rows of a run that have one of these keys, in their order in the file."""
    keys, rows = _numpy(run, 0), _numpy(run, 1)
    if len(keys) == 0 or len(wanted) == 0 or wanted[-1] < keys[0] or wanted[0] > keys[-1]:
        return rows[:0]
    if len(wanted) > len(keys):
        places = np.searchsorted(wanted, keys)
        places[places == len(wanted)] = 0
        return np.sort(rows[wanted[places] == keys])
    first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    counts = last - first
    met = counts > 0
    first, counts = first[met], counts[met]
    total = int(counts.sum())
    # The places first, first + 1, ... of each key, one key after the other.
    starts = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) if total else first
    return np.sort(rows[starts + np.arange(total)])


def rows_with_texts(kept: pa.Array, wanted: pa.Array) -> np.ndarray:
    """Rows of a column of texts that have one of these: all of them are looked at, or of repeated ones each once."""
    if pa.types.is_dictionary(kept.type):
        fits = np.asarray(pc.is_in(kept.dictionary, value_set=wanted))
        indices = np.asarray(kept.indices.fill_null(-1)).astype(np.int64)
        return np.flatnonzero(np.append(fits, False)[indices]).astype(np.uint32)
    return np.flatnonzero(np.asarray(pc.is_in(kept, value_set=wanted))).astype(np.uint32)


def alive(rows: np.ndarray, dead: np.ndarray) -> np.ndarray:
    """Those of some rows that are not among the dead ones, which are in order."""
    if len(dead) == 0 or len(rows) == 0:
        return rows
    places = np.searchsorted(dead, rows)
    places[places == len(dead)] = 0
    living: np.ndarray = rows[dead[places] != rows]
    return living


def _numpy(run: pa.Table, column: int) -> np.ndarray:
    return np.asarray(run.column(column).chunk(0)) if run.num_rows else np.empty(0, np.int64)
