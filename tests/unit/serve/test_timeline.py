"""The last hour in slots, what was slow and busy, and lags against what schedules promise."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from spark_trickle.lag import freshness
from spark_trickle.metadata_files import SnapshotAt, TableMetadata
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.refresh import Action, Activity, Outcome
from spark_trickle.names import TableName
from spark_trickle.serve.timeline import LANES, SLOTS, Kind, busiest, slowest, timeline
from tests.support.catalog_values import NOON, history_row, pin

HOUR = timedelta(hours=1)


def done(name: str, minutes_ago: float, **changes: Any) -> Activity:
    values: dict[str, Any] = {
        "id": 1,
        "name": name,
        "action": Action.DIFFERENTIAL,
        "status": Outcome.COMPLETED,
        "mode": "DIFFERENTIAL",
        "started_at": NOON - timedelta(minutes=minutes_ago),
        "duration_ms": 100.0,
        "rows_inserted": 2,
        "rows_deleted": 1,
        "initiated_by": "SCHEDULER",
    }
    return Activity(**(values | changes))


def test_units_have_lanes_and_the_worst_of_a_slot_is_shown() -> None:
    rows = [
        done("a", 30),
        done("a", 30, action=Action.FULL, duration_ms=900.0),
        done("b", 30, status=Outcome.FAILED, action=Action.SKIP),
        done("c", 59.9, status=Outcome.SKIPPED, action=Action.SKIP),
        done("d", 0, action=Action.NO_DATA),
    ]
    found = timeline(rows, NOON, HOUR, {"a": ("group", ("a", "b")), "b": ("group", ("a", "b"))})
    assert [lane.unit for lane in found.lanes] == ["group", "c", "d"]
    (slot,) = found.lanes[0].slots
    assert (slot.at, slot.kind, slot.refreshes, slot.rows, slot.longest_ms) == (SLOTS // 2, Kind.FAILED, 3, 9, 900.0)
    assert (found.lanes[1].slots[0].at, found.lanes[1].slots[0].kind) == (0, Kind.HELD)
    assert (found.lanes[2].slots[0].at, found.lanes[2].slots[0].kind) == (SLOTS - 1, Kind.NOTHING)


def test_a_busy_hour_is_no_larger_than_a_quiet_one() -> None:
    rows = [done(f"t{i % 50}", i % 60, id=i) for i in range(20_000)]
    found = timeline(rows, NOON, HOUR, {})
    assert (len(found.lanes), found.omitted) == (LANES, 50 - LANES)
    assert all(len(lane.slots) <= SLOTS for lane in found.lanes)


def test_what_was_slow_and_what_was_busy() -> None:
    rows = [*(done("often", i) for i in range(20)), done("slow", 3, duration_ms=1500.0)]
    rows.append(done("failed", 1, status=Outcome.FAILED, duration_ms=9e9))
    assert [(each.name, each.value) for each in slowest(rows)] == [("slow", 1500.0), ("often", 100.0)]
    assert [(each.name, each.value, each.refreshes) for each in busiest(rows)] == [
        ("often", 2000.0, 20),
        ("slow", 1500.0, 1),
    ]


def test_the_lag_of_a_refresh_counts_from_the_first_change_that_it_took_in() -> None:
    def moment(seconds: float) -> datetime:
        return NOON + timedelta(seconds=seconds)

    def at(seconds: float, snapshot: int, **changes: Any) -> Any:
        frontier = Frontier((pin("orders", snapshot, f"{snapshot}.json"), pin("still", 1)))
        return history_row("t", started_at=moment(seconds), duration_ms=1000.0, frontier=frontier, **changes)

    snapshots = tuple(SnapshotAt(i, moment(10 * i)) for i in range(1, 6))
    known = {TableName.parse("orders"): TableMetadata(snapshots)}
    rows = [at(70, 5), at(45, 4, status=Outcome.FAILED), at(41, 3), at(15, 1), at(12, 1)]
    found = freshness(rows, known.get, timedelta(seconds=15), timedelta(seconds=5))
    assert [(point.at, point.lag_seconds) for point in found.points] == [(moment(42), 22.0), (moment(71), 31.0)]
    assert (found.promised_seconds, found.kept) == (15.0, 0)
    assert freshness(rows, known.get, timedelta(seconds=20), timedelta(seconds=5)).kept == 1
    assert freshness(rows, lambda _: None, None, timedelta()).points == ()
