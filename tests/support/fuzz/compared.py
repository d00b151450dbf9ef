"""Many answers of Spark in few jobs: on tables of a few rows a job costs more than its rows.

Answers are put into one union, as arrays of printed values. Whatever fails there, or differs, is asked for again alone,
so the union decides only what is right. Needs a JVM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from tests.support.printed import Printed, printed, shown

_T = TypeVar("_T")

Answer = Printed | Exception
"""Rows, or why Spark has none."""


def answers(
    session: SparkSession, texts: Sequence[str], *, together: int, expected: tuple[type[Exception], ...]
) -> list[Answer]:
    """The answers to queries, so many of them in one job."""
    found: list[Answer] = []
    for first in range(0, len(texts), together):
        found += _some(session, texts[first : first + together], expected)
    return found


def alone(session: SparkSession, text: str, expected: tuple[type[Exception], ...]) -> Answer:
    """The answer to one query, by itself."""
    return _caught(lambda: printed(session.sql(text)), expected)


def _some(session: SparkSession, texts: Sequence[str], expected: tuple[type[Exception], ...]) -> Iterator[Answer]:
    frames = [_caught(partial(session.sql, text), expected) for text in texts]
    asked = [(place, frame) for place, frame in enumerate(frames) if isinstance(frame, DataFrame)]
    rows = _caught(lambda: _union(asked), expected) if len(asked) > 1 else None
    for place, frame in enumerate(frames):
        if not isinstance(frame, DataFrame):
            yield frame
        elif isinstance(rows, dict):
            yield rows[place]
        else:
            yield _caught(partial(printed, frame), expected)


def _union(frames: Sequence[tuple[int, DataFrame]]) -> dict[int, Printed]:
    parts = [shown(frame).selectExpr(f"{place} AS place", "array(*) AS row") for place, frame in frames]
    found: dict[int, Printed] = {place: Counter() for place, _ in frames}
    for place, row in reduce(DataFrame.union, parts).collect():
        found[place][tuple(row)] += 1
    return found


def _caught(make: Callable[[], _T], expected: tuple[type[Exception], ...]) -> _T | Exception:
    try:
        return make()
    except expected as err:
        return err
