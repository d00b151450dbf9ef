"""What a refresh did: outcomes and history rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from spark_trickle.html import Shown
from spark_trickle.model.frontier import Frontier


class Action(StrEnum):
    NO_DATA = "NO_DATA"
    FULL = "FULL"
    DIFFERENTIAL = "DIFFERENTIAL"
    REINITIALIZE = "REINITIALIZE"
    SKIP = "SKIP"


class Outcome(StrEnum):
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RefreshOutcome(Shown):
    """What one refresh of one stream table did."""

    name: str
    action: Action
    status: Outcome
    mode: str
    """The mode that ran: DIFFERENTIAL, FULL, IMMEDIATE, or NO_DATA."""
    reason: str | None = None
    """Why it was not differential, or why nothing was done."""
    rows_inserted: int = 0
    rows_deleted: int = 0
    frontier: Frontier = field(default_factory=Frontier)
    duration_ms: float = 0.0
    jobs: int = 0
    """Spark jobs."""
    commits: int = 0
    """Iceberg metadata commits."""
    fixpoint_iteration: int | None = None
    """Rounds until its circle was at rest; None: it is in none, or there was nothing to do."""

    def __repr__(self) -> str:
        did = "" if self.status is Outcome.COMPLETED else f" {self.status}"
        rows = f"+{self.rows_inserted} -{self.rows_deleted} rows, {self.duration_ms:.0f} ms"
        return f"RefreshOutcome({self.name!r}: {self.action}{did}, {rows})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HistoryRow(Shown):
    """One line of the history, newest first when listed."""

    name: str
    action: Action
    status: Outcome
    mode: str | None
    reason: str | None
    error: str | None
    started_at: datetime
    duration_ms: float
    rows_inserted: int
    rows_deleted: int
    frontier: Frontier
    cut: str | None
    """Identifies the cut: all refreshes of one cut read the same versions of all sources."""
    group: str | None
    epoch: int
    jobs: int
    commits: int
    initiated_by: str
    """MANUAL, INITIAL, SCHEDULER, TRANSACTION."""
    fixpoint_iteration: int | None = None
    """Rounds until its circle was at rest."""
    generation: int | None = None
    """Of its cut: it knew of the gates, groups and definitions up to that number, and of none after. None: it was
    written down before this was."""

    def __repr__(self) -> str:
        return f"HistoryRow({self.name!r}: {self.action} {self.status}, {self.started_at:%Y-%m-%d %H:%M:%S})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """A line of the history in short, for counting and drawing many."""

    id: int
    """Higher than that of every line that was written before."""
    name: str
    action: Action
    status: Outcome
    mode: str | None
    started_at: datetime
    duration_ms: float
    rows_inserted: int
    rows_deleted: int
    initiated_by: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verification(Shown):
    """Contents against the query at the frontier, as multisets."""

    name: str
    ok: bool
    missing_rows: int
    unexpected_rows: int
    frontier: Frontier
    sample: tuple[str, ...] = ()
    """Some of the rows that differ, `+` missing and `-` unexpected, as JSON text."""
    diverged: str | None = None
    """That it is not meant to equal its query: since when, and by whose decision."""
    notices: tuple[str, ...] = ()
    """With what it was compared, where that is not the frontier."""

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        how = "ok" if self.ok else f"{self.missing_rows} rows missing, {self.unexpected_rows} unexpected"
        return f"Verification({self.name!r}: {how})"
