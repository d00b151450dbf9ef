"""Gates of sources: while one is closed, nobody who depends on the source is refreshed by the scheduler.

A gate is a row of its own, apart from tables: a table that does not exist yet can have one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The gate of one source, as it was last closed and opened. Opened ones are kept: they tell what was."""

    source: TableName
    gated: bool
    """Whether it is closed."""
    gated_at: datetime
    ungated_at: datetime | None = None
    gated_by: str
    """Who closed it."""
    auto_ungate_on_watermark: bool = False
    """Whether the source's first watermark opens it."""
    location: str | None = None
    """The version of the source that was there when it was closed; None: none of ours."""

    def duration(self, now: datetime) -> timedelta:
        """How long it has been closed, or was."""
        end = now if self.gated or self.ungated_at is None else self.ungated_at
        return max(timedelta(), end - self.gated_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateChange:
    """Close or open one gate. To close a closed one, or open an open one, changes nothing."""

    source: TableName
    gated: bool
    at: datetime
    by: str
    auto_ungate_on_watermark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEvent:
    """One line of the history of gates: a gate that was closed or opened."""

    source: TableName
    gated: bool
    at: datetime
    by: str
