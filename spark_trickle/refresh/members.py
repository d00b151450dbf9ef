"""The members of a unit in their order: one starts when all that it reads are done, independent ones run side by side.
Members that depend on each other are one piece of work.

Planning takes as long as the work when changes are small, so one thread would leave Spark idle half of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from spark_trickle.graph.dag import data_flow
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.ports import Workbench
from spark_trickle.refresh.pool import Job, run_in_order

T = TypeVar("T")
Piece = tuple[StreamTable, ...]
"""One stream table, or the members of a circle."""


def pieces(unit: Sequence[StreamTable]) -> list[Piece]:
    """The members of a unit, those of a circle together, in the order of the unit."""
    circles = {name: circle for circle in data_flow(unit).circles() for name in circle}
    of = {table.name: table for table in unit}
    found: dict[tuple[object, ...], Piece] = {}
    for table in unit:
        circle = circles.get(table.name, (table.name,))
        found.setdefault(circle, tuple(of[name] for name in circle))
    return list(found.values())


def is_circle(piece: Piece) -> bool:
    """Whether the members depend on each other, or one on itself."""
    return len(piece) > 1 or any(source.table == piece[0].name for source in piece[0].sources)


def in_order(
    bench: Workbench,
    unit: Sequence[StreamTable],
    work: Callable[[Piece, Workbench], Iterable[T]],
    *,
    workers: int,
    due: Callable[[StreamTable], bool] = lambda _table: True,
) -> list[T]:
    """Do the work for each piece of which a member is due when its turn comes; results in the order of the unit.

    After a failure nothing more is started, and what runs is waited for; of several the first in the unit's order is
    raised. `due` is asked in this thread. Where nothing can run side by side, no thread is made.
    """
    found = pieces(unit)
    above = _above(found)
    if workers == 1 or _is_chain(above):
        return [result for piece in found if any(map(due, piece)) for result in work(piece, bench)]
    results: dict[int, Iterable[T]] = {}
    failures: dict[int, BaseException] = {}

    def start(number: int) -> Job[Iterable[T]] | None:
        piece = found[number]
        return Job(bench.apart(partial(work, piece))) if any(map(due, piece)) else None

    def settle(number: int, done: Future[Iterable[T]]) -> None:
        err = done.exception()
        if err is None:
            results[number] = done.result()
        else:
            failures[number] = err

    with ThreadPoolExecutor(workers, thread_name_prefix="trickle-member") as executor:
        run_in_order(
            range(len(found)),
            above,
            start=start,
            settle=settle,
            executor=executor,
            workers=workers,
            stopping=lambda: bool(failures),
        )
    if failures:
        raise failures[min(failures)]
    return [result for number in sorted(results) for result in results[number]]


def _above(found: Sequence[Piece]) -> list[set[int]]:
    """For each piece the numbers of the others that it reads."""
    numbers = {table.name: number for number, piece in enumerate(found) for table in piece}
    reads = ({numbers[s.table] for table in piece for s in table.sources if s.table in numbers} for piece in found)
    return [read - {number} for number, read in enumerate(reads)]


def _is_chain(above: Sequence[set[int]]) -> bool:
    """Whether each piece reads the one before it: then no two can ever run side by side."""
    return all(number - 1 in reads for number, reads in enumerate(above) if number)
