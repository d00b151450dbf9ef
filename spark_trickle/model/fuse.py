"""Fuses: what is known of how much changes, and what happened where it was too much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName

WINDOW = 20
"""So many of the last changes are remembered."""
MOST_ROWS = 2**63 - 1
"""No ceiling is higher."""


class FuseAction(StrEnum):
    APPLY = "apply"
    """Take in the change on which it has blown, and nothing more than that."""
    REINITIALIZE = "reinitialize"
    """Compute everything again."""
    SKIP_CHANGES = "skip_changes"
    """Leave out the change on which it has blown: the contents no longer equal the query."""


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """How much changed in the sources of a stream table."""

    rows: int
    """Inserted and deleted ones."""
    deleted: int

    def __add__(self, other: ChangedRows) -> ChangedRows:
        return ChangedRows(self.rows + other.rows, self.deleted + other.deleted)

    def less(self, other: ChangedRows) -> ChangedRows:
        return ChangedRows(max(0, self.rows - other.rows), max(0, self.deleted - other.deleted))


@dataclass(frozen=True, slots=True)
class PendingChange:
    """What is pending in one source: up to which version, and how much, as far as it is known."""

    pin: Pin
    change: ChangedRows

    @property
    def source(self) -> TableName:
        return self.pin.table


@dataclass(frozen=True, slots=True, kw_only=True)
class Blown:
    """A change that was too much."""

    at: datetime
    reason: str
    """In numbers."""
    pending: tuple[PendingChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FuseState:
    """What a fuse remembers."""

    blown: Blown | None = None
    accepted: tuple[PendingChange, ...] = ()
    """The change on which it had blown, and which somebody let through: what lies beyond it is judged on its own."""
    reinitialize: bool = False
    """Somebody wants everything computed again instead."""
    skipping: tuple[TableName, ...] = ()
    """Stream tables whose pending change somebody wants left out."""
    changes: tuple[ChangedRows, ...] = ()
    """The last changes that were taken in, oldest first."""

    def passed(self, change: ChangedRows | None) -> FuseState:
        """As it is after a refresh that took in a change; None: it is not known how much."""
        known = self.changes if change is None or not change.rows else (*self.changes, change)
        return FuseState(changes=known[-WINDOW:])

    def cleared(self) -> FuseState:
        """Not blown, and nothing asked for."""
        return replace(self, blown=None, accepted=(), reinitialize=False, skipping=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverged:
    """A stream table that does not equal its query, because somebody decided so."""

    since: datetime
    by: str
    what: str

    def __str__(self) -> str:
        return f"it has not equalled its query since {self.since:%Y-%m-%d %H:%M:%S} UTC: {self.by} {self.what}"
