"""Whether two answers are the same. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

TOLERANCE = Decimal("0.000001")
"""The last digit of an average, which each engine rounds in its own way. Most sums have fewer digits."""

Answer = Sequence[Sequence[str]]


def difference(expected: Answer, found: Answer) -> str | None:
    """What differs, or None. The order of rows does not count: only the one with LIMIT chooses by it."""
    if len(expected) != len(found):
        return f"{len(found)} rows instead of {len(expected)}"
    for right, said in zip(_ordered(expected), _ordered(found), strict=True):
        if len(right) != len(said) or not all(map(_same, right, said)):
            return f"{', '.join(said)} instead of {', '.join(right)}"
    return None


def _ordered(answer: Answer) -> list[tuple[str, ...]]:
    """By the values that are no fractions: those may differ in how they are written."""
    return sorted((tuple(row) for row in answer), key=lambda row: [value for value in row if "." not in value])


def _same(right: str, said: str) -> bool:
    if right == said:
        return True
    try:
        return abs(Decimal(right) - Decimal(said)) <= TOLERANCE
    except InvalidOperation:
        return False
