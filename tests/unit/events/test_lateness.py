"""Who has become late is told once, while it is so; and nobody looks where nobody wants to know."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from spark_trickle.events import Event, Late
from spark_trickle.lateness import Lateness
from spark_trickle.watching import Watch
from tests.support.scheduling import StoppedClock, Yard, names, yard


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        made.base("orders")
        made.stream("a", "orders", schedule="1m")
        made.stream("b", "orders", schedule="1h")
        made.tick()
        yield made


def watched(y: Yard, told: list[Event], *, wanted: bool = True) -> Lateness:
    watch = Watch(y.catalog, StoppedClock(y), timedelta(seconds=1), timedelta())
    return Lateness(watch, told.append, wanted, every_seconds=600)


def test_it_is_told_once_until_it_was_in_time_again(y: Yard) -> None:
    told: list[Event] = []
    lateness = watched(y, told)
    y.write("orders")
    lateness.look()
    assert told == []
    for _ in range(2):
        y.now += timedelta(minutes=2)
        lateness.look()
    (late,) = told
    assert isinstance(late, Late) and late.table == "a"
    assert late.because == "'orders' changed, and it has not followed"
    assert names(y.tick()) == ["a"]
    lateness.look()
    y.write("orders")
    lateness.look()
    y.now += timedelta(minutes=2)
    lateness.look()
    assert [each.table for each in told if isinstance(each, Late)] == ["a", "a"]


def test_nobody_looks_where_nobody_wants_to_know(y: Yard) -> None:
    told: list[Event] = []
    lateness = watched(y, told, wanted=False)
    y.write("orders")
    y.now += timedelta(days=1)
    with lateness.watching():
        lateness.look()
    assert told == []


def test_looking_ends_with_the_scheduler(y: Yard) -> None:
    began = time.monotonic()
    with watched(y, []).watching():
        pass
    assert time.monotonic() - began < 60, "without waiting for the next look"
