"""Scheduling without Spark: a real catalog on SQLite, a toy lake, and ticks at moments that a test chooses."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.errors import ComputeError, SchemaChangedError
from spark_trickle.events import Event
from spark_trickle.graph.units import plan_units
from spark_trickle.known import Known
from spark_trickle.model.gate import GateChange
from spark_trickle.model.groups import DeclaredGroup
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy, Options, RefreshMode
from spark_trickle.model.tick import TickReport
from spark_trickle.model.watermark import Advance, WatermarkGroup
from spark_trickle.names import TableName
from spark_trickle.refresh.definitions import Definitions
from spark_trickle.refresh.run import Refresher
from spark_trickle.scheduler.board import Board, make_board
from spark_trickle.scheduler.memory import Memory
from spark_trickle.scheduler.tick import Tick, World
from spark_trickle.views import WhyAnswer
from spark_trickle.why import why
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
    stuck_after: timedelta = timedelta()

    def __post_init__(self) -> None:
        self.lake = ToyLake(self.catalog, before_write=self._before_write)
        clock = StoppedClock(self)
        self.refresher = Refresher(self.catalog, self.lake, clock, self.events.append, 0.15, 3, self.workers)
        self.definitions = Definitions(self.catalog, self.lake, clock, self.refresher, self.events.append)
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
            stuck_after=self.stuck_after,
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

    full = RefreshMode.FULL

    def default_ceiling(self, rows: int) -> None:
        """As if the setting were so from now on."""
        self.refresher = replace(self.refresher, fuse_default_ceiling=rows)

    def advance(self, name: str, watermark: datetime) -> None:
        self.catalog.change_watermarks([Advance(source=T(name), watermark=watermark, at=self.now, by="test")])

    def watermark_group(self, name: str, *sources: str, tolerance: float = 0, **options: Any) -> None:
        group = WatermarkGroup(
            name=name,
            sources=tuple(T(source) for source in sources),
            tolerance=timedelta(seconds=tolerance),
            created_at=self.now,
            **options,
        )
        self.catalog.add_watermark_group(group)

    def why(self, name: str) -> WhyAnswer:
        known = Known(
            cut=self.catalog.cut(),
            standings=self.catalog.standings(),
            lease=self.catalog.lease(),
            now=self.now,
            default_schedule=DEFAULT,
            stuck_after=self.stuck_after,
        )
        return why(T(name), known)

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


@dataclass(frozen=True)
class StoppedClock:
    """Shows what time it is in the yard."""

    yard: Yard

    def now(self) -> datetime:
        return self.yard.now


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
