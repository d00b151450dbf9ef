"""Members of a unit side by side: who waits for whom, how many at once, and what a failure stops. On the toy lake."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from spark_trickle.errors import ComputeError, StreamTableError
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import Source, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Workbench
from spark_trickle.refresh.members import Piece, in_order
from tests.support.catalog_values import stream_table
from tests.support.scheduling import Yard, failed, names, yard
from tests.support.toy_lake import ToyBench

T = TableName.parse


@contextmanager
def lake(folder: Path, at_once: int, before_write: Callable[[str], None]) -> Iterator[Yard]:
    with yard(folder, workers=at_once) as made:
        made.lake.before_write = lambda name: before_write(str(name))
        yield made


def fork(y: Yard) -> list[TableName]:
    """`a`, `b` and `c` read the same table, `last` reads them all: one unit, loaded."""
    y.base("orders")
    for name in ("a", "b", "c"):
        y.stream(name, "orders")
    y.stream("last", "a", "b", "c")
    y.tick()
    y.write("orders")
    return [T(name) for name in ("a", "b", "c", "last")]


def test_independent_members_run_at_the_same_time_and_their_reader_after_them(tmp_path: Path) -> None:
    together, written = threading.Barrier(3, timeout=60), list[str]()

    def meet(name: str) -> None:
        if name != "last" and armed:
            together.wait()
        written.append(name)

    armed = False
    with lake(tmp_path, 3, meet) as y:
        unit = fork(y)
        written.clear()
        armed = True
        assert names(y.tick(60)) == ["a", "b", "c", "last"]
        assert sorted(written[:3]) == ["a", "b", "c"] and written[3:] == ["last"]
        assert y.holds("last") == y.holds("orders")
        y.write("orders")
        written.clear()
        outcomes = y.refresher.refresh(unit, None)
        assert [outcome.name for outcome in outcomes] == ["a", "b", "c", "last"]
        assert written[3:] == ["last"]
        assert y.holds("last") == y.holds("orders")


def test_with_a_limit_of_one_no_thread_is_made(tmp_path: Path) -> None:
    threads = set[threading.Thread]()
    with lake(tmp_path, 1, lambda _name: threads.add(threading.current_thread())) as y:
        unit = fork(y)
        threads.clear()
        y.refresher.refresh(unit, None)
        assert threads == {threading.current_thread()}


def test_a_chain_is_refreshed_without_threads_whatever_the_limit(tmp_path: Path) -> None:
    threads = set[threading.Thread]()
    with lake(tmp_path, 4, lambda _name: threads.add(threading.current_thread())) as y:
        y.base("orders")
        y.stream("a", "orders")
        y.stream("b", "a")
        y.stream("c", "b", "orders")
        y.refresher.refresh([T("a"), T("b"), T("c")], None)
        assert threads == {threading.current_thread()}
        assert y.holds("c") == y.holds("orders")


def test_of_several_failures_the_first_in_order_is_raised_once_all_have_ended(tmp_path: Path) -> None:
    second_fails, ended, begun = threading.Event(), list[str](), list[str]()

    def fail(name: str) -> None:
        begun.append(name)
        if not armed:
            return
        if name == "a":
            assert second_fails.wait(10)
            time.sleep(0.05)  # the failure of `b` is seen before this one
            ended.append(name)
            raise ComputeError("a failed")
        second_fails.set()
        raise ComputeError(f"{name} failed")

    armed = False
    with lake(tmp_path, 2, fail) as y:
        unit = fork(y)
        before = y.catalog.pointers(unit)
        begun.clear()
        armed = True
        with pytest.raises(ComputeError, match="a failed"):
            y.refresher.refresh(unit, None)
        assert ended == ["a"] and sorted(begun) == ["a", "b"]
        assert y.catalog.pointers(unit) == before
        assert all(y.catalog.history(name)[0].status is Outcome.FAILED for name in unit)
        armed = False
        y.refresher.refresh(unit, None)
        assert y.holds("last") == y.holds("orders")


def test_the_scheduler_is_told_which_member_failed(tmp_path: Path) -> None:
    def fail(name: str) -> None:
        if armed and name == "b":
            raise ComputeError("b failed")

    armed = False
    with lake(tmp_path, 3, fail) as y:
        fork(y)
        armed = True
        report = y.tick(60)
        assert failed(report) == ["b"]
        armed = False
        assert names(y.tick(600)) == ["a", "b", "c", "last"]


def test_whether_a_member_has_anything_to_do_is_decided_when_its_inputs_are_done(tmp_path: Path) -> None:
    written = list[str]()
    with lake(tmp_path, 3, written.append) as y:
        y.base("orders", "lines")
        y.stream("a", "orders")
        y.stream("b", "lines")
        y.stream("above_a", "a")
        y.stream("above_b", "b")
        y.stream("last", "above_a", "above_b", "orders", "lines")
        y.tick()
        written.clear()
        y.lake.write(T("orders"), no_rows=True)
        y.write("lines")
        # Nothing of `a` changes, so `above_a` costs nothing.
        assert sorted(names(y.tick(60))) == ["a", "above_b", "b", "last"]
        assert "above_a" not in written and written[-1] == "last"
        assert len({y.catalog.history(T(name))[0].group for name in ("a", "b", "last")} - {None}) == 1
        assert y.holds("above_b") == y.holds("lines")


def _unit(dice: random.Random) -> list[StreamTable]:
    unit: list[StreamTable] = []
    for number in range(dice.randint(1, 12)):
        reads = [table.name for table in unit if dice.random() < 0.25] + [T("base")]
        sources = tuple(Source(table=name, kind="STREAM_TABLE") for name in reads)
        unit.append(replace(stream_table(f"s{number}"), sources=sources))
    return unit


@pytest.mark.parametrize("seed", range(40))
def test_any_unit_runs_in_order_within_its_limit(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    unit, workers = _unit(dice), dice.randint(1, 5)
    idle = {table.name for table in unit if dice.random() < 0.2}
    bad = {table.name for table in unit if dice.random() < 0.05} - idle
    running, done, most, lock = set[TableName](), set[TableName](), [0], threading.Lock()

    def work(piece: Piece, _bench: Workbench) -> list[TableName]:
        (table,) = piece
        with lock:
            running.add(table.name)
            most[0] = max(most[0], len(running))
            inputs = {s.table for s in table.sources} - {T("base")} - idle
            assert inputs <= done, "it began before its inputs were done"
        time.sleep(0.001)
        with lock:
            running.discard(table.name)
            if table.name in bad:
                raise ComputeError(str(table.name))
            done.add(table.name)
        return [table.name]

    def run() -> list[TableName]:
        bench = ToyBench(None, {}, {})  # type: ignore[arg-type]  # nothing is written
        return in_order(bench, unit, work, workers=workers, due=lambda table: table.name not in idle)

    if bad:
        with pytest.raises(StreamTableError) as raised:
            run()
        assert T(str(raised.value)) in bad
    else:
        assert run() == [table.name for table in unit if table.name not in idle]
    assert not running and most[0] <= workers
