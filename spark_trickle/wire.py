"""Settings become a working system here: the one module that names the adapters together.

Nothing that needs a JVM, or is slow to import, is touched before it is needed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from spark_trickle.catalog.address import with_password_of
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.clock import Clock, SystemClock
from spark_trickle.config import ROWS_FOLDER, Settings
from spark_trickle.elsewhere.files import Files
from spark_trickle.elsewhere.formats import Formats
from spark_trickle.elsewhere.heads import Heads
from spark_trickle.elsewhere.pins import Elsewhere
from spark_trickle.errors import ConfigError, UserError
from spark_trickle.events import Event, Observer
from spark_trickle.fusing import Fusing
from spark_trickle.gating import Gating
from spark_trickle.graph.units import plan_units
from spark_trickle.grouping import Grouping
from spark_trickle.hooks import Hooks, Mailbox
from spark_trickle.lateness import Lateness
from spark_trickle.lineage import Lineage
from spark_trickle.logs import configure
from spark_trickle.model.publication import Cut, Swap
from spark_trickle.names import TableName
from spark_trickle.ports import Workbench
from spark_trickle.refresh.definitions import Definitions
from spark_trickle.refresh.run import Refresher
from spark_trickle.scheduler.board import make_board
from spark_trickle.scheduler.loop import Pace, Scheduler
from spark_trickle.scheduler.under_way import Running
from spark_trickle.spark.session.sessions import LakeAddress, Sessions
from spark_trickle.spark.session.stores import refuse_ours
from spark_trickle.spark.workspaces.workspace import Workspaces
from spark_trickle.watching import Watch
from spark_trickle.watermarking import Watermarking

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.spark.lake import SparkLake


class LazyLake:
    """The Lake port; loads Spark's part of the program when the first workbench is wanted."""

    def __init__(self, make: Callable[[], SparkLake], sessions: Sessions) -> None:
        self._make = make
        self._sessions = sessions
        self._real: SparkLake | None = None

    @property
    def real(self) -> SparkLake:
        if self._real is None:
            self._real = self._make()
        return self._real

    def close(self) -> None:
        if self._real is not None:
            self._real.close()

    def ready(self) -> None:
        _ = self._sessions.main

    def workbench(self, cut: Cut, tables: Iterable[TableName] | None = None) -> AbstractContextManager[Workbench]:
        return self.real.workbench(cut, tables)

    def published(self, swaps: Iterable[Swap]) -> None:
        if swaps and self._sessions.started:
            from spark_trickle.spark.session.cached import read_anew

            read_anew(self._sessions.main, swaps)


@dataclass(frozen=True, slots=True)
class Parts:
    """The assembled system."""

    settings: Settings
    catalog: Catalog
    clock: Clock
    sessions: Sessions
    workspaces: Workspaces
    elsewhere: Elsewhere
    lake: LazyLake
    refresher: Refresher
    definitions: Definitions
    gating: Gating
    grouping: Grouping
    watermarking: Watermarking
    fusing: Fusing
    scheduler: Scheduler
    watch: Watch
    running: Running
    lateness: Lateness
    mailbox: Mailbox
    notify: Observer

    def close(self) -> None:
        self.scheduler.close()
        self.lake.close()
        self.mailbox.close()
        self.workspaces.close()
        self.elsewhere.close()
        self.sessions.stop()
        self.catalog.close()


def assemble(settings: Settings, spark: SparkSession | None, observers: Iterable[Observer]) -> Parts:
    """Put the parts together; starts nothing but the database."""
    refuse_ours(settings.spark_conf)
    configure(settings.log_file, settings.log_format, settings.log_level)
    mailbox = Mailbox()
    watching = [*observers]

    def notify(event: Event) -> None:
        for observer in watching:
            observer(event)

    warehouse = _warehouse(settings.warehouse)
    catalog = Catalog.open(
        with_password_of(settings.catalog, settings.catalog_password_file),
        busy_timeout_seconds=settings.busy_timeout_seconds,
        max_consecutive_errors=settings.max_consecutive_errors,
        notify=notify,
        elsewhere=lambda cut: elsewhere.added_to(cut),
    )
    sessions = _sessions(settings, catalog, warehouse, spark)
    formats = Formats(lambda: _far_files(sessions), lambda table: workspaces.scout().locate(table))
    elsewhere = Elsewhere(sessions.catalogs, lambda _: _scouting(workspaces), formats)
    workspaces = Workspaces(sessions, warehouse, elsewhere)
    lake, clock = _lake(settings, workspaces, sessions), SystemClock()
    watch = _watch(settings, catalog, clock)
    lateness = Lateness(watch, notify, _tell_others(settings, warehouse, catalog, mailbox, watching))
    running = Running(clock)
    refresher = _refresher(settings, catalog, lake, clock, notify, running)
    definitions = Definitions(catalog, lake, clock, refresher, notify, settings.allow_circular)
    scheduler = _scheduler(settings, catalog, refresher, clock, notify, running)
    return Parts(
        settings,
        catalog,
        clock,
        sessions,
        workspaces,
        elsewhere,
        lake,
        refresher,
        definitions,
        _gating(settings, catalog, clock, notify, sessions),
        Grouping(catalog, clock, sessions.named),
        _watermarking(settings, catalog, clock, sessions, elsewhere),
        Fusing(catalog, clock, settings.fuse_default_ceiling, sessions.named),
        scheduler,
        watch,
        running,
        lateness,
        mailbox,
        notify,
    )


def _refresher(
    settings: Settings, catalog: Catalog, lake: LazyLake, clock: Clock, notify: Observer, running: Running
) -> Refresher:
    return Refresher(
        catalog=catalog,
        lake=lake,
        clock=clock,
        notify=notify,
        max_change_ratio=settings.differential_max_change_ratio,
        attempts=settings.max_refresh_attempts,
        workers=settings.max_concurrent_refreshes,
        max_rounds=settings.max_fixpoint_iterations,
        fuse_default_ceiling=settings.fuse_default_ceiling,
        refreshing=running.refreshing,
    )


