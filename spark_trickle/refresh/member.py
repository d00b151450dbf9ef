"""One stream table refreshed once, inside a workbench: decide, compute, stage. Nothing is visible afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from spark_trickle.errors import HeldError, NotDifferentialError, SchemaChangedError, SqlError
from spark_trickle.events import Observer, Step, StepReached
from spark_trickle.model.frontier import Frontier, Pin, Pointer
from spark_trickle.model.hold import Hold
from spark_trickle.model.refresh import Action, HistoryRow, Outcome, RefreshOutcome
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Broken, Staged, Window, Workbench
from spark_trickle.refresh.choose import cheaper_recomputed, measured, worth_asking
from spark_trickle.refresh.damage import damaged, gone, other_functions, require_not_renamed
from spark_trickle.refresh.decide import (
    NOTHING_CHANGED,
    SMALL_CHANGE_ROWS,
    Rebuild,
    full_by_mode,
    full_by_size,
    rebuild_before_looking,
    written_past,
)
from spark_trickle.refresh.resolve import redefined


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for, and the circumstances."""

    mode: RefreshMode | None
    initiated_by: str
    now: datetime
    cut: str
    group: str | None
    max_change_ratio: float
    stream_tables: Mapping[TableName, StreamTable]
    """All there are, at the cut."""
    along: frozenset[TableName] = frozenset()
    """Refreshed only so that versions agree: the mode that was asked for does not concern them."""
    former: StreamTable | None = None
    """What a stream table was before its definition was altered."""
    holding: Callable[[StreamTable], tuple[Hold, ...]] = lambda _: ()
    """What holds a stream table that has come to read something else. Nothing holds what users ask for."""
    heads: Mapping[TableName, Pointer] = field(default_factory=dict)
    """Where all tables were, at the cut."""


@dataclass(frozen=True, slots=True)
class MemberResult:
    """What is to be published of one stream table, and what to tell."""

    table: StreamTable
    outcome: RefreshOutcome
    history: HistoryRow


def refresh_member(bench: Workbench, table: StreamTable, request: Request, notify: Observer) -> MemberResult:
    """Bring one stream table to the versions that the workbench holds."""
    started, jobs_before = time.perf_counter(), bench.jobs()
    notify(StepReached(Step.COMPUTING, str(table.name)))
    try:
        redefinition = _redefinition(bench, table)
        if _waited(table, request) or redefinition is not None:
            table = _follow(bench, table, request)
            _require_free(table, request)
        frontier = _frontier_here(bench, table, request)
        done = _stage(bench, table, frontier, request, redefinition)
    except SqlError as err:
        raise SchemaChangedError(
            f"the query of '{table.name}' no longer fits its sources: {err}",
            hint="Change the sources back, or the query (alter_stream_table(..., query=...))",
            facts={"stream_table": str(table.name)},
        ) from err
    staged = done.staged
    duration_ms = (time.perf_counter() - started) * 1000
    updated = _after(bench, table, frontier, done, request.now)
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
        frontier=frontier,
        duration_ms=duration_ms,
        jobs=bench.jobs() - jobs_before,
        commits=staged.commits if staged else 0,
    )
    return MemberResult(updated, outcome, history_row(outcome, request, updated.epoch))


def idle_result(table: StreamTable, request: Request, started: float) -> MemberResult:
    """The result of a refresh that found every source where it was."""
    outcome = RefreshOutcome(
        name=str(table.name),
        action=Action.NO_DATA,
        status=Outcome.COMPLETED,
        mode="NO_DATA",
        reason=NOTHING_CHANGED,
        frontier=table.frontier,
        duration_ms=(time.perf_counter() - started) * 1000,
    )
    return MemberResult(
        replace(table, last_refresh_at=request.now), outcome, history_row(outcome, request, table.epoch)
    )


def history_row(outcome: RefreshOutcome, request: Request, epoch: int, error: str | None = None) -> HistoryRow:
    return HistoryRow(
        name=outcome.name,
        action=outcome.action,
        status=outcome.status,
        mode=outcome.mode,
        reason=outcome.reason,
        error=error,
        started_at=request.now,
        duration_ms=outcome.duration_ms,
        rows_inserted=outcome.rows_inserted,
        rows_deleted=outcome.rows_deleted,
        frontier=outcome.frontier,
        cut=request.cut,
        group=request.group,
        epoch=epoch,
        jobs=outcome.jobs,
        commits=outcome.commits,
        initiated_by=request.initiated_by,
    )


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


def _stage(
    bench: Workbench, table: StreamTable, frontier: Frontier, request: Request, redefinition: str | None
) -> _Done:
    """Compute and write."""
    require_not_renamed(bench, table, request.heads)
    rebuild = rebuild_before_looking(table, request.mode)
    if rebuild is None:
        reason = damaged(bench, table) or redefinition or other_functions(bench, table)
        rebuild = _other_sources(table, frontier) if reason is None else Rebuild(Action.REINITIALIZE, reason)
    windows: dict[TableName, Window] = {}
    if rebuild is None:
        found = _windows(bench, table)
        if isinstance(found, Broken):
            rebuild = Rebuild(Action.REINITIALIZE, found.reason)
        else:
            windows = {name: window for name, window in found.items() if not window.empty}
            if not windows:
                return _Done(Action.NO_DATA, "NO_DATA", NOTHING_CHANGED, None)
            rebuild = _rather(bench, table, windows, request)
    summary = _summary(table, frontier)
    if rebuild is not None:
        _allow(table, rebuild, request)
        former = request.former if request.former is not None and request.former.name == table.name else None
        rebuilt = bench.rebuild(table, summary, request.now, former, plain=rebuild.plain)
        kept = f"; of its internal state {', '.join(rebuilt.reused)} was kept" if rebuilt.reused else ""
        return _Done(rebuild.action, "FULL", rebuild.reason + kept, rebuilt, rebuild)
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


