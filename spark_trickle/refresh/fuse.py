"""Counting what is pending before anything is computed, and stopping where a fuse blows.

Counted are the rows that changed in the sources since the frontier, by Iceberg's metadata. A rewritten file looks there
like all of its rows deleted and inserted: only where that would be too much is the change itself counted.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from datetime import datetime

from spark_trickle.errors import FuseBlownError
from spark_trickle.events import FuseBlown, Observer
from spark_trickle.holds.fuse_limits import limits
from spark_trickle.holds.fused import fuse_hold
from spark_trickle.model.frontier import Frontier, Pin, is_of_a_look
from spark_trickle.model.fuse import Blown, ChangedRows, PendingChange
from spark_trickle.model.publication import Cut, Publication
from spark_trickle.model.stream_table import Fuse, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Broken, CatalogPort, Window, Workbench

NOTHING = ChangedRows(0, 0)


@dataclass(frozen=True, slots=True)
class _Counted:
    """One source: what changed at the most, or why nobody can tell."""

    pin: Pin
    window: Window | None
    change: ChangedRows = NOTHING
    let_through: ChangedRows = NOTHING
    """The part of it that was."""
    before: ChangedRows = NOTHING
    """What was let through before it, and is not counted again."""
    unknown: str | None = None

    @property
    def beyond(self) -> ChangedRows:
        return self.change.less(self.let_through)


def require_usual(
    bench: Workbench,
    table: StreamTable,
    frontier: Frontier,
    *,
    stream_tables: Container[TableName],
    default_ceiling: int,
    now: datetime,
) -> ChangedRows | None:
    """How much is pending; None: it is not counted. FuseBlownError: more than the fuse of the stream table allows."""
    if table.options.fuse is Fuse.OFF or not table.populated or table.fuse.reinitialize:
        return None
    if table.fuse.blown is not None:
        raise blown_error(table, table.fuse.blown)
    counted = [each for pin in frontier.pins if (each := _count(bench, table, pin, stream_tables)) is not None]
    allowed = limits(table.options, table.fuse, default_ceiling)
    unknown = next((each.unknown for each in counted if each.unknown is not None), None)
    reason = None if unknown is None else f"how much has changed cannot be told: {unknown}"
    if reason is None and allowed.broken_by(_sum(counted)) is not None:
        counted = [_exactly(bench, each) for each in counted]
        reason = allowed.broken_by(_sum(counted))
    if reason is not None:
        pending = tuple(PendingChange(each.pin, each.change) for each in counted)
        raise blown_error(table, Blown(at=now, reason=reason, pending=pending))
    return sum((each.change + each.before for each in counted), NOTHING)


def blown_error(table: StreamTable, blown: Blown) -> FuseBlownError:
    hold = fuse_hold(table.name, blown)
    state = replace(table.fuse.cleared(), blown=blown)
    return FuseBlownError(table.name, hold.text, hint=hold.next_step, holds=(hold,), state=state)


def remember_blown(
    err: FuseBlownError, cut: Cut, catalog: CatalogPort, notify: Observer, fence: int | None = None
) -> None:
    """Write down that a fuse has blown, and tell it once: in a transaction of its own, nothing else is published."""
    table = next(each for name, each in cut.tables.items() if str(name) == err.facts["name"])
    if table.fuse.blown is None:
        catalog.publish(Publication(updated=(replace(table, fuse=err.state),), fence=fence))
        notify(FuseBlown(str(table.name), str(err)))


def _sum(counted: list[_Counted]) -> ChangedRows:
    """What counts of all sources: apart from what was let through."""
    return sum((each.beyond for each in counted), NOTHING)


def _count(bench: Workbench, table: StreamTable, here: Pin, stream_tables: Container[TableName]) -> _Counted | None:
    """What lies between the frontier, or what was let through, and here; None: it is no table, or new in the query."""
    if any(source.table == here.table and source.kind == "VIEW" for source in table.sources):
        return None
    if here.table in table.fuse.skipping:
        return _Counted(here, None)
    ours = here.table in stream_tables
    let_through = next((each for each in table.fuse.accepted if each.source == here.table), None)
    # What a stream table of the same unit had staged was not published: of that, only the number is known.
    since = table.frontier.of(here.table) if let_through is None or ours else let_through.pin
    if since is None:
        return None
    if since.uuid != here.uuid:
        return _Counted(here, None, unknown=f"'{here.table}' was dropped and made again under the same name")
    window = bench.window(table, since)
    if isinstance(window, Broken):
        if let_through is not None and is_of_a_look(here.location):
            return _Counted(here, None)  # always another version: what was let through is whatever is there
        return _Counted(here, None, unknown=window.reason)
    passed = NOTHING if let_through is None else let_through.change
    change = ChangedRows(window.rows, window.deleted_rows)
    return _Counted(here, window, change, let_through=passed) if ours else _Counted(here, window, change, before=passed)


def _exactly(bench: Workbench, counted: _Counted) -> _Counted:
    """Counted row by row, where files were rewritten."""
    if counted.window is None or counted.change.deleted in (0, counted.change.rows):
        return counted
    return replace(counted, change=ChangedRows(*bench.changed_rows(counted.window)))
