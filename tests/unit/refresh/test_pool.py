"""Units in order on a bounded pool."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_trickle.refresh.pool import Job, run_in_order


class Log:
    """What started and ended, and how many ran at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.most = 0
        self.settled: list[int] = []

    def job(self, unit: int, seconds: float = 0.0, writes: frozenset[str] = frozenset()) -> Job[int]:
        def work() -> int:
            with self.lock:
                self.running.add(unit)
                self.most = max(self.most, len(self.running))
            time.sleep(seconds)
            with self.lock:
                self.running.discard(unit)
            return unit

        return Job(work, writes)

    def settle(self, unit: int, future: Future[int]) -> None:
        assert future.result() == unit
        self.settled.append(unit)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sets(st.integers(0, 14)), min_size=1, max_size=15), st.integers(1, 4), st.sets(st.integers(0, 14)))
def test_each_unit_runs_once_after_all_above_it_and_never_too_many_at_once(
    drawn: list[set[int]], workers: int, idle: set[int]
) -> None:
    above = [frozenset(each for each in reads if each < i) for i, reads in enumerate(drawn)]
    log, order = Log(), list[int]()

    def start(unit: int) -> Job[int] | None:
        assert all(each in log.settled or each in idle for each in above[unit])
        order.append(unit)
        return None if unit in idle else log.job(unit)

    with ThreadPoolExecutor(workers) as executor:
        run_in_order(range(len(above)), above, start=start, settle=log.settle, executor=executor, workers=workers)
    assert sorted(order) == list(range(len(above)))
    assert sorted(log.settled) == [unit for unit in range(len(above)) if unit not in idle]
    assert log.most <= workers


def test_independent_units_run_side_by_side() -> None:
    log, together = Log(), threading.Barrier(2, timeout=60)
    with ThreadPoolExecutor(2) as executor:
        run_in_order(
            [0, 1],
            [(), ()],
            start=lambda unit: Job(lambda: together.wait() * 0 + unit),
            settle=log.settle,
            executor=executor,
            workers=2,
        )
    assert sorted(log.settled) == [0, 1]


def test_units_that_write_the_same_thing_take_turns() -> None:
    log = Log()
    with ThreadPoolExecutor(2) as executor:
        run_in_order(
            [0, 1],
            [(), ()],
            start=lambda unit: log.job(unit, 0.05, frozenset({"shared"})),
            settle=log.settle,
            executor=executor,
            workers=2,
        )
    assert (log.settled, log.most) == ([0, 1], 1)


def test_once_it_is_to_stop_nothing_more_is_started() -> None:
    log = Log()
    with ThreadPoolExecutor(1) as executor:
        run_in_order(
            [0, 1, 2],
            [(), (), ()],
            start=log.job,
            settle=log.settle,
            executor=executor,
            workers=1,
            stopping=lambda: len(log.settled) == 2,
        )
    assert log.settled == [0, 1]
