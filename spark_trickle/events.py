"""What happened, as values, and who is told. Whoever did it builds an event and calls its observer; nobody else logs.

Turning events into log lines is in `logs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spark_trickle.model.refresh import RefreshOutcome
from spark_trickle.model.tick import TickReport


class Step(StrEnum):
    """How far a refresh is. Tests stop it at each of these, to see that nothing half-done stays."""

    PINNED = "pinned"
    """The cut is read."""
    COMPUTING = "computing"
    """One table: its change is about to be computed."""
    STAGED = "staged"
    """One table: its new version is written where nobody sees it."""
    ALL_STAGED = "all_staged"
    """Everything that will be published is written."""
    PUBLISHING = "publishing"
    """The publishing transaction has done its work and is about to commit."""
    PUBLISHED = "published"
    """It is visible."""


@dataclass(frozen=True, slots=True)
class StepReached:
    """A refresh, or a user's transaction, came this far."""

    step: Step
    table: str | None = None
    """The stream table, for steps of one table."""


@dataclass(frozen=True, slots=True)
class RefreshFinished:
    """A refresh ended well: it published, or found nothing to do."""

    outcome: RefreshOutcome


@dataclass(frozen=True, slots=True)
class RefreshFailed:
    """A refresh ended badly; nothing was published."""

    table: str
    error: str
    trace: str | None = None
    """Where it happened, if it is a bug of ours."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """What runs together starts over, from new pins."""

    tables: tuple[str, ...]
    attempt: int
    because: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something the user should know about a stream table, though nothing failed."""

    table: str
    notice: str


@dataclass(frozen=True, slots=True)
class FuseBlown:
    """More has changed than the fuse of a stream table allows; it waits for somebody to look."""

    table: str
    because: str


@dataclass(frozen=True, slots=True)
class Late:
    """A change is not in though the schedule of a stream table promised it. Told when it begins to be so."""

    table: str
    because: str
    since: datetime
    """When the change was made."""


@dataclass(frozen=True, slots=True)
class TickFinished:
    """The scheduler has done one pass."""

    report: TickReport


Event = StepReached | RefreshFinished | RefreshFailed | Retrying | Noticed | FuseBlown | Late | TickFinished

Observer = Callable[[Event], None]
"""Is told of each event, in the thread where it happened; several may at once. What it raises stops the refresh."""
