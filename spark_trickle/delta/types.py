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


def hard_to_group(kind: str) -> bool:
    """Does grouping fail to tell values of the type apart? It takes 0.0 and -0.0 for one, and sorts maps, or fails.

    >>> hard_to_group("array<struct<x:double>>"), hard_to_group("map<string,int>"), hard_to_group("decimal(10,2)")
    (True, True, False)
    """
    return _FLOATING.search(kind.lower()) is not None or "map<" in kind.lower()


def groupable(kind: str) -> bool:
    """Is the type known, and does grouping tell its values apart as comparing them does?"""
    return bool(kind) and not any(word in kind.lower() for word in ("map<", "variant", "collate"))


def is_map(kind: str) -> bool:
    """Is it a map, and not one that holds others?"""
    return kind.lower().startswith("map<") and kind.lower().count("map<") == 1


def holds_map(kind: str) -> bool:
    """Is there a map inside of something else?"""
    return "map<" in kind.lower() and not is_map(kind)


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
