"""What somebody did by hand, through the page or its API: asked for when, by whom, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class InterventionStatus(StrEnum):
    RUNNING = "RUNNING"
    """Begun. One that stays so was cut short by the end of its process."""
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """One line; newest first when listed."""

    id: int
    action: str
    subject: str
    """The table that it was done to."""
    by: str
    via: str
    """`page` or `api`."""
    began_at: datetime
    status: InterventionStatus
    detail: str | None = None
    """What came of it, or the error."""
    duration_ms: float | None = None
