"""How often a schedule was kept: each rule of what is counted, and that it is the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from spark_trickle.conditions import Condition, State
from spark_trickle.metadata_files import SnapshotAt, TableMetadata
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.refresh import Action, HistoryRow, Outcome
from spark_trickle.names import TableName
from spark_trickle.scheduler.due import Rhythm
from spark_trickle.sla import Sla, rows_each, sla_of

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
ORDERS = TableName.parse("orders")
MINUTE = Rhythm(timedelta(minutes=1))


def ago(**parts: float) -> datetime:
    return NOW - timedelta(**parts)


def row(snapshot: int, ended: datetime, status: Outcome = Outcome.COMPLETED) -> HistoryRow:
    pin = Pin(table=ORDERS, uuid="u", snapshot_id=snapshot, schema_id=0, location=f"m{snapshot}")
    return HistoryRow(
        name="t",
        action=Action.DIFFERENTIAL,
        status=status,
        mode="DIFFERENTIAL",
        reason=None,
        error=None,
        started_at=ended - timedelta(seconds=1),
        duration_ms=1000,
        rows_inserted=1,
        rows_deleted=0,
        frontier=Frontier((pin,)),
        cut=None,
        group=None,
        epoch=1,
        jobs=1,
        commits=1,
        initiated_by="SCHEDULER",
    )


def asked(
    refreshes: Sequence[HistoryRow], made: dict[int, datetime], rhythm: Rhythm = MINUTE, now: Condition | None = None
) -> Sla:
    """`made`: when each snapshot of the source was."""
    known = TableMetadata(tuple(SnapshotAt(number, at) for number, at in sorted(made.items())))
    return sla_of("t", rhythm, list(reversed(refreshes)), now, lambda _: known, NOW)


def test_a_change_that_is_in_when_promised_is_kept_and_a_later_one_is_missed() -> None:
    made = {1: ago(hours=3), 2: ago(hours=2), 3: ago(hours=1)}
    in_time = row(2, ago(hours=2) + timedelta(seconds=65))
    late = row(3, ago(hours=1) + timedelta(seconds=66))
    found = asked([row(1, ago(hours=3)), in_time, late], made)
    assert (found.day_kept, found.day_missed, found.day_percent) == (1, 1, 50.0)
    assert (found.week_percent, found.week_worst_seconds) == (50.0, 66.0)
    assert found.schedule == "every 60 s" and found.promised


def test_the_first_of_several_changes_counts() -> None:
    made = {1: ago(hours=3), 2: ago(minutes=50), 3: ago(minutes=10)}
    found = asked([row(1, ago(hours=3)), row(3, ago(minutes=10))], made)
    assert (found.day_kept, found.day_missed, found.day_worst_seconds) == (0, 1, 2400.0)


def test_a_day_and_a_week_are_counted_apart_and_what_is_older_not_at_all() -> None:
    made = {1: ago(days=9), 2: ago(days=8), 3: ago(days=3), 4: ago(hours=5)}
    found = asked([row(1, ago(days=9)), row(2, ago(days=8)), row(3, ago(days=3)), row(4, ago(hours=1))], made)
    assert (found.day_kept, found.day_missed) == (0, 1)
    assert (found.week_kept, found.week_missed, found.week_percent) == (1, 1, 50.0)
    assert found.counted_since == ago(days=7)


def test_where_nothing_changed_nothing_was_promised() -> None:
    found = asked([row(1, ago(hours=3)), row(1, ago(hours=2)), row(1, ago(hours=1))], {1: ago(hours=4)})
    assert found.day_percent is None and found.week_percent is None and found.week_unknown == 0
    assert asked([], {}).week_percent is None


def test_a_change_that_is_overdue_and_not_in_is_missed_and_one_under_way_is_not() -> None:
    held = Condition(state=State.HELD, because="", behind_since=ago(hours=2))
    found = asked([row(1, ago(hours=3))], {1: ago(hours=3)}, now=held)
    assert (found.day_missed, found.day_worst_seconds) == (1, 7200.0)
    due = Condition(state=State.DUE, because="", behind_since=ago(seconds=30))
    assert asked([row(1, ago(hours=3))], {1: ago(hours=3)}, now=due).day_percent is None


def test_a_change_whose_moment_has_expired_is_told_and_not_counted() -> None:
    found = asked(
        [row(1, ago(hours=3)), row(2, ago(hours=2)), row(3, ago(hours=1))], {2: ago(hours=2), 3: ago(hours=1)}
    )
    assert (found.day_kept, found.week_unknown) == (1, 1)


@pytest.mark.parametrize(("at", "kept"), [(timedelta(hours=1, seconds=5), 1), (timedelta(hours=1, seconds=6), 0)])
def test_a_cron_line_promises_its_next_moment(at: timedelta, kept: int) -> None:
    midnight = NOW - timedelta(hours=12)
    made = {1: midnight - timedelta(hours=1), 2: midnight + timedelta(minutes=1)}
    rhythm = Rhythm(None, frozenset({"0 * * * *"}))
    assert asked([row(1, midnight), row(2, midnight + at)], made, rhythm).day_kept == kept


def test_nobody_promised_anything_where_no_schedule_is_written() -> None:
    found = asked([row(1, ago(hours=3)), row(2, ago(hours=1))], {}, Rhythm(timedelta(seconds=1), declared=False))
    assert not found.promised and found.week_percent is None


def test_a_long_history_is_read_as_far_as_it_goes_and_that_is_said() -> None:
    assert rows_each(1) == 20_000 and rows_each(1000) == 50
    found = asked([row(1, ago(hours=3)), row(2, ago(hours=1))], {2: ago(hours=1)})
    assert found.counted_since == ago(hours=3, seconds=1)