def _allow(table: StreamTable, rebuild: Rebuild, request: Request) -> None:
    """A strict stream table errors instead of falling back; its first load and an explicit FULL are no fallback."""
    asked_for = request.mode is RefreshMode.FULL or not table.populated
    if asked_for:
        return
    if table.effective_mode is RefreshMode.FULL and request.mode is None:
        return
    if table.options.strict or request.mode is RefreshMode.DIFFERENTIAL:
        raise NotDifferentialError(table.name, rebuild.reason)


def _frontier_here(bench: Workbench, table: StreamTable, request: Request) -> Frontier:
    """The versions of the sources that this refresh reads."""
    pins: list[Pin] = []
    for source in table.sources:
        pin = bench.pin_of(source.table)
        if pin is None:
            raise gone(table, source.table, request.heads)
        pins.append(pin)
    return Frontier(tuple(pins))


def _redefinition(bench: Workbench, table: StreamTable) -> str | None:
    """Why the text of the query says something else than at the last refresh: a view under it does, or columns of a
    source are others, and the query reads them by `*`, by position, or where one hides another; or it is planned in
    another way.
    """
    reshaped = []
    all_there = True
    for source in table.sources:
        before, now = table.frontier.of(source.table), bench.pin_of(source.table)
        all_there = all_there and now is not None
        if before is None or now is None or (before.uuid, before.schema_id) == (now.uuid, now.schema_id):
            continue
        if source.kind == "VIEW":
            return f"view '{source.table}' was redefined"
        for column in bench.new_columns(table, before):
            return f"column '{column}' of '{source.table}' is new in the query"
        if before.uuid == now.uuid:
            reshaped.append(f"'{source.table}'")
    whose = f"the columns of {', '.join(reshaped)} were changed"
    if reshaped and table.effective_mode is RefreshMode.FULL:
        return whose
    if reshaped and table.reading and bench.reading(table) != table.reading:
        return f"{whose}, and with that what the query reads by '*' or by position"
    return _other_state(bench, table) if all_there else None


def _waited(table: StreamTable, request: Request) -> bool:
    """Whether it was created without contents some time ago: there is no frontier to tell what changed meanwhile."""
    return not table.populated and request.stream_tables.get(table.name) == table


def _follow(bench: Workbench, table: StreamTable, request: Request) -> StreamTable:
    """The same query now reads something else: other sources, other state, perhaps another mode."""
    followed = redefined(table, bench.analyze(table.query, table.meaning, request.stream_tables))
    for stale in set(table.internal_tables) - set(followed.internal_tables):
        bench.drop(stale)
    return replace(followed, published=tuple(pin for pin in table.published if pin.table in followed.tables))


def _require_free(table: StreamTable, request: Request) -> None:
    """Whether it was held was decided by what it used to read; what it has come to read may hold it."""
    holds = request.holding(table)
    if holds:
        raise HeldError(table.name, holds, table.sources)


def _other_state(bench: Workbench, table: StreamTable) -> str | None:
    """Why the state that is there does not serve: the query is planned in another way than by who made it."""
    if not table.populated or table.effective_mode is RefreshMode.FULL:
        return None
    state = bench.state_of(table)
    if state is None:
        return "its query can no longer be kept incrementally"
    return None if state == table.internal_tables else "its query is planned in another way, with other internal state"


def _other_sources(table: StreamTable, frontier: Frontier) -> Rebuild | None:
    """Reasons to start over that lie in the sources: they are not those of the last refresh."""
    for source in table.sources:
        before, now = table.frontier.of(source.table), frontier.of(source.table)
        if before is None or now is None:
            return Rebuild(Action.REINITIALIZE, f"source '{source.table}' is new in the query")
        if before.uuid != now.uuid:
            reason = f"source '{source.table}' was dropped and made again under the same name"
            return Rebuild(Action.REINITIALIZE, reason)
    return None


def _windows(bench: Workbench, table: StreamTable) -> dict[TableName, Window] | Broken:
    windows: dict[TableName, Window] = {}
    for source in table.sources:
        if source.kind == "VIEW":
            continue
        since = table.frontier.of(source.table)
        assert since is not None  # _other_sources has looked
        window = bench.window(table, since)
        if isinstance(window, Broken):
            return window
        windows[source.table] = window
    return windows


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


def _summary(table: StreamTable, frontier: Frontier) -> dict[str, str]:
    """What the staged snapshot says of itself, so that the data tells which versions it is the answer for."""
    return {
        "trickle.stream-table": str(table.name),
        "trickle.frontier": json.dumps({str(pin.table): pin.snapshot_id for pin in frontier.pins}),
    }


def _after(bench: Workbench, table: StreamTable, frontier: Frontier, done: _Done, now: datetime) -> StreamTable:
    """The catalog's row as it will be published."""
    changed = done.staged is not None and done.staged.changed
    first = not table.populated
    plain = done.rebuild.plain if done.rebuild is not None else table.state_left_behind
    kept = (table.name,) if plain else table.tables
    published = tuple(pin for pin in (bench.pin_of(name) for name in kept) if pin is not None)
    return replace(
        table,
        status=Status.ACTIVE if table.status is Status.INITIALIZING else table.status,
        frontier=frontier,
        published=published,
        epoch=table.epoch + (1 if changed or first else 0),
        consecutive_errors=0,
        last_refresh_at=now,
        data_timestamp=now if changed or first else table.data_timestamp,
        functions=tuple(bench.functions(table).items()),
    )
