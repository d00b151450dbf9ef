"""Why a stream table is not refreshing: every answer, each with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from spark_trickle.errors import NotFoundError, StreamTableError
from spark_trickle.holds.rule import Situation
from spark_trickle.holds.rules import held
from spark_trickle.known import Known
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.publication import Cut
from spark_trickle.model.standing import LeaseRow, UnderWay
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.views import WhyAnswer
from spark_trickle.why import concerned, why
from tests.support.catalog_values import NOON, stream_table
from tests.support.scheduling import SLOWEST, Yard, yard

T = TableName.parse


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        made.base("orders")
        yield made


def ask(y: Yard, name: str, seconds: float = 0.0, running: tuple[UnderWay, ...] = ()) -> WhyAnswer:
    known = Known(
        cut=y.catalog.cut(),
        standings=y.catalog.standings(),
        lease=y.catalog.lease(),
        now=y.now + timedelta(seconds=seconds),
        default_schedule=timedelta(seconds=1),
        attempts=y.catalog.last_attempts(concerned(T(name), y.catalog.cut().tables)),
        running=running,
    )
    return why(T(name), known)


def test_one_that_is_due_and_has_something_to_do_waits_for_the_next_tick(y: Yard) -> None:
    y.stream("a", "orders")
    y.tick()
    y.write("orders")
    answer = ask(y, "a", 60)
    assert answer.refreshing and not answer.waits
    assert str(answer) == "nothing stands in the way of 'a': the next tick of the scheduler refreshes it"


def test_nothing_changed(y: Yard) -> None:
    y.stream("a", "orders")
    y.tick()
    answer = ask(y, "a", 60)
    assert answer.refreshing
    assert str(answer).splitlines() == [
        "nothing is wrong with 'a':",
        "  1. nothing that it reads has changed since its last refresh, at 2026-03-01 12:00:00 UTC",
        "     to do: nothing: it is up to date",
    ]


def test_not_due_until(y: Yard) -> None:
    y.stream("a", "orders", schedule="1h")
    y.tick()
    y.write("orders")
    (wait,) = ask(y, "a", 60).waits
    assert wait.text == "it is not due until 2026-03-01 13:00:00 UTC (every 3600 s)"
    assert "refresh_stream_table('a')" in wait.next_step


def test_a_group_is_due_with_its_slowest_member(y: Yard) -> None:
    y.stream("fast", "orders", schedule="1s")
    y.stream("slow", "orders", schedule="1h")
    y.stream("meet", "fast", "slow", diamond_schedule_policy=SLOWEST)
    y.tick()
    y.write("orders")
    assert "its group, by its slowest member, is not due until 2026-03-01 13:00:00 UTC" in str(ask(y, "fast", 60))


def test_no_scheduler_is_running(y: Yard) -> None:
    y.stream("a", "orders")
    y.tick()
    y.catalog.give_back_lease(y.fence)
    assert "no scheduler is running" in ask(y, "a").waits[0].text
    assert "`trickle run`" in ask(y, "a").waits[0].next_step


def test_suspended_since_and_by_which_error(y: Yard) -> None:
    y.stream("a", "orders")
    y.failing["a"] = "transient"
    for _ in range(3):
        y.tick(60)
    (reason,) = ask(y, "a").reasons
    assert reason.text == (
        "'a' is suspended since 2026-03-01 12:03:00 UTC: 3 refreshes in a row failed, the last one with "
        "ComputeError: the job of a failed"
    )
    assert reason.next_step == "resume_stream_table('a')"


def test_tried_again_at(y: Yard) -> None:
    y.stream("a", "orders")
    y.failing["a"] = "transient"
    y.tick(60)
    assert "it is tried again at 2026-03-01 12:01:01 UTC: ComputeError: the job of a failed" in str(ask(y, "a"))
    assert "tried again" not in str(ask(y, "a", 2))


@pytest.mark.parametrize(
    ("trouble", "text", "step"),
    [
        ("suspend", "it is suspended: suspended by hand", "resume_stream_table('counts')"),
        ("fail", "its last refresh failed", "history('counts')"),
        ("gate", "source 'lines' is gated", "ungate_source('lines')"),
    ],
)
def test_a_group_held_by_a_member_beside_it(y: Yard, trouble: str, text: str, step: str) -> None:
    y.base("lines")
    y.stream("totals", "orders")
    y.stream("counts", "orders", "lines")
    y.stream("report", "totals", "counts")
    y.tick()
    match trouble:
        case "suspend":
            y.definitions.suspend(T("counts"))
        case "gate":
            y.gate("lines", True)
        case _:
            y.failing["counts"] = "transient"
    y.write("orders")
    y.tick(60)
    answer = ask(y, "totals")
    assert not answer.refreshing
    reason = next(each for each in answer.reasons if each.table == "counts")
    assert reason.text.startswith("it is published together with 'counts' (group diamond:report), and of that: ")
    assert text in reason.text and step in reason.next_step


def test_upstream_failed_and_upstream_is_not_due(y: Yard) -> None:
    y.stream("a", "orders", schedule="1h")
    y.stream("b", "a")
    y.tick()
    y.write("orders")
    assert "it reads 'a', which has changes to take in: it is not due until" in str(ask(y, "b", 60))
    y.failing["a"] = "permanent"
    y.tick(7200)
    assert "it reads 'a', and 'a' is in error since" in str(ask(y, "b"))


def test_a_name_that_is_no_stream_table_is_refused(y: Yard) -> None:
    with pytest.raises(NotFoundError, match=r"stream table 'orders' does not exist. .* lists them"):
        ask(y, "orders")


def asked_of(*tables: StreamTable) -> WhyAnswer:
    """Of the first one, where these are all there are and no scheduler has run."""
    names = [table.name for table in tables]
    cut = Cut("", {name: Pointer(name, "here") for name in names}, dict(zip(names, tables, strict=True)), ())
    lease = LeaseRow(token=1, holder="test", expires_at=NOON + timedelta(days=1))
    known = Known(cut=cut, standings={}, lease=lease, now=NOON, default_schedule=timedelta(seconds=1))
    return why(tables[0].name, known)


def test_why_lists_reasons_of_the_table_and_of_those_above_it_with_what_to_do() -> None:
    table = stream_table("tip", ("mid",), status=Status.ERROR, status_reason="division by zero", consecutive_errors=3)
    answer = asked_of(table, stream_table("mid", ("src",), status=Status.SUSPENDED))
    assert not answer.refreshing
    assert [reason.table for reason in answer.reasons] == ["tip", "mid", "src"]
    assert str(answer).splitlines()[:7] == [
        "'tip' is not refreshing:",
        "  1. 'tip' is in error after 3 failed refreshes: division by zero",
        "     to do: mend the cause, then resume_stream_table('tip')",
        "  2. it reads 'mid', and 'mid' is suspended",
        "     to do: resume_stream_table('mid')",
        "  3. its source 'src' does not exist",
        "     to do: create 'src' again, or drop the stream table",
    ]


@pytest.mark.parametrize("status", [Status.SUSPENDED, Status.ERROR, Status.INITIALIZING])
def test_every_status_but_active_is_a_reason(status: Status) -> None:
    assert asked_of(stream_table("t", (), status=status)).reasons


def test_what_is_told_is_what_the_rules_say(y: Yard) -> None:
    """Every rule that holds something is in the skip, in the history and in the answer, with its next step."""
    y.stream("a", "orders")
    y.tick()
    y.gate("orders", True)
    y.definitions.suspend(T("a"))
    y.write("orders")
    (skip,) = y.tick(60).skipped
    assert skip.codes == ("gated", "suspended")
    assert skip.reason == "source 'orders' is gated; it is suspended: suspended by hand"
    assert y.catalog.history(T("a"), 1)[0].reason == skip.reason
    found = held(Situation(cut=y.catalog.cut(), now=y.now, standings=y.catalog.standings()))[T("a")]
    assert [(each.text, each.next_step) for each in ask(y, "a").reasons] == [
        (hold.in_full, hold.next_step) for hold in found
    ]


def test_a_refresh_by_hand_that_failed_is_told_until_one_goes_well(y: Yard) -> None:
    y.stream("a", "orders", schedule="1h")
    y.stream("b", "a", schedule="1h")
    y.tick()
    y.failing["a"] = "permanent"
    y.write("orders")
    with pytest.raises(StreamTableError):
        y.refresher.refresh([T("a")], None)
    answer = ask(y, "a")
    assert not answer.refreshing
    text, step = answer.reasons[0].text, answer.reasons[0].next_step
    assert text.startswith("its last refresh, by hand at 2026-03-01 12:00:00 UTC, failed: "), text
    assert step == "mend the cause; refresh_stream_table('a') tries again"
    assert "it reads 'a', and its last refresh, by hand" in str(ask(y, "b"))
    y.failing.clear()
    y.refresher.refresh([T("a")], None)
    answer = ask(y, "a")
    assert answer.refreshing and "nothing that it reads has changed" in str(answer)


def test_a_failure_while_up_to_date_is_no_reason_to_call_it_up_to_date(y: Yard) -> None:
    y.stream("a", "orders")
    y.tick()
    y.failing["a"] = "permanent"
    with pytest.raises(StreamTableError):
        y.refresher.refresh([T("a")], RefreshMode.FULL)
    said = str(ask(y, "a", 60))
    assert said.startswith("'a' is not refreshing:") and "failed" in said and "up to date" not in said


def test_one_that_was_made_again_has_nothing_of_the_failures_of_its_name(y: Yard) -> None:
    y.stream("a", "orders")
    y.failing["a"] = "permanent"
    y.now = NOON - timedelta(hours=1)
    with pytest.raises(StreamTableError):
        y.refresher.refresh([T("a")], None)
    y.now = NOON
    assert "failed" not in str(ask(y, "a"))


def test_what_is_being_refreshed_is_said_to_be(y: Yard) -> None:
    y.stream("a", "orders")
    y.tick()
    answer = ask(y, "a", 60, running=(UnderWay((T("a"),), y.now),))
    assert answer.refreshing
    assert str(answer).splitlines() == [
        "nothing is wrong with 'a':",
        "  1. it is being refreshed, since 2026-03-01 12:00:00 UTC",
        "     to do: wait",
    ]


def test_one_that_is_stopped_is_not_said_to_become_due(y: Yard) -> None:
    y.stream("a", "orders", schedule="1h")
    y.tick()
    y.write("orders")
    y.definitions.suspend(T("a"))
    said = str(ask(y, "a", 60))
    assert "resume_stream_table('a')" in said and "due" not in said, said
