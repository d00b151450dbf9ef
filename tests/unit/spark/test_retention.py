"""Which snapshots may expire, without a JVM."""

from __future__ import annotations

from spark_trickle.spark.upkeep.retention import MOST_BETWEEN, Version, unneeded

LONG_AGO = 10**12
"""A limit of age that every snapshot here is on the far side of."""


def chain(count: int, *, every_ms: int = 10) -> list[Version]:
    """Snapshots 1, 2, …, each made from the one before."""
    return [Version(n, n - 1 or None, n, n * every_ms) for n in range(1, count + 1)]


def test_all_but_the_current_snapshot_expire_when_nobody_needs_them() -> None:
    assert unneeded(chain(4), current=4, needed=(), current_since_ms=LONG_AGO) == (1, 2, 3)


def test_a_needed_snapshot_is_kept_with_the_way_from_it_to_the_current_one() -> None:
    assert unneeded(chain(5), current=5, needed={3}, current_since_ms=LONG_AGO) == (1, 2)


def test_a_needed_snapshot_outside_the_current_lineage_is_kept_alone() -> None:
    versions = [*chain(3), Version(9, None, 4, 40), Version(10, 9, 5, 50)]
    assert unneeded(versions, current=10, needed={2}, current_since_ms=LONG_AGO) == (1, 3, 9)


def test_a_way_that_is_too_long_is_given_up_but_its_end_stays() -> None:
    count = MOST_BETWEEN + 10
    going = unneeded(chain(count), current=count, needed={2}, current_since_ms=LONG_AGO)
    assert going == (1, *range(3, count))


def test_an_old_snapshot_that_was_current_until_just_now_is_kept() -> None:
    versions = [Version(1, None, 1, 10), Version(2, 1, 2, 20), Version(3, 2, 3, 5000)]
    assert unneeded(versions, current=3, needed=(), current_since_ms=4000) == (1,)


def test_a_table_without_a_current_snapshot_keeps_what_is_needed_and_young() -> None:
    assert unneeded(chain(4), current=None, needed={2}, current_since_ms=35) == (1,)


def test_missing_parents_end_the_way() -> None:
    versions = [Version(1, None, 1, 10), Version(4, 3, 4, 40), Version(5, 4, 5, 50)]
    assert unneeded(versions, current=5, needed={1}, current_since_ms=LONG_AGO) == (4,)
