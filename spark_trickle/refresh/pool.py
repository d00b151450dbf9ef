"""Work in its order on a bounded pool: one starts when those above it are settled, independent ones side by side.

Knows numbers and futures; what a unit is (the scheduler's units, or the members of one) and what running it means is
the caller's.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """Something to run, and what it writes: two jobs that write the same thing do not run side by side."""

    work: Callable[[], T]
    writes: frozenset[Hashable] = frozenset()


@dataclass(slots=True)
class _Order:
    """Which units may start: those of which all above are settled, smallest number first."""

    readers: dict[int, list[int]] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    ready: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, units: Iterable[int], above: Sequence[Collection[int]]) -> _Order:
        order = cls()
        wanted = list(units)
        known = set(wanted)
        for unit in wanted:
            waits_for = known.intersection(above[unit])
            order.open[unit] = len(waits_for)
            for other in waits_for:
                order.readers.setdefault(other, []).append(unit)
            if not waits_for:
                heapq.heappush(order.ready, unit)
        return order

    def settle(self, unit: int) -> None:
        for reader in self.readers.get(unit, ()):
            self.open[reader] -= 1
            if not self.open[reader]:
                heapq.heappush(self.ready, reader)


def run_in_order(
    units: Iterable[int],
    above: Sequence[Collection[int]],
    *,
    start: Callable[[int], Job[T] | None],
    settle: Callable[[int, Future[T]], None],
    executor: Executor,
    workers: int,
    stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Run all of them. `start` and `settle` are called in this thread; `start` may find that there is nothing to do.

    Once `stopping` says so nothing more is started; what runs is waited for.
    """
    order = _Order.of(units, above)
    running: dict[Future[T], tuple[int, frozenset[Hashable]]] = {}
    while True:
        _start_ready(order, running, start, executor, workers, stopping)
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda each: running[each][0]):
            unit, _writes = running.pop(future)
            settle(unit, future)
            order.settle(unit)


def _start_ready(
    order: _Order,
    running: dict[Future[T], tuple[int, frozenset[Hashable]]],
    start: Callable[[int], Job[T] | None],
    executor: Executor,
    workers: int,
    stopping: Callable[[], bool],
) -> None:
    later: list[int] = []
    while order.ready and len(running) < workers and not stopping():
        unit = heapq.heappop(order.ready)
        job = start(unit)
        if job is None:
            order.settle(unit)
        elif any(job.writes.intersection(writes) for _, writes in running.values()):
            later.append(unit)
        else:
            running[executor.submit(job.work)] = (unit, job.writes)
    for unit in later:
        heapq.heappush(order.ready, unit)
