"""Scheduling without Spark: a real catalog on SQLite, a toy lake, and ticks at moments that a test chooses."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.clock import SystemClock
from spark_trickle.errors import ComputeError, SchemaChangedError
from spark_trickle.events import Event
from spark_trickle.graph.units import plan_units
from spark_trickle.model.gate import GateChange
from spark_trickle.model.groups import DeclaredGroup
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy, Options
from spark_trickle.model.tick import TickReport
from spark_trickle.names import TableName
from spark_trickle.refresh.definitions import Definitions
from spark_trickle.refresh.run import Refresher
from spark_trickle.scheduler.board import Board, make_board
from spark_trickle.scheduler.memory import Memory
from spark_trickle.scheduler.tick import Tick, World
from tests.support.catalog_values import NOON
from tests.support.toy_lake import Contents, ToyLake

T = TableName.parse
DEFAULT = timedelta(seconds=1)


def board_of(cut: Cut) -> Board:
    return make_board(plan_units(cut.tables, cut.groups), cut.tables, DEFAULT)


@dataclass
class Yard:
    """One lake and its scheduler; time stands still until it is moved."""

    catalog: Catalog
    executor: ThreadPoolExecutor
    workers: int = 1
    one_cut: bool = True
    stopwatch: Callable[[], float] = time.perf_counter
    now: datetime = NOON
    failing: dict[str, str] = field(default_factory=dict)
    """Stream tables whose refresh fails: 'transient' or 'permanent'."""
    events: list[Event] = field(default_factory=list)
    known: set[TableName] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lake = ToyLake(self.catalog, before_write=self._before_write)
        self.refresher = Refresher(self.catalog, self.lake, SystemClock(), self.events.append, 0.15, 3, self.workers)
        self.definitions = Definitions(self.catalog, self.lake, SystemClock(), self.refresher, self.events.append)
        self.memory = Memory(board_of)
        self.read_cut = CutReader(self.catalog)
        taken = self.catalog.take_lease("test", NOON, NOON + timedelta(days=365))
        assert taken is not None
        self.fence = taken.token

    def tick(self, seconds: float = 0.0) -> TickReport:
        """Move the clock, and make one pass."""
        self.now += timedelta(seconds=seconds)
        world = World(
            catalog=self.catalog,
            read_cut=self.read_cut,
            refresher=self.refresher,
            notify=self.events.append,
            executor=self.executor,
            workers=self.workers,
            one_cut=self.one_cut,
            stale_gate=timedelta(hours=1),
            chance=lambda: 0.5,
            stopwatch=self.stopwatch,
        )
        return Tick(world, self.memory, self.fence, self.now).run()

    def restart(self) -> None:
        """Another scheduler goes on, without any memory."""
        self.memory, self.read_cut = Memory(board_of), CutReader(self.catalog)

    def base(self, *names: str) -> None:
        for name in names:
            self.lake.write(T(name))

    write = base

    def stream(self, name: str, *reads: str, schedule: str = "1s", **options: Any) -> None:
        self.known.add(T(name))
        self.lake.create(T(name), [T(each) for each in reads], Options(schedule=schedule, **options), self.known)

    def group(self, name: str, *members: str, **options: Any) -> None:
        declared = DeclaredGroup(name=name, members=tuple(T(m) for m in members), created_at=NOON, **options)
        self.catalog.add_refresh_group(declared)

    def gate(self, name: str, gated: bool) -> None:
        self.catalog.change_gates([GateChange(source=T(name), gated=gated, at=self.now, by="test")])

    def holds(self, name: str) -> Contents:
        return self.lake.holds(T(name))

    def _before_write(self, name: TableName) -> None:
        match self.failing.get(str(name)):
            case "transient":
                raise ComputeError(f"the job of {name} failed")
            case "permanent":
                raise SchemaChangedError(f"{name} does not fit its sources")
            case "bug":
                raise ZeroDivisionError("a bug")
            case _:
                return


ATOMIC, LOOSE = DiamondConsistency.ATOMIC, DiamondConsistency.NONE
FASTEST, SLOWEST = DiamondSchedulePolicy.FASTEST, DiamondSchedulePolicy.SLOWEST


@contextmanager
def yard(folder: Path, workers: int = 1, template: Path | None = None, **settings: Any) -> Iterator[Yard]:
    """A lake in a folder; the template of a migrated database spares migrating."""
    path = folder / "trickle.db"
    if template is not None:
        shutil.copyfile(template, path)
    catalog = Catalog.open(f"sqlite:///{path}")
    with ThreadPoolExecutor(workers) as executor:
        yield Yard(catalog, executor, workers, **settings)
    catalog.close()


def names(report: TickReport) -> list[str]:
    return [outcome.name for outcome in report.refreshed]


def skipped(report: TickReport) -> dict[str, tuple[str, ...]]:
    return {skip.name: skip.codes for skip in report.skipped}


def failed(report: TickReport) -> list[str]:
    return [each.name for each in report.failed]
