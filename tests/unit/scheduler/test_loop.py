"""The loop: one scheduler at a time, taking over, waking up, stopping."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_trickle.catalog.rereading import CutReader
from spark_trickle.clock import SystemClock
from spark_trickle.errors import SchedulerBusyError
from spark_trickle.model.tick import TickReport
from spark_trickle.names import TableName
from spark_trickle.scheduler.loop import Pace, Scheduler
from tests.support.scheduling import Yard, board_of, names, yard

T = TableName.parse


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        made.catalog.give_back_lease(made.fence)
        made.base("orders")
        made.stream("a", "orders")
        yield made


def scheduler(y: Yard, interval: float = 0.02, lease: float = 1.0) -> Scheduler:
    pace = Pace(
        interval=timedelta(seconds=interval), lease_seconds=lease, workers=2, one_cut=True, stale_gate=timedelta()
    )
    return Scheduler(
        y.catalog,
        CutReader(y.catalog),
        y.refresher,
        make_board=board_of,
        clock=SystemClock(),
        notify=y.events.append,
        pace=pace,
    )


def soon(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


class Running:
    """A loop in a thread."""

    def __init__(self, made: Scheduler) -> None:
        self.scheduler = made
        self.reports: list[TickReport] = []
        self.thread = threading.Thread(target=lambda: made.run(told=self.reports.append), daemon=True)
        self.thread.start()

    def refreshed(self) -> list[str]:
        return [name for report in self.reports for name in names(report)]

    def stop(self) -> None:
        self.scheduler.close()
        self.thread.join(10)
        assert not self.thread.is_alive()


def test_a_tick_takes_the_lease_and_gives_it_back(y: Yard) -> None:
    one, two = scheduler(y), scheduler(y)
    assert names(one.tick()) == ["a"]
    assert two.tick().idle
    assert not y.catalog.lease().live(datetime.now(UTC))


def test_a_tick_beside_a_running_scheduler_is_refused(y: Yard) -> None:
    running = Running(scheduler(y))
    assert soon(lambda: len(running.reports) > 0)
    with pytest.raises(SchedulerBusyError, match="another scheduler is at work"):
        scheduler(y).tick()
    running.stop()
    assert scheduler(y).tick().idle


def test_a_loop_refreshes_what_changes_until_it_is_stopped(y: Yard) -> None:
    running = Running(scheduler(y))
    assert soon(lambda: running.refreshed() == ["a"])
    y.write("orders")
    assert soon(lambda: running.refreshed() == ["a", "a"])
    running.stop()


def test_a_loop_ends_at_the_moment_it_was_given(y: Yard) -> None:
    started = time.monotonic()
    scheduler(y, interval=60).run(datetime.now(UTC) + timedelta(seconds=0.3))
    assert 0.25 < time.monotonic() - started < 45


def test_a_pausing_loop_wakes_at_once_when_a_table_is_created_or_a_gate_opens(y: Yard) -> None:
    running = Running(scheduler(y, interval=600))
    assert soon(lambda: running.refreshed() == ["a"])
    y.gate("orders", True)
    assert soon(lambda: len(running.reports) >= 2)
    y.stream("b", "orders")
    assert soon(lambda: any(each.name == "b" for each in running.reports[-1].skipped))
    y.gate("orders", False)
    assert soon(lambda: running.refreshed() == ["a", "b"])
    running.stop()


def test_a_second_loop_waits_and_takes_over_when_the_first_is_gone(y: Yard) -> None:
    # Killed: it holds the lease and renews nothing.
    now = datetime.now(UTC)
    assert y.catalog.take_lease("killed", now, now + timedelta(seconds=2)) is not None
    second = Running(scheduler(y))
    assert soon(lambda: any("waiting for it to end: killed" in str(event) for event in y.events))
    assert second.reports == []
    assert soon(lambda: second.refreshed() == ["a"])
    second.stop()


def test_a_living_scheduler_keeps_its_lease_however_long_a_refresh_takes(y: Yard) -> None:
    y.lake.before_write = lambda _name: time.sleep(1.0)
    first = Running(scheduler(y, lease=0.4))
    assert soon(lambda: y.catalog.lease().live(datetime.now(UTC)))
    second = Running(scheduler(y, lease=0.4))
    assert soon(lambda: first.refreshed() == ["a"])
    assert second.reports == []
    first.stop()
    assert soon(lambda: len(second.reports) > 0)
    second.stop()


def test_one_that_was_deposed_publishes_nothing_and_waits(y: Yard) -> None:
    y.lake.before_write = lambda _name: _depose(y)
    first = Running(scheduler(y, lease=5))
    assert soon(lambda: y.catalog.lease().holder == "another")
    assert soon(lambda: any("has taken over" in str(event) for event in y.events))
    assert first.reports == []
    assert not y.catalog.get(T("a")).populated
    y.lake.before_write = lambda _name: None
    y.catalog.give_back_lease(y.catalog.lease().token)
    assert soon(lambda: first.refreshed() == ["a"])
    first.stop()


def _depose(y: Yard) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    assert y.catalog.take_lease("another", later, later + timedelta(hours=1)) is not None


def test_stopping_finishes_the_unit_in_hand_and_starts_no_other(y: Yard) -> None:
    y.stream("b", "a")
    entered = threading.Event()

    def slowly(_name: TableName) -> None:
        entered.set()
        time.sleep(0.3)

    y.lake.before_write = slowly
    running = Running(scheduler(y))
    assert entered.wait(10)
    running.stop()
    assert running.refreshed() == ["a"]
    assert y.catalog.get(T("a")).populated and not y.catalog.get(T("b")).populated
    assert y.catalog.lease().holder is None


def test_a_refresh_that_takes_a_while_is_told_while_it_runs(y: Yard) -> None:
    going_on = threading.Event()

    def wait(_name: TableName) -> None:
        going_on.wait(10)

    y.lake.before_write = wait
    running = Running(scheduler(y))
    assert soon(lambda: [each.tables for each in y.catalog.lease().running] == [(T("a"),)])
    going_on.set()
    assert soon(lambda: y.catalog.lease().running == ())
    running.stop()
