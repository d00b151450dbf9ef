"""Ticks over a toy lake: what runs and in which order, what is held and why, what is written down."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_trickle.errors import DeposedError
from spark_trickle.events import Noticed
from spark_trickle.model.publication import Publication
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import RefreshMode, Status
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON
from tests.support.scheduling import LOOSE, SLOWEST, Yard, failed, names, skipped, yard

T = TableName.parse


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        yield made


def diamond(y: Yard, **options: Any) -> None:
    """Orders reach `report` by way of `totals` and `counts`."""
    y.base("orders")
    y.stream("totals", "orders")
    y.stream("counts", "orders")
    y.stream("report", "totals", "counts", **options)
    y.tick()


def rows(y: Yard, name: str, status: Outcome) -> int:
    return sum(row.status is status for row in y.catalog.history(T(name), limit=None))


def test_what_was_never_loaded_is_loaded_in_order(y: Yard) -> None:
    y.base("orders")
    y.stream("b", "orders")
    y.stream("a", "b")
    report = y.tick()
    assert names(report) == ["b", "a"]
    assert y.holds("a") == y.holds("orders")
    assert y.catalog.get(T("a")).status is Status.ACTIVE
    assert y.tick(60).idle


def test_a_table_that_nobody_reads_wakes_nobody(y: Yard) -> None:
    diamond(y)
    y.write("elsewhere")
    report = y.tick(60)
    assert report.idle and report.skipped == ()


def test_a_refresh_that_changed_no_row_wakes_no_dependent(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.stream("b", "a")
    y.tick()
    y.lake.write(T("orders"), no_rows=True)
    assert names(y.tick(60)) == ["a"]
    assert y.tick(60).idle


def test_members_without_changes_cost_nothing_but_are_as_fresh_as_the_others(y: Yard) -> None:
    y.base("orders", "lines")
    y.stream("a", "orders")
    y.stream("b", "orders", "lines")
    y.stream("c", "a", "b")
    y.tick()
    y.write("lines")
    assert names(y.tick(60)) == ["b", "c"]
    assert y.catalog.get(T("a")).last_refresh_at == y.catalog.get(T("b")).last_refresh_at
    assert len(y.catalog.history(T("a"))) == 1


def test_a_failing_member_holds_its_group_which_backs_off_and_the_failure_is_in_the_history(y: Yard) -> None:
    diamond(y)
    y.stream("alone", "orders")
    y.failing["counts"] = "transient"
    y.write("orders")
    before = y.holds("totals")

    first = y.tick(60)

    assert failed(first) == ["counts"] and names(first) == ["alone"]
    assert y.holds("totals") == before == y.holds("report")
    assert rows(y, "counts", Outcome.FAILED) == 1
    told = y.catalog.history(T("totals"))[0]
    assert told.status is Outcome.SKIPPED and told.reason == "'counts' failed, and with it its group"

    waiting = y.tick(0.5)
    assert skipped(waiting) == dict.fromkeys(["counts", "report", "totals"], ("backing_off",))
    assert waiting.failed == ()
    assert failed(y.tick(0.6)) == ["counts"]
    assert skipped(y.tick(1.5)).keys() == {"counts", "report", "totals"}
    assert failed(y.tick(1.0)) == ["counts"]

    table = y.catalog.get(T("counts"))
    assert (table.status, table.consecutive_errors) == (Status.SUSPENDED, 3)
    assert table.status_reason is not None and "the job of counts failed" in table.status_reason
    assert table.status_since == y.now
    assert y.catalog.get(T("totals")).consecutive_errors == 0
    assert skipped(y.tick(60)) == dict.fromkeys(["counts", "report", "totals"], ("suspended",))


def test_a_member_that_was_mended_and_resumed_brings_its_group_up_to_date(y: Yard) -> None:
    diamond(y)
    y.failing["counts"] = "transient"
    y.write("orders")
    for _ in range(3):
        y.tick(60)
    y.failing.clear()
    y.definitions.resume(T("counts"))
    assert names(y.tick(1)) == ["counts", "totals", "report"]
    assert y.catalog.get(T("counts")).consecutive_errors == 0
    assert y.catalog.standings() == {}
    assert y.holds("report") == y.holds("orders")


def test_a_failure_that_will_come_again_is_an_error_at_once(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.stream("b", "orders")
    y.failing["a"] = "permanent"
    report = y.tick()
    assert (failed(report), names(report)) == (["a"], ["b"])
    assert y.catalog.get(T("a")).status is Status.ERROR
    assert skipped(y.tick(60)) == {"a": ("error",)}


def test_a_bug_in_one_refresh_is_an_error_of_that_one(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.stream("b", "orders")
    y.failing["a"] = "bug"
    report = y.tick()
    assert (failed(report), names(report)) == (["a"], ["b"])
    assert "ZeroDivisionError: a bug" in report.failed[0].error


def test_what_reads_a_failed_stream_table_goes_on_with_what_there_is(y: Yard) -> None:
    y.base("orders", "lines")
    y.stream("a", "orders")
    y.stream("b", "a", "lines")
    y.tick()
    y.failing["a"] = "transient"
    y.write("orders", "lines")
    report = y.tick(60)
    assert (failed(report), names(report)) == (["a"], ["b"])
    assert y.holds("b")[T("lines")] == y.holds("lines")[T("lines")]


@pytest.mark.parametrize("how", ["gated", "suspended"])
def test_a_held_member_holds_the_whole_group_and_its_skip_is_recorded_once(y: Yard, how: str) -> None:
    y.base("orders", "lines")
    y.stream("totals", "orders")
    y.stream("counts", "orders", "lines")
    y.stream("report", "totals", "counts")
    y.stream("alone", "orders")
    y.tick()
    if how == "gated":
        y.gate("lines", True)
    else:
        y.definitions.suspend(T("counts"))
    y.write("orders")

    reports = [y.tick(60) for _ in range(5)]

    assert [skipped(each).keys() for each in reports] == [{"totals", "counts", "report"}] * 5
    assert names(reports[0]) == ["alone"]
    assert [rows(y, name, Outcome.SKIPPED) for name in ("totals", "counts", "report")] == [1, 1, 1]
    reason = y.catalog.history(T("totals"))[0].reason
    assert reason is not None and "'counts' holds it" in reason

    if how == "gated":
        y.gate("lines", False)
    else:
        y.definitions.resume(T("counts"))
    done = y.tick(60)
    assert Counter(names(done)) == Counter(["totals", "counts", "report"])
    assert y.tick(60).idle
    assert y.catalog.standings() == {}


def test_the_same_reason_after_an_open_gate_is_recorded_again(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.tick()
    for _ in range(2):
        y.gate("orders", True)
        y.tick(60)
        y.tick(60)
        y.gate("orders", False)
        y.tick(60)
    assert rows(y, "a", Outcome.SKIPPED) == 2


def test_a_skip_is_not_recorded_again_by_a_scheduler_that_was_restarted(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.gate("orders", True)
    y.tick()
    y.restart()
    y.tick(60)
    assert rows(y, "a", Outcome.SKIPPED) == 1


def test_slowest_waits_for_every_member_and_fastest_for_none(y: Yard) -> None:
    y.base("orders")
    y.stream("fast", "orders", schedule="5s")
    y.stream("slow", "orders", schedule="1m")
    y.stream("meet", "fast", "slow", schedule="5s", diamond_schedule_policy=SLOWEST)
    y.tick()
    y.write("orders")
    assert y.tick(30).idle
    assert sorted(names(y.tick(31))) == ["fast", "meet", "slow"]
    meet = y.catalog.get(T("meet"))
    quick = replace(meet.options, diamond_schedule_policy=type(SLOWEST).FASTEST)
    y.catalog.publish(Publication(updated=(replace(meet, options=quick),)))
    y.write("orders")
    assert sorted(names(y.tick(6))) == ["fast", "meet", "slow"]


def test_diamond_schedule_policy_none_mode_ignored(y: Yard) -> None:
    y.base("orders")
    y.stream("fast", "orders", schedule="5s")
    y.stream("slow", "orders", schedule="1m")
    y.stream("meet", "fast", "slow", schedule="5s", diamond_schedule_policy=SLOWEST, diamond_consistency=LOOSE)
    y.tick()
    y.write("orders")
    assert names(y.tick(6)) == ["fast", "meet"]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_policies_hold_however_many_run_at_a_time(tmp_path: Path, workers: int) -> None:
    with yard(tmp_path, workers) as y:
        test_slowest_waits_for_every_member_and_fastest_for_none(y)


def test_what_is_written_during_a_tick_is_left_for_the_next(y: Yard) -> None:
    diamond(y)
    y.stream("later", "orders")
    y.tick()
    y.write("orders")
    at_the_cut = y.holds("orders")
    y.lake.before_write = lambda _name: y.lake.write(T("orders"))
    report = y.tick(60)
    y.lake.before_write = lambda _name: None
    assert {name: y.holds(name) for name in names(report)} == dict.fromkeys(names(report), at_the_cut)
    assert {row.cut for row in y.catalog.history(limit=4)} == {report.cut}
    assert len(names(y.tick(60))) == 4


def test_without_the_watermark_each_unit_reads_what_is_newest(tmp_path: Path) -> None:
    with yard(tmp_path, one_cut=False) as y:
        y.base("orders")
        y.stream("a", "orders")
        y.stream("b", "orders")
        y.tick()
        y.write("orders")
        at_the_cut = y.holds("orders")
        y.lake.before_write = lambda name: y.lake.write(T("orders")) if name == T("a") else None
        y.tick(60)
        assert y.holds("a") == at_the_cut
        assert y.holds("b") == y.holds("orders") != at_the_cut


def test_a_unit_that_somebody_refreshed_by_hand_meanwhile_is_left_for_the_next_tick(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.tick()
    y.write("orders")

    def by_hand(name: TableName) -> None:
        y.lake.before_write = lambda _name: None
        y.write("orders")
        y.refresher.refresh([T("a")], None)

    y.lake.before_write = by_hand
    report = y.tick(60)
    assert (skipped(report), report.failed) == ({"a": ("overtaken",)}, ())
    assert y.holds("a") == y.holds("orders")
    assert y.catalog.get(T("a")).consecutive_errors == 0
    assert y.tick(60).idle


def test_an_immediate_stream_table_follows_what_it_reads_in_the_same_publication(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.stream("now", "a")
    y.stream("after", "now")
    y.tick()
    now = y.catalog.get(T("now"))
    y.catalog.publish(Publication(updated=(replace(now, effective_mode=RefreshMode.IMMEDIATE),)))
    y.write("orders")
    assert names(y.tick(60)) == ["a", "now", "after"]
    assert y.holds("after") == y.holds("orders")


def test_an_immediate_stream_table_that_fails_is_what_is_suspended_and_then_left_behind(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.stream("now", "a")
    y.tick()
    now = y.catalog.get(T("now"))
    y.catalog.publish(Publication(updated=(replace(now, effective_mode=RefreshMode.IMMEDIATE),)))
    y.failing["now"] = "transient"
    y.write("orders")
    for _ in range(3):
        assert failed(y.tick(60)) == ["now"]
    assert y.catalog.get(T("now")).status is Status.SUSPENDED
    assert y.catalog.get(T("a")).consecutive_errors == 0
    assert names(y.tick(60)) == ["a"]


def test_a_slowed_stream_table_stays_slowed_when_another_is_held_in_the_same_tick(y: Yard) -> None:
    y.base("orders", "lines")
    y.stream("a", "orders", schedule="1s")
    y.stream("b", "lines")
    y.tick()
    y.catalog.publish(Publication(standings=(Standing(table=T("a"), slowed=4),)))
    y.restart()
    y.gate("lines", True)
    y.write("orders")
    y.lake.before_write = lambda _name: time.sleep(1.05)
    assert names(y.tick(60)) == ["a"]
    assert y.catalog.standings()[T("a")].slowed == 8


def test_who_was_deposed_can_publish_nothing(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.tick()
    y.write("orders")
    y.gate("other", True)
    later = NOON + timedelta(days=400)
    assert y.catalog.take_lease("another", later, later + timedelta(seconds=10)) is not None
    seen = y.catalog.cut()
    with pytest.raises(DeposedError):
        y.tick(60)
    y.failing["a"] = "transient"
    with pytest.raises(DeposedError):
        y.tick(60)
    y.gate("orders", True)
    with pytest.raises(DeposedError):
        y.tick(60)
    assert y.catalog.cut().tables == seen.tables
    assert len(y.catalog.history(limit=None)) == 1


def test_a_refresh_longer_than_its_schedule_is_told_and_slows_down(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders", schedule="1s")
    y.tick()
    y.write("orders")
    y.lake.before_write = lambda _name: time.sleep(1.05)
    assert names(y.tick(60)) == ["a"]
    told = [event.notice for event in y.events if isinstance(event, Noticed)]
    assert len(told) == 1 and "longer than its schedule (every 1 s)" in told[0] and "every 2 s" in told[0]
    y.lake.before_write = lambda _name: None
    y.write("orders")
    assert y.tick(1.5).idle
    assert names(y.tick(1.0)) == ["a"]
    assert y.catalog.standings() == {}


def test_a_gate_that_was_forgotten_is_warned_about_once(y: Yard) -> None:
    y.base("orders")
    y.stream("a", "orders")
    y.gate("orders", True)
    for _ in range(5):
        y.tick(1000)
    told = [event.notice for event in y.events if isinstance(event, Noticed)]
    assert len(told) == 1 and "has been gated for" in told[0]
