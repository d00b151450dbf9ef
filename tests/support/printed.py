"""Answers of Spark by their printed form, as multisets: that tells 0.0 from -0.0, knows NaN, and has no last year.

Needs a JVM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

Printed = Counter[tuple[str | None, ...]]
DIGITS = 9
"""Of numbers whose last digits depend on the order of rows."""


def printed(frame: DataFrame) -> Printed:
    return Counter(tuple(row) for row in shown(frame).collect())


def shown(frame: DataFrame) -> DataFrame:
    """The same rows, each value as text."""
    fields = frame.schema.fields
    plain = frame.toDF(*(f"c{place}" for place in range(len(fields))))
    return plain.selectExpr(*(_shown(f"c{place}", each.dataType) for place, each in enumerate(fields)))


def difference(found: Printed, right: Printed, *, roughly: bool) -> str:
    """What differs, in a word; nothing if the two are equal. Roughly: the last digits do not count. Of 0.0 and -0.0 one
    is as large as the other, so which is the largest depends on the order of rows: that has a word of its own.
    """
    if found == right or (roughly and _each(found, _rounded) == _each(right, _rounded)):
        return ""
    return "sign of zero" if _each(found, _unsigned) == _each(right, _unsigned) else "wrong rows"


def _shown(column: str, kind: DataType) -> str:
    if isinstance(kind, BinaryType):
        return f"hex({column})"
    if isinstance(kind, ArrayType | StructType | MapType):
        return f"to_json(struct({column}), map('ignoreNullFields', 'false'))"
    return f"CAST({column} AS STRING)"


def _each(rows: Printed, change: Callable[[str | None], str | None]) -> Printed:
    found: Printed = Counter()
    for row, count in rows.items():
        found[tuple(map(change, row))] += count
    return found


def _rounded(value: str | None) -> str | None:
    try:
        return f"{float(value):.{DIGITS}g}" if value is not None and "." in value else value
    except ValueError:
        return value


def _unsigned(value: str | None) -> str | None:
    return "0.0" if value == "-0.0" else value
