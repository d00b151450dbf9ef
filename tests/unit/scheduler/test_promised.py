"""The tests that the plans for diamonds and for cross-source consistency name, over a toy lake and the real catalog."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from spark_trickle.config import Settings
from spark_trickle.events import Noticed
from spark_trickle.model.groups import Isolation
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import DiamondSchedulePolicy, Options
from spark_trickle.names import TableName
from tests.support.scheduling import FASTEST, LOOSE, SLOWEST, Yard, failed, names, skipped, yard

T = TableName.parse


@pytest.fixture(params=[1, 2], ids=["one at a time", "two at a time"])
def y(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Yard]:
    with yard(tmp_path, request.param) as made:
        made.base("a")
        yield made


def diamond(y: Yard, b: str = "1s", c: str = "1s", d: str = "1s", **options: object) -> None:
    y.stream("b", "a", schedule=b)
    y.stream("c", "a", schedule=c)
    chosen = Options(schedule=d, **options)  # type: ignore[arg-type]
    y.known.add(T("d"))
    y.lake.create(T("d"), [T("b"), T("c")], chosen, y.known)
    y.tick()


def test_diamond_atomic_all_succeed(y: Yard) -> None:
    diamond(y)
    before = y.catalog.group_epochs()["diamond:d"]
    y.write("a")
    assert sorted(names(y.tick(60))) == ["b", "c", "d"]
    assert y.holds("d") == y.holds("a")
    assert y.catalog.group_epochs()["diamond:d"] == before + 1


def test_diamond_atomic_partial_fail(y: Yard) -> None:
    diamond(y)
    before = {name: y.holds(name) for name in "bcd"}
    epoch = y.catalog.group_epochs()
    y.failing["c"] = "transient"
    y.write("a")
    assert failed(y.tick(60)) == ["c"]
    assert {name: y.holds(name) for name in "bcd"} == before
    assert y.catalog.group_epochs() == epoch
    assert y.catalog.history(T("c"))[0].status is Outcome.FAILED


def test_diamond_atomic_convergence(y: Yard) -> None:
    test_diamond_atomic_partial_fail(y)
    y.failing.clear()
    assert sorted(names(y.tick(60))) == ["b", "c", "d"]
    assert y.holds("d") == y.holds("a")


def test_diamond_none_mode_unblocked(y: Yard) -> None:
    diamond(y, diamond_consistency=LOOSE)
    y.failing["c"] = "transient"
    y.write("a")
    report = y.tick(60)
    assert failed(report) == ["c"] and "b" in names(report)
    assert y.holds("b") == y.holds("a") != y.holds("c")


def test_diamond_linear_unaffected(y: Yard) -> None:
    y.stream("b", "a")
    y.stream("c", "b")
    y.tick()
    y.failing["c"] = "transient"
    y.write("a")
    report = y.tick(60)
    assert (names(report), failed(report)) == (["b"], ["c"])
    assert {row.group for row in y.catalog.history(limit=None)} == {None}


def test_diamond_nested_merge(y: Yard) -> None:
    diamond(y)
    y.stream("e", "d")
    y.stream("f", "d")
    y.stream("g", "e", "f", "a")
    y.tick()
    before = {name: y.holds(name) for name in "bcdefg"}
    y.failing["f"] = "transient"
    y.write("a")
    assert failed(y.tick(60)) == ["f"]
    assert {name: y.holds(name) for name in "bcdefg"} == before
    y.failing.clear()
    assert sorted(names(y.tick(60))) == list("bcdefg")
    assert y.holds("g") == y.holds("a")


def test_diamond_schedule_policy_fastest_default(y: Yard) -> None:
    assert Settings().diamond_schedule_policy is DiamondSchedulePolicy.FASTEST
    diamond(y, b="5s", c="1h", d="1h")
    y.write("a")
    assert y.tick(4).idle
    assert sorted(names(y.tick(1))) == ["b", "c", "d"]


def test_diamond_schedule_policy_slowest_per_node(y: Yard) -> None:
    diamond(y, b="5s", c="1h", d="5s", diamond_schedule_policy=SLOWEST)
    y.write("a")
    assert y.tick(3599).idle
    assert sorted(names(y.tick(1))) == ["b", "c", "d"]


def test_diamond_schedule_policy_overrides_guc(y: Yard) -> None:
    """What the convergence says counts, whatever the members beside it were created with by default."""
    y.stream("b", "a", schedule="5s", diamond_schedule_policy=FASTEST)
    y.stream("c", "a", schedule="1h", diamond_schedule_policy=FASTEST)
    y.stream("d", "b", "c", schedule="5s", diamond_schedule_policy=SLOWEST)
    y.tick()
    y.write("a")
    assert y.tick(3599).idle


def test_diamond_schedule_policy_nested_strictest_wins(y: Yard) -> None:
    diamond(y, b="5s", c="5s", d="5s", diamond_schedule_policy=FASTEST)
    y.stream("e", "d", "a", schedule="1h", diamond_schedule_policy=SLOWEST)
    y.tick()
    y.write("a")
    assert y.tick(3599).idle
    assert sorted(names(y.tick(1))) == ["b", "c", "d", "e"]


def test_watermark_caps_lsn_consumption(y: Yard) -> None:
    y.stream("b", "a")
    y.tick()
    y.write("a")
    below = y.holds("a")
    y.lake.before_write = lambda _name: y.lake.write(T("a"))
    y.tick(60)
    y.lake.before_write = lambda _name: None
    assert y.holds("b") == below != y.holds("a")
    y.tick(60)
    assert y.holds("b") == y.holds("a")


def test_watermark_cross_source_bounded(y: Yard) -> None:
    y.base("x")
    y.stream("b", "a")
    y.stream("c", "x")
    y.stream("d", "b", "c")
    y.tick()
    y.write("a", "x")
    bound = {**y.holds("a"), **y.holds("x")}

    def write_both(_name: TableName) -> None:
        y.lake.before_write = lambda _name: None
        y.write("a", "x")

    y.lake.before_write = write_both
    report = y.tick(60)
    assert sorted(names(report)) == ["b", "c", "d"]
    assert y.holds("d") == bound
    assert {row.cut for row in y.catalog.history(limit=3)} == {report.cut}


def test_repeatable_read_snapshot_coherence(y: Yard) -> None:
    y.base("x")
    y.stream("b", "a")
    y.stream("c", "x")
    y.group("both", "b", "c", isolation=Isolation.REPEATABLE_READ)
    y.tick()
    y.write("a", "x")
    bound = {**y.holds("a"), **y.holds("x")}
    y.lake.before_write = lambda name: y.lake.write(T("x")) if name == T("b") else None
    assert sorted(names(y.tick(60))) == ["b", "c"]
    assert {**y.holds("b"), **y.holds("c")} == bound
    assert {row.group for row in y.catalog.history(limit=2)} == {"declared:both"}


def test_repeatable_read_rollback_on_fail(y: Yard) -> None:
    y.base("x")
    y.stream("b", "a")
    y.stream("c", "x")
    y.group("both", "b", "c", isolation=Isolation.REPEATABLE_READ)
    y.tick()
    before = {name: y.holds(name) for name in "bc"}
    y.write("a", "x")
    y.failing["c"] = "transient"
    assert failed(y.tick(60)) == ["c"]
    assert {name: y.holds(name) for name in "bc"} == before
    assert skipped(y.tick(0.5)).keys() == {"b", "c"}


def test_a_declared_group_goes_on_as_read_committed_when_its_snapshot_has_become_too_old(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("a", "x")
        y.stream("alone", "a")
        y.stream("b", "a")
        y.stream("c", "x")
        y.group("both", "b", "c", isolation=Isolation.REPEATABLE_READ, snapshot_timeout_ms=100)
        y.tick()
        y.write("a", "x")

        def slow(name: TableName) -> None:
            if name == T("alone"):
                time.sleep(0.2)
                y.write("x")

        y.lake.before_write = slow
        y.events.clear()
        assert sorted(names(y.tick(60))) == ["alone", "b", "c"]
        assert y.holds("c") == y.holds("x")
        told = [event for event in y.events if isinstance(event, Noticed)]
        assert [event.table for event in told] == ["declared:both"]
        assert "goes on as read_committed" in told[0].notice


def test_a_cron_line_that_came_round_with_nothing_to_do_is_not_made_up_for_between(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("a")
        y.stream("b", "a", schedule="0 * * * *")
        y.tick()
        assert y.tick(timedelta(minutes=61).total_seconds()).idle
        y.write("a")
        assert y.tick(60).idle
        assert y.tick(60).idle
        assert names(y.tick(3600)) == ["b"]


def test_a_cron_line_stays_served_when_a_gate_moves_or_a_table_is_made_elsewhere(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("a", "x")
        y.stream("b", "a", schedule="0 * * * *")
        y.tick()
        assert y.tick(3660).idle
        y.write("a")
        assert y.tick(60).idle
        y.gate("x", True)
        y.stream("other", "x")
        assert names(y.tick(60)) == []
        assert names(y.tick(3600)) == ["b"]


def test_a_cron_line_that_came_round_with_nothing_to_do_is_served_for_those_that_read_stream_tables_as_well(
    tmp_path: Path,
) -> None:
    with yard(tmp_path) as y:
        y.base("a")
        y.stream("b", "a", schedule="1s")
        y.stream("c", "b", schedule="0 * * * *")
        y.tick()
        assert y.tick(3660).idle
        y.write("a")
        assert names(y.tick(60)) == ["b"]
        assert y.tick(60).idle
        assert names(y.tick(3600)) == ["c"]


def test_a_scheduler_that_has_just_started_makes_up_for_a_cron_line_that_came_round_before(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("a")
        y.stream("b", "a", schedule="0 * * * *")
        y.tick()
        y.write("a")
        y.restart()
        assert names(y.tick(3660)) == ["b"]
