"""What a refresh is asked for, in which circumstances, and what of it is written down. Values only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from spark_trickle.model.frontier import Pointer
from spark_trickle.model.hold import Hold
from spark_trickle.model.refresh import Action, HistoryRow, Outcome, RefreshOutcome
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import TableName
from spark_trickle.refresh.decide import NOTHING_CHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for, and the circumstances."""

    mode: RefreshMode | None
    initiated_by: str
    now: datetime
    began: datetime | None = None
    """When this refresh did, if not at that moment: in a tick others may have come first."""
    cut: str
    group: str | None
    max_change_ratio: float
    fuse_default_ceiling: int = 0
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
    generation: int
    """Of the cut."""


@dataclass(frozen=True, slots=True)
class MemberResult:
    """What is to be published of one stream table, and what to tell."""

    table: StreamTable
    outcome: RefreshOutcome
    history: HistoryRow


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
        started_at=request.began or request.now,
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
        fixpoint_iteration=outcome.fixpoint_iteration,
        generation=request.generation,
    )
