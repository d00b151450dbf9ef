"""Small relations brought to the driver and handed back, so that Spark knows their size and broadcasts them.

Also the bounds of their columns as literals: predicates that let Iceberg skip files of the large side of a join.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t
from sqlglot import exp

from spark_trickle.spark.execution.on_driver import on_driver, relation
from spark_trickle.storage.far_dates import iso, python_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIXED = (
    t.BooleanType,
    t.ByteType,
    t.ShortType,
    t.IntegerType,
    t.LongType,
    t.FloatType,
    t.DoubleType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
)
_ATOMIC = (*_FIXED, t.DecimalType, t.StringType, t.BinaryType)
_WIDE = 4
"""So many columns of fixed width are as wide as one of another type."""

MAX_LISTED = 200
"""Up to so many distinct keys are listed one by one; more are given as ranges."""

MAX_INTERVALS = 12
"""So many ranges at the most."""

MAX_TEXT = 1_000
"""Longer texts are not put into statements."""


def travels(schema: t.StructType) -> bool:
    """Whether every type comes back from Arrow exactly as it went."""
    return all(_travels(field.dataType) for field in schema.fields)


def _travels(kind: t.DataType) -> bool:
    if isinstance(kind, t.StringType):
        return kind.simpleString() == "string"  # a collation would be lost
    if isinstance(kind, _ATOMIC):
        return True
    if isinstance(kind, t.ArrayType):
        return _travels(kind.elementType)
    if isinstance(kind, t.StructType):
        return travels(kind)
    return False


def most_fetched(schema: t.StructType, small_rows: int) -> int:
    """How many rows are brought here at the most: more of narrow ones. What stays in Spark has no known size, and large
    tables are sorted and moved to meet it."""
    width = sum(1 if isinstance(field.dataType, _FIXED) else _WIDE for field in schema.fields)
    return small_rows * max(1, _WIDE // max(1, width))


def fetch(frame: DataFrame) -> pa.Table:
    """Run the frame and bring its rows here: one job, or none where it reads what is here. Moments are in UTC,
    whatever the session's time zone."""
    found = on_driver(frame)
    return frame.toArrow() if found is None else found


def hand_back(session: SparkSession, rows: pa.Table, schema: t.StructType) -> DataFrame:
    """A local relation of the rows: no job, known size."""
    rows = _without_empty_batches(rows)
    made = relation(session, rows, schema)
    return session.createDataFrame(rows, schema=schema) if made is None else made


def _without_empty_batches(rows: pa.Table) -> pa.Table:
    """Spark takes an empty batch for the end, and forgets the rows of all that follow."""
    if rows.num_rows == 0:
        # Exactly one empty chunk a column: PySpark cannot convert a nested column without any.
        return pa.Table.from_arrays([pa.array([], field.type) for field in rows.schema], schema=rows.schema)
    return rows.combine_chunks()


Spares = Callable[[Sequence[tuple[Any, Any]]], bool]
"""Whether ranges of a column leave much of its table unread."""


def key_predicate(column: exp.Expr, rows: pa.Table, name: str, spares: Spares | None = None) -> exp.Expr:
    """A predicate on `column` that holds for every non-NULL value of `rows[name]`; TRUE when none can be told, or when
    it is not worth it.
    """
    values = rows.column(name).combine_chunks().drop_null()
    if len(values) == 0:
        return exp.false()
    if pa.types.is_floating(values.type) or pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        return exp.true()
    distinct = pc.unique(values)
    if len(distinct) <= MAX_LISTED:
        literals = [literal(v, distinct.type) for v in python_values(distinct)]
        if any(v is None for v in literals):
            return exp.true()
        return exp.In(this=column.copy(), expressions=[v for v in literals if v is not None])
    within = []
    ranges = intervals(distinct)
    if spares is not None and not spares(ranges):
        return exp.true()
    for low, high in ranges:
        first, last = literal(low, distinct.type), literal(high, distinct.type)
        if first is None or last is None:
            return exp.true()
        within.append(exp.Between(this=column.copy(), low=first, high=last))
    return exp.paren(exp.or_(*within)) if len(within) > 1 else within[0]


def intervals(values: pa.Array) -> list[tuple[Any, Any]]:
    """A few intervals that hold all values, with the largest gaps between them: old rows that go and new ones that
    come lie far apart, and what is between them need not be read."""
    ordered = values.sort()
    if not pa.types.is_integer(values.type) and not pa.types.is_date32(values.type):
        first, last = python_values(pa.concat_arrays([ordered[:1], ordered[-1:]]))
        return [(first, last)]
    numbers = ordered.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64()).to_numpy().astype("int64")
    # From the least to the largest integer is further than an integer can tell.
    gaps = numbers[1:].astype("float64") - numbers[:-1]
    widest = sorted(gaps.argsort()[-(MAX_INTERVALS - 1) :])
    starts = [0, *(int(place) + 1 for place in widest)]
    ends = [*(int(place) for place in widest), len(numbers) - 1]
    return list(zip(python_values(ordered.take(starts)), python_values(ordered.take(ends)), strict=True))


def literal(value: Any, kind: pa.DataType) -> exp.Expr | None:
    """A value of a type as SQL; None: it has no exact literal."""
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, int):
        return exp.Literal.number(value)
    if isinstance(value, str):
        # Of control characters Spark does not read all escapes, and long texts would make long statements.
        return exp.Literal.string(value) if value.isprintable() and len(value) <= MAX_TEXT else None
    if isinstance(value, decimal.Decimal):
        digits = len(value.as_tuple().digits)
        scale = max(0, -int(value.as_tuple().exponent))
        return exp.cast(exp.Literal.string(format(value, "f")), f"decimal({max(digits, scale, 1)},{scale})")
    shown = iso(value) if isinstance(value, np.datetime64) else None
    if shown is None:
        return None
    if pa.types.is_date(kind):
        return exp.cast(exp.Literal.string(shown), "date")
    zoned = kind.tz is not None
    moment = exp.DataType.build("timestamp" if zoned else "timestamp_ntz", dialect="spark")
    return exp.cast(exp.Literal.string(f"{shown}Z" if zoned else shown), moment)