def _tell_others(
    settings: Settings, warehouse: str, catalog: Catalog, mailbox: Mailbox, observers: list[Observer]
) -> bool:
    """Add who tells the world outside; gives whether it wants to know who is late."""

    def query_of(name: str) -> str | None:
        table = next((each for each in catalog.stream_tables() if str(each.name) == name), None)
        return None if table is None else table.query

    targets = {"on_failure": settings.on_failure, "on_fuse": settings.on_fuse, "on_late": settings.on_late}
    hooks = Hooks(mailbox, targets, warehouse)
    observers.append(hooks)
    if settings.openlineage:
        lake = warehouse if "://" in warehouse else Path(warehouse).as_uri()
        observers.append(Lineage(mailbox, settings.openlineage, lake, query_of))
    return hooks.wants("on_late")


def _sessions(settings: Settings, catalog: Catalog, warehouse: str, spark: SparkSession | None) -> Sessions:
    database = catalog.database
    address = LakeAddress(database.jdbc_url(), tuple(sorted(database.jdbc_properties().items())), warehouse)
    return Sessions(
        address,
        given=spark,
        master=settings.spark_master,
        driver_memory=settings.spark_driver_memory,
        extra=settings.spark_conf,
        local_query_rows=settings.local_query_rows,
    )


def _scouting(workspaces: Workspaces) -> Heads:
    from spark_trickle.spark.workspaces.scout import ScoutHeads

    return ScoutHeads(workspaces.scout())


def _far_files(sessions: Sessions) -> Files:
    from spark_trickle.spark.workspaces.far_files import FarFiles

    return FarFiles(sessions)


def _scheduler(
    settings: Settings, catalog: Catalog, refresher: Refresher, clock: Clock, notify: Observer, running: Running
) -> Scheduler:
    default = timedelta(seconds=settings.default_schedule_seconds)
    return Scheduler(
        catalog,
        CutReader(catalog),
        refresher,
        make_board=lambda cut: make_board(plan_units(cut.tables, cut.groups), cut.tables, default),
        clock=clock,
        notify=notify,
        running=running,
        pace=Pace(
            interval=timedelta(milliseconds=settings.scheduler_interval_ms),
            lease_seconds=settings.scheduler_lease_seconds,
            workers=settings.max_concurrent_refreshes,
            one_cut=settings.tick_watermark_enabled,
            stale_gate=timedelta(seconds=settings.gate_stale_warning_seconds),
            stuck_after=timedelta(seconds=settings.watermark_holdback_timeout),
        ),
    )


def _gating(settings: Settings, catalog: Catalog, clock: Clock, notify: Observer, sessions: Sessions) -> Gating:
    stale = timedelta(seconds=settings.gate_stale_warning_seconds)
    return Gating(catalog, clock, notify, stale, named=sessions.named)


def _watch(settings: Settings, catalog: Catalog, clock: Clock) -> Watch:
    default = timedelta(seconds=settings.default_schedule_seconds)
    return Watch(catalog, clock, default, timedelta(seconds=settings.watermark_holdback_timeout))


def _watermarking(
    settings: Settings, catalog: Catalog, clock: Clock, sessions: Sessions, elsewhere: Elsewhere
) -> Watermarking:
    def check(source: TableName, column: str) -> None:
        from spark_trickle.spark.execution.completeness import MOMENTS, kind_of

        kind = kind_of(sessions.main, source, column)
        if kind not in MOMENTS:
            what = f"'{source}' has no column '{column}'" if kind is None else f"'{column}' of '{source}' is a {kind}"
            raise UserError(what, hint=f"A watermark column is of type {', '.join(MOMENTS)}")

    stuck = timedelta(seconds=settings.watermark_holdback_timeout)
    return Watermarking(catalog, clock, stuck, check, sessions.named, elsewhere.pointer)


def _lake(settings: Settings, workspaces: Workspaces, sessions: Sessions) -> LazyLake:
    def make_lake() -> SparkLake:
        from spark_trickle.delta.sizes import Limits
        from spark_trickle.rows.cache import RowCache
        from spark_trickle.spark.lake import SparkLake

        limits = Limits(
            small_change_rows=settings.small_change_rows,
            rewrite_table_rows=settings.rewrite_table_rows,
            broadcast_table_rows=settings.broadcast_table_rows,
            held_table_rows=settings.held_table_rows,
            lookup_table_rows=settings.lookup_table_rows,
        )
        return SparkLake(workspaces, limits, RowCache(_rows_folder(settings), settings.row_cache_bytes))

    return LazyLake(make_lake, sessions)


def _rows_folder(settings: Settings) -> Path:
    """Where the cache of rows is: with the files of a lake in a folder, else where the user's caches are."""
    if settings.row_cache_folder:
        return Path(settings.row_cache_folder).expanduser().absolute()
    parts = urlsplit(settings.warehouse)
    if parts.scheme == "file":
        return Path(unquote(parts.path)) / ROWS_FOLDER
    if "://" not in settings.warehouse:
        return Path(settings.warehouse).expanduser().absolute() / ROWS_FOLDER
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return home / "spark-trickle" / hashlib.sha256(settings.warehouse.encode()).hexdigest()[:16]


def _warehouse(text: str) -> str:
    """Spark and Iceberg want a whole address: folders become absolute."""
    if "://" in text:
        return text
    folder = Path(text).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise ConfigError(
            f"warehouse '{text}' cannot be made: {err.strerror}", hint="Name a folder you can write to"
        ) from err
    return str(folder)
