"""Failures that no error of ours describes: who is blamed, what is written of it, and how a definition mends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_trickle.errors import InternalError
from spark_trickle.events import RefreshFailed
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import RefreshMode, Status
from spark_trickle.names import TableName
from spark_trickle.refresh.blame import blaming, trace_of
from tests.support.scheduling import Yard, failed, names, yard

T = TableName.parse


@pytest.fixture(params=[1, 2])
def y(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Yard]:
    """Orders reach `report` by way of `totals` and `counts`: one unit, loaded."""
    with yard(tmp_path, workers=request.param) as made:
        made.base("orders")
        made.stream("totals", "orders")
        made.stream("counts", "orders")
        made.stream("report", "totals", "counts")
        made.tick()
        yield made


def last(y: Yard, name: str) -> tuple[Outcome, str | None, str | None]:
    row = y.catalog.history(T(name))[0]
    return row.status, row.reason, row.error


def test_a_bug_in_a_refresh_by_hand_is_the_failure_of_one_member_with_history_and_trace(y: Yard) -> None:
    y.failing["counts"] = "bug"
    y.write("orders")
    with pytest.raises(
        InternalError, match=r"refreshing 'counts' failed by a bug.* ZeroDivisionError: a bug"
    ) as caught:
        y.refresher.refresh([T("report")], None, upstream=True)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    status, reason, error = last(y, "counts")
    assert (status, reason) == (Outcome.FAILED, None) and error == f"InternalError: {caught.value}"
    for name in ("totals", "report"):
        assert last(y, name) == (Outcome.FAILED, "'counts' failed, and with it its group", error)
    told = [event for event in y.events if isinstance(event, RefreshFailed)]
    assert [event.table for event in told] == ["counts"]
    assert told[0].trace is not None and "ZeroDivisionError" in told[0].trace and "_before_write" in told[0].trace
    assert y.catalog.get(T("counts")).status is Status.ACTIVE, "what is tried by hand changes no status"


def test_what_another_library_says_of_a_password_is_neither_told_nor_logged() -> None:
    def connect() -> None:
        raise RuntimeError("Failed to connect: jdbc:postgresql://host/db?user=me&password=5ecr3t&timeout=5")

    with pytest.raises(InternalError) as caught, blaming(T("totals")):
        connect()
    trace = trace_of(caught.value)
    assert trace is not None and "in connect" in trace and "password=***&timeout" in trace
    assert "5ecr3t" not in trace + str(caught.value)


def test_a_bug_in_a_tick_is_an_error_of_the_member_and_not_of_its_group(y: Yard) -> None:
    y.failing["counts"] = "bug"
    y.write("orders")
    assert failed(y.tick(60)) == ["counts"]
    statuses = [y.catalog.get(T(name)).status for name in ("totals", "counts", "report")]
    assert statuses == [Status.ACTIVE, Status.ERROR, Status.ACTIVE]
    assert last(y, "totals") == (Outcome.SKIPPED, "'counts' failed, and with it its group", None)
    told = [event for event in y.events if isinstance(event, RefreshFailed)]
    assert [(event.table, "ZeroDivisionError" in str(event.trace)) for event in told] == [("counts", True)]


def test_a_bug_outside_of_any_member_is_written_down_for_all(y: Yard) -> None:
    y.write("orders")

    class Broken:
        def ready(self) -> None:
            pass

        def workbench(self, *_: object) -> object:
            raise RecursionError("too deep")

        def published(self, *_: object) -> None:
            pass

    y.refresher = type(y.refresher)(y.catalog, Broken(), y.refresher.clock, y.events.append, 0.15, 3)  # type: ignore[arg-type]
    with pytest.raises(InternalError, match="RecursionError: too deep"):
        y.refresher.refresh([T("totals")], None)
    assert last(y, "totals")[0] is Outcome.FAILED
    assert sorted(failed(y.tick(60))) == ["counts", "report", "totals"]
    told = [event for event in y.events if isinstance(event, RefreshFailed)]
    assert all("RecursionError" in str(event.trace) for event in told) and len(told) == 4


def test_an_alteration_that_succeeds_ends_the_error_and_what_was_remembered_of_it(y: Yard) -> None:
    y.failing["counts"] = "permanent"
    y.write("orders")
    y.tick(60)
    assert y.catalog.get(T("counts")).status is Status.ERROR
    y.base("lines")
    with pytest.raises(Exception, match="does not fit"):
        y.definitions.alter(T("counts"), {}, query="orders lines")
    assert y.catalog.get(T("counts")).status is Status.ERROR, "it did not succeed"
    y.failing.clear()
    y.definitions.alter(T("counts"), {}, query="orders lines")
    mended = y.catalog.get(T("counts"))
    assert (mended.status, mended.status_reason, mended.consecutive_errors) == (Status.ACTIVE, None, 0)
    assert y.catalog.standings().get(T("counts"), Standing(table=T("counts"))).error is None
    assert "report" in names(y.tick(60))

    y.failing["totals"] = "transient"
    for _ in range(3):
        y.write("orders")
        y.tick(600)
    assert y.catalog.get(T("totals")).status is Status.SUSPENDED
    y.failing.clear()
    y.definitions.alter(T("totals"), {"refresh_mode": RefreshMode.DIFFERENTIAL, "strict": True})
    assert (y.catalog.get(T("totals")).status, y.catalog.get(T("totals")).consecutive_errors) == (Status.ACTIVE, 0)

    y.definitions.suspend(T("totals"))
    y.definitions.alter(T("totals"), {}, query="orders lines")
    assert y.catalog.get(T("totals")).status is Status.SUSPENDED, "who suspended it by hand resumes it"
