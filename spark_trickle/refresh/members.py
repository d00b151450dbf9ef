"""The members of a unit in their order: one starts when all that it reads are done, independent ones run side by side.

Planning takes as long as the work when changes are small, so one thread would leave Spark idle half of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from spark_trickle.model.stream_table import StreamTable
from spark_trickle.ports import Workbench
from spark_trickle.refresh.pool import Job, run_in_order

T = TypeVar("T")


def in_order(
    bench: Workbench,
    unit: Sequence[StreamTable],
    work: Callable[[StreamTable, Workbench], T],
    *,
    workers: int,
    due: Callable[[StreamTable], bool] = lambda _table: True,
) -> list[T]:
    """Do the work for each member that is due when its turn comes; results in the order of the unit.

    After a failure nothing more is started, and what runs is waited for; of several the first in the unit's order is
    raised. `due` is asked in this thread. Where nothing can run side by side, no thread is made.
    """
    above = _above(unit)
    if workers == 1 or _is_chain(above):
        return [work(table, bench) for table in unit if due(table)]
    results: dict[int, T] = {}
    failures: dict[int, BaseException] = {}

    def start(number: int) -> Job[T] | None:
        table = unit[number]
        return Job(bench.apart(partial(work, table))) if due(table) else None

    def settle(number: int, done: Future[T]) -> None:
        err = done.exception()
        if err is None:
            results[number] = done.result()
        else:
            failures[number] = err

    with ThreadPoolExecutor(workers, thread_name_prefix="trickle-member") as executor:
        run_in_order(
            range(len(unit)),
            above,
            start=start,
            settle=settle,
            executor=executor,
            workers=workers,
            stopping=lambda: bool(failures),
        )
    if failures:
        raise failures[min(failures)]
    return [results[number] for number in sorted(results)]


def _above(unit: Sequence[StreamTable]) -> list[set[int]]:
    """For each member the numbers of the members that it reads."""
    numbers = {table.name: number for number, table in enumerate(unit)}
    return [{numbers[s.table] for s in table.sources if s.table in numbers} for table in unit]


def _is_chain(above: Sequence[set[int]]) -> bool:
    """Whether each member reads the one before it: then no two can ever run side by side."""
    return all(number - 1 in reads for number, reads in enumerate(above) if number)
