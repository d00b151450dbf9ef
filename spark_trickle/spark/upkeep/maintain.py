"""Maintenance of the stream tables' own tables, told as a story: compact, expire, remove leftovers, prune history.

Users' tables are never touched. A table that somebody else writes to meanwhile is reported and left for the next time.
No frontier is broken: what is pinned is read again right before each table's snapshots expire. Neither is what this
process reads at the moment (`in_use`): an open snapshot or transaction keeps its versions.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spark_trickle.errors import ComputeError, ConflictError, NotFoundError, UserError
from spark_trickle.model.publication import Cut
from spark_trickle.model.schedule import parse_duration
from spark_trickle.names import TableName
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.upkeep.compact import compact, conflicts, shape_of
from spark_trickle.spark.upkeep.expire import expire
from spark_trickle.spark.upkeep.leftovers import remove_abandoned, remove_dead_workspaces, remove_orphans
from spark_trickle.spark.workspaces.in_use import IN_USE
from spark_trickle.spark.workspaces.purge import lake_io, snapshot_at
from spark_trickle.storage.iceberg import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKSPACE_AGE = timedelta(days=1)
"""Private databases of dead processes younger than this stay."""

_NO_TIME = re.compile(r"0+[smhdw]?")


class MaintenanceCatalog(Protocol):
    """What maintenance needs of our metadata."""

    def cut_of_lake(self) -> Cut: ...
    def prune_history(self, older_than: datetime) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceOptions:
    """What may be set."""

    retain: timedelta
    """For how long a version that is no longer the current one can still be read."""
    orphan_age: timedelta
    """Unreferenced files younger than this may belong to a refresh under way."""
    compact_files: int
    """A table with more data files than this is compacted."""
    history_days: int
    """0: history is kept for ever."""

    @classmethod
    def parse(cls, *, retain: str, compact_files: int, orphan_age: str, history_days: int) -> MaintenanceOptions:
        """Read the options as users write them."""
        if not isinstance(compact_files, int) or compact_files < 1:
            raise UserError(f"compact_files cannot be {compact_files!r}", hint="It is a number of files, at least 1")
        return cls(
            retain=_duration("retain", retain),
            orphan_age=_duration("orphan_age", orphan_age),
            compact_files=compact_files,
            history_days=history_days,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMaintenance:
    """What was done for one table."""

    name: str
    files_before: int = 0
    """Data files."""
    files_after: int = 0
    snapshots_expired: int = 0
    orphans_removed: int = 0
    skipped_reason: str | None = None
    """Why something was left for the next time."""

    def __str__(self) -> str:
        files = f"{self.files_before} data files"
        if self.files_after != self.files_before:
            files = f"{self.files_before} -> {self.files_after} data files"
        done = f"{self.snapshots_expired} snapshots expired, {self.orphans_removed} leftovers removed"
        text = f"{self.name}: {files}, {done}"
        return text if self.skipped_reason is None else f"{text}; not finished: {self.skipped_reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceReport:
    """What maintenance did."""

    tables: tuple[TableMaintenance, ...]
    history_pruned: int
    abandoned_files: int
    """Files removed of tables of ours that are in the catalog no more, or never came there."""
    dead_workspaces: int
    """Private databases removed of processes that have died."""
    duration_ms: float

    def __str__(self) -> str:
        unfinished = sum(1 for table in self.tables if table.skipped_reason is not None)
        ending = f", {unfinished} of them not finished" if unfinished else ""
        lines = [f"maintained {len(self.tables)} tables in {self.duration_ms / 1000:.1f} s{ending}"]
        lines += [f"  {table}" for table in self.tables]
        for count, what in (
            (self.abandoned_files, "files of dropped or never published tables removed"),
            (self.dead_workspaces, "temporary folders of dead processes removed"),
            (self.history_pruned, "rows of history pruned"),
        ):
            if count:
                lines.append(f"  {count} {what}")
        return "\n".join(lines)


def maintain(
    catalog: MaintenanceCatalog, spark: SparkSession, now: datetime, options: MaintenanceOptions
) -> MaintenanceReport:
    """Maintain all tables of all stream tables, then what belongs to none. `spark` is the session of the real lake."""
    started = time.perf_counter()
    upkeep = _Upkeep(catalog, spark, now, options)
    names = [name for table in catalog.cut_of_lake().tables.values() for name in table.tables]
    tables = tuple(upkeep.table(name) for name in names)
    pruned = 0
    if options.history_days:
        pruned = catalog.prune_history(now - timedelta(days=options.history_days))
    return MaintenanceReport(
        tables=tables,
        history_pruned=pruned,
        abandoned_files=upkeep.abandoned(),
        dead_workspaces=remove_dead_workspaces(Path(tempfile.gettempdir()), (now - WORKSPACE_AGE).timestamp()),
        duration_ms=(time.perf_counter() - started) * 1000,
    )


@dataclass(frozen=True, slots=True)
class _Upkeep:
    catalog: MaintenanceCatalog
    spark: SparkSession
    now: datetime
    options: MaintenanceOptions

    def table(self, name: TableName) -> TableMaintenance:
        """Each step on its own: one that conflicts does not keep the others from being done."""
        reasons: list[str] = []

        def tried(step: Callable[[TableName], int]) -> int:
            try:
                with spark_errors(f"maintaining '{name}'"), conflicts(name, "CommitFailedException"):
                    return step(name)
            except (ComputeError, ConflictError, NotFoundError) as err:
                if str(err) not in reasons:
                    reasons.append(str(err))
                return 0

        before = tried(self._data_files)
        if reasons:
            return TableMaintenance(name=str(name), skipped_reason=reasons[0])
        tried(self._compact)
        expired, orphans = tried(self._expire), tried(self._remove_orphans)
        return TableMaintenance(
            name=str(name),
            files_before=before,
            files_after=tried(self._data_files),
            snapshots_expired=expired,
            orphans_removed=orphans,
            skipped_reason="; ".join(reasons) or None,
        )

    def abandoned(self) -> int:
        """Files of tables that no stream table has any more."""
        with spark_errors("removing files of tables that are no more"):
            return remove_abandoned(self.spark, self.catalog.cut_of_lake(), self._old(), IN_USE.locations())

    def _data_files(self, name: TableName) -> int:
        return shape_of(load(self.spark, name)).data_files

    def _compact(self, name: TableName) -> int:
        table = load(self.spark, name)
        if not shape_of(table).worth_compacting(self.options.compact_files):
            return 0
        compact(self.spark, table, name)
        return 1

    def _expire(self, name: TableName) -> int:
        table = load(self.spark, name)
        # Read after the table: a version that becomes pinned later was the current one at that moment, or since.
        pins = [
            pin.snapshot_id
            for each in self.catalog.cut_of_lake().tables.values()
            for pin in (*each.frontier.pins, *each.published)
            if pin.snapshot_id is not None
        ]
        needed = frozenset((*pins, *self._read_now(name)))
        return expire(self.spark, table, needed, _millis(self.now - self.options.retain))

    def _read_now(self, name: TableName) -> list[int]:
        """Snapshots that are being read in this process."""
        locations = IN_USE.locations(name)
        if not locations:
            return []
        with lake_io(self.spark) as io:
            found = [snapshot_at(self.spark, io, location) for location in locations]
        return [*IN_USE.snapshots(name), *(snapshot for snapshot in found if snapshot is not None)]

    def _old(self) -> int:
        """Files older than this belong to no work under way."""
        old, began = _millis(self.now - self.options.orphan_age), IN_USE.since_ms()
        return old if began is None else min(old, began)

    def _remove_orphans(self, name: TableName) -> int:
        return remove_orphans(self.spark, load(self.spark, name), self._old())


def _duration(option: str, text: str) -> timedelta:
    words = str(text).strip().lower()
    if _NO_TIME.fullmatch(words):
        return timedelta(0)
    try:
        return parse_duration(words)
    except UserError as err:
        hint = "Write a duration such as 30s, 5m, 1h30m, 1d, or 0s"
        raise UserError(f"{option} '{text}' is not a duration", hint=hint) from err


def _millis(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
