"""How each stream table is doing, in one word: a real catalog and a toy lake, at moments that the test chooses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_trickle.conditions import State
from spark_trickle.metadata_files import MetadataFiles, parse
from spark_trickle.model.hold import HoldCode
from spark_trickle.model.standing import UnderWay
from spark_trickle.names import TableName
from spark_trickle.watching import Moment, Watch
from tests.support.scheduling import DEFAULT, StoppedClock, Yard, yard

T = TableName.parse


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        yield made


def watch_of(lake: Yard) -> Watch:
    return Watch(lake.catalog, StoppedClock(lake), DEFAULT, timedelta())


def states(moment: Moment) -> dict[str, str]:
    return {str(name): condition.state.value for name, condition in moment.conditions.items()}


def test_nothing_is_late_while_its_sources_stand_still_and_a_change_is_late_once_its_schedule_is_past(
    lake: Yard,
) -> None:
    lake.base("orders")
    lake.stream("totals", "orders", schedule="1m")
    watch = watch_of(lake)
    assert states(watch.moment()) == {"totals": "empty"}
    lake.tick()
    lake.now += timedelta(hours=3)
    assert states(watch.moment()) == {"totals": "fresh"}
    lake.write("orders")
    seen = watch.moment()
    assert states(seen) == {"totals": "due"}
    assert seen.conditions[T("totals")].because == "'orders' changed; the next tick takes it in"
    lake.now += timedelta(seconds=64)
    assert states(watch.moment()) == {"totals": "due"}
    lake.now += timedelta(seconds=2)
    late = watch.moment().conditions[T("totals")]
    assert (late.state, late.since) == (State.LATE, seen.now)
    lake.tick()
    assert states(watch.moment()) == {"totals": "fresh"}
    lake.write("orders")
    waiting = watch.moment().conditions[T("totals")]
    assert (waiting.state, waiting.due_at) == (State.FRESH, lake.now + timedelta(minutes=1))


def test_what_is_held_names_its_causes_and_what_failed_its_error(lake: Yard) -> None:
    lake.base("orders", "rates")
    lake.stream("totals", "orders")
    lake.stream("above", "totals")
    lake.stream("other", "rates")
    lake.tick()
    lake.gate("orders", True)
    lake.failing["other"] = "permanent"
    lake.write("orders", "rates")
    lake.tick(5)
    found = watch_of(lake).moment().conditions
    assert {str(name): each.state.value for name, each in found.items()} == {
        "totals": "held",
        "above": "held",
        "other": "failed",
    }
    assert (found[T("above")].codes, found[T("above")].causes) == ((HoldCode.GATED,), ("orders",))
    assert "other does not fit its sources" in found[T("other")].because


def test_what_runs_is_being_refreshed_wherever_it_runs(lake: Yard) -> None:
    lake.base("orders")
    lake.stream("totals", "orders")
    lake.stream("other", "orders")
    lake.tick()
    watch = watch_of(lake)
    began = lake.now - timedelta(seconds=9)
    lake.catalog.renew_lease(lake.fence, lake.now + timedelta(days=1), None, [UnderWay((T("totals"),), began)])
    found = watch.moment((UnderWay((T("other"),), lake.now),)).conditions
    assert [each.state for each in found.values()] == [State.REFRESHING, State.REFRESHING]
    assert found[T("totals")].since == began
    lake.catalog.give_back_lease(lake.fence)
    assert states(watch.moment()) == {"totals": "fresh", "other": "fresh"}


def test_a_moment_is_read_anew_only_when_something_was_committed(lake: Yard) -> None:
    lake.base("orders")
    lake.stream("totals", "orders")
    watch = watch_of(lake)
    before = watch.moment()
    assert watch.moment().known.cut is before.known.cut
    assert watch.moment().board is before.board
    lake.stream("more", "orders")
    assert set(watch.moment().tables) == {T("totals"), T("more")}


def test_a_metadata_file_tells_since_when_a_version_is_outdated(tmp_path: Path) -> None:
    document = {
        "current-snapshot-id": 3,
        "snapshots": [
            {"snapshot-id": 1, "timestamp-ms": 1_000},
            {"snapshot-id": 2, "parent-snapshot-id": 1, "timestamp-ms": 2_000},
            {"snapshot-id": 9, "parent-snapshot-id": 1, "timestamp-ms": 2_500},
            {
                "snapshot-id": 3,
                "parent-snapshot-id": 2,
                "timestamp-ms": 3_000,
                "summary": {"total-records": "42", "total-delete-files": "0"},
            },
        ],
        "current-schema-id": 1,
        "schemas": [
            {
                "schema-id": 1,
                "fields": [
                    {"name": "id", "type": "long", "required": True},
                    {"name": "tags", "type": {"type": "list", "element": "string"}},
                ],
            }
        ],
    }
    path = tmp_path / "00001-x.metadata.json"
    path.write_text(json.dumps(document))
    found = MetadataFiles()(f"file:{path}")
    assert found is not None
    assert found == parse(path.read_text())
    assert (found.behind(3), found.behind(1), found.behind(None), found.behind(9)) == (0, 2, 3, None)
    assert found.first_after(1) == datetime.fromtimestamp(2, UTC)
    assert (found.first_after(3), found.rows) == (None, 42)
    assert [(each.name, each.type, each.required) for each in found.columns] == [
        ("id", "bigint", True),
        ("tags", "array<string>", False),
    ]
    assert MetadataFiles()("s3://bucket/x.metadata.json") is None
    assert MetadataFiles()(f"{path}.gone") is None
