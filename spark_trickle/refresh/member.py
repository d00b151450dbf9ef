"""One stream table refreshed once, inside a workbench: decide, compute, stage. Nothing is visible afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from spark_trickle.errors import InternalError, NotDifferentialError, SchemaChangedError, SqlError
from spark_trickle.events import Observer, Step, StepReached
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Staged, Window, Workbench
from spark_trickle.refresh.choose import cheaper_recomputed, measured, worth_asking
from spark_trickle.refresh.decide import (
    NOTHING_CHANGED,
    SMALL_CHANGE_ROWS,
    Rebuild,
    full_by_mode,
    full_by_size,
    written_past,
)
from spark_trickle.refresh.looking import Look, look, summary_of
from spark_trickle.refresh.request import MemberResult, Request, history_row


def refresh_member(bench: Workbench, table: StreamTable, request: Request, notify: Observer) -> MemberResult:
    """Bring one stream table to the versions that the workbench holds."""
    started, jobs_before = time.perf_counter(), bench.jobs()
    notify(StepReached(Step.COMPUTING, str(table.name)))
    with fitting(table):
        found = look(bench, table, request)
        done = _stage(bench, found, request)
    staged = done.staged
    duration_ms = (time.perf_counter() - started) * 1000
    updated = _after(bench, found, done, request.now)
    if staged is not None:
        notify(StepReached(Step.STAGED, str(table.name)))
        # Asking for the sources' sizes opens each of them: only where they are written down.
        rows = _source_rows(bench, updated) if done.rebuild is not None and _measures(updated) else 0
        updated = replace(updated, costs=measured(updated.costs, done.rebuild, duration_ms, rows))
    outcome = RefreshOutcome(
        name=str(table.name),
        action=done.action,
        status=Outcome.COMPLETED,
        mode=done.mode,
        reason=done.reason,
        rows_inserted=staged.rows_inserted if staged else 0,
        rows_deleted=staged.rows_deleted if staged else 0,
        frontier=found.frontier,
        duration_ms=duration_ms,
        jobs=bench.jobs() - jobs_before,
        commits=staged.commits if staged else 0,
    )
    return MemberResult(updated, outcome, history_row(outcome, request, updated.epoch))


@contextmanager
def fitting(table: StreamTable) -> Iterator[None]:
    """A query that Spark does not take any more: its sources are not what they were."""
    try:
        yield
    except SqlError as err:
        raise SchemaChangedError(
            f"the query of '{table.name}' no longer fits its sources: {err}",
            hint="Change the sources back, or the query (alter_stream_table(..., query=...))",
            facts={"stream_table": str(table.name)},
        ) from err


@contextmanager
def diverging(table: StreamTable) -> Iterator[None]:
    """What cannot be applied to contents that are not the answer any more is no bug: somebody had changes skipped."""
    try:
        yield
    except InternalError as err:
        if table.diverged is None:
            raise
        raise NotDifferentialError(table.name, f"{table.diverged}, and what changed now does not fit that") from err


@dataclass(frozen=True, slots=True)
class _Done:
    """What staging one stream table came to."""

    action: Action
    mode: str
    """That ran."""
    reason: str | None
    staged: Staged | None
    """None: there was nothing to do."""
    rebuild: Rebuild | None = None


def _stage(bench: Workbench, found: Look, request: Request) -> _Done:
    """Compute and write."""
    table, rebuild, windows = found.table, found.rebuild, found.windows
    if rebuild is None:
        if not windows:
            return _Done(Action.NO_DATA, "NO_DATA", NOTHING_CHANGED, None)
        rebuild = _rather(bench, table, windows, request)
    summary = summary_of(table, found.frontier)
    if rebuild is not None:
        allow_rebuild(table, rebuild, request)
        former = request.former if request.former is not None and request.former.name == table.name else None
        rebuilt = bench.rebuild(table, summary, request.now, former, plain=rebuild.plain)
        kept = f"; of its internal state {', '.join(rebuilt.reused)} was kept" if rebuilt.reused else ""
        return _Done(rebuild.action, "FULL", rebuild.reason + kept, rebuilt, rebuild)
    with diverging(table):
        staged = bench.apply(table, windows, summary)
    mode = "IMMEDIATE" if request.initiated_by == "TRANSACTION" else "DIFFERENTIAL"
    caught_up = _caught_up(table, windows, request)
    if not staged.changed:
        reason = "the changes of the sources change no row of the result"
        return _Done(Action.NO_DATA, mode, f"{caught_up}; {reason}" if caught_up else reason, staged)
    return _Done(Action.DIFFERENTIAL, mode, caught_up, staged)


def _caught_up(table: StreamTable, windows: Mapping[TableName, Window], request: Request) -> str | None:
    """Why the scheduler refreshes what follows its sources by itself: somebody wrote where we could not see it."""
    if table.effective_mode is not RefreshMode.IMMEDIATE or request.initiated_by != "SCHEDULER":
        return None
    written = sorted(str(name) for name in windows if name not in request.stream_tables)
    return f"caught up: {written_past(written)}" if written else None


def _rather(
    bench: Workbench, table: StreamTable, windows: Mapping[TableName, Window], request: Request
) -> Rebuild | None:
    """A rebuild although the changes are known: because it was asked for, is faster, or state is missing."""
    found = full_by_mode(table) or _too_much(bench, table, windows, request.max_change_ratio)
    if found is None and request.mode is not RefreshMode.DIFFERENTIAL and worth_asking(table):
        found = cheaper_recomputed(table, _source_rows(bench, table))
    if found is None and table.state_left_behind:
        found = Rebuild(Action.REINITIALIZE, "its internal state was left behind when AUTO recomputed the query")
    return found


def _measures(table: StreamTable) -> bool:
    """Whether AUTO may choose: then it has to know what refreshes take."""
    return table.options.refresh_mode is RefreshMode.AUTO and table.effective_mode is RefreshMode.DIFFERENTIAL


def _source_rows(bench: Workbench, table: StreamTable) -> int:
    return sum(bench.total_rows(source.table) or 0 for source in table.sources if source.kind != "VIEW")


def allow_rebuild(table: StreamTable, rebuild: Rebuild, request: Request) -> None:
    """A strict stream table errors instead of falling back; its first load and an explicit FULL are no fallback."""
    asked_for = request.mode is RefreshMode.FULL or not table.populated or table.fuse.reinitialize
    if asked_for:
        return
    if table.effective_mode is RefreshMode.FULL and request.mode is None:
        return
    if table.options.strict or request.mode is RefreshMode.DIFFERENTIAL:
        raise NotDifferentialError(table.name, rebuild.reason)


def _too_much(
    bench: Workbench, table: StreamTable, windows: Mapping[TableName, Window], limit: float
) -> Rebuild | None:
    for name, window in windows.items():
        if window.rows < SMALL_CHANGE_ROWS:
            continue
        rebuild = full_by_size(table, window.rows, bench.total_rows(name), limit)
        if rebuild is not None:
            return Rebuild(rebuild.action, f"of '{name}' {rebuild.reason}")
    return None


def _after(bench: Workbench, found: Look, done: _Done, now: datetime) -> StreamTable:
    """The catalog's row as it will be published."""
    table = found.table
    changed = done.staged is not None and done.staged.changed
    first = not table.populated
    plain = done.rebuild.plain if done.rebuild is not None else table.state_left_behind
    kept = (table.name,) if plain else table.tables
    published = tuple(pin for pin in (bench.pin_of(name) for name in kept) if pin is not None)
    return replace(
        table,
        status=Status.ACTIVE if table.status is Status.INITIALIZING else table.status,
        frontier=found.frontier,
        published=published,
        epoch=table.epoch + (1 if changed or first else 0),
        consecutive_errors=0,
        last_refresh_at=now,
        data_timestamp=now if changed or first else table.data_timestamp,
        functions=tuple(bench.functions(table).items()),
        fuse=table.fuse.passed(found.pending),
        diverged=table.diverged if done.rebuild is None else None,
    )
