"""What matters here about Spark's types, read from their text: exact or floating, and what may be compared as a
range.
"""

from __future__ import annotations

import re

from sqlglot import exp

INTEGERS = frozenset({"tinyint", "smallint", "int", "integer", "bigint", "byte", "short", "long"})
_RANGED = frozenset({"string", "date", "timestamp", "timestamp_ntz"})
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_FLOATING = re.compile(r"\b(float|double|real)\b")


def is_integer(kind: str) -> bool:
    return kind.lower() in INTEGERS


def is_floating(kind: str) -> bool:
    return kind.lower() in ("float", "double", "real")


def contains_floating(kind: str) -> bool:
    """Is there a floating-point number in values of the type?

    >>> contains_floating("array<struct<x:double>>"), contains_floating("decimal(10,2)")
    (True, False)
    """
    return _FLOATING.search(kind.lower()) is not None


def decimal(kind: str) -> tuple[int, int] | None:
    """Precision and scale."""
    match = _DECIMAL.fullmatch(kind.lower().strip())
    return (int(match[1]), int(match[2])) if match else None


def same_range(one: str, other: str) -> bool:
    """May values of both be compared with the same bounds? Only if equality needs no conversion."""
    if is_integer(one) and is_integer(other):
        return True
    return one.lower() == other.lower() and (one.lower() in _RANGED or decimal(one) is not None)


def cast(expression: exp.Expr, kind: str) -> exp.Expr:
    """The expression as that Spark type."""
    return exp.cast(expression, exp.DataType.build(kind, dialect="spark"))
