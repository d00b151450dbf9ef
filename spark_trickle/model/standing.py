"""What the scheduler remembers of a stream table between ticks, and who may be the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the scheduler wrote down of one stream table."""

    table: TableName
    held: str | None = None
    """The reasons as last recorded in the history: a skip is recorded when they change, not at each tick."""
    held_since: datetime | None = None
    retry_at: datetime | None = None
    """Not before then, after a failure. Counts only while the stream table has consecutive errors."""
    error: str | None = None
    """The last error."""
    slowed: int = 1
    """The factor on its schedule, because its refreshes take longer than that."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to remember."""
        return self.held is None and self.retry_at is None and self.error is None and self.slowed == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A refresh of the scheduler that failed, in one stream table."""

    table: TableName
    error: str
    at: datetime
    permanent: bool
    """It will fail again: the stream table is in ERROR at once."""
    retry_at: datetime | None
    """When to try again; None for permanent ones."""
    outside: bool = False
    """The cause lies with another catalog, and may take its time: nobody is suspended for it."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Stream tables that are being refreshed as one, and since when."""

    tables: tuple[TableName, ...]
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """Who may schedule: the row that all schedulers of a lake share."""

    token: int
    """Advances each time that somebody takes the lease. A publication that carries an older one is refused."""
    holder: str | None
    """None: it was given back."""
    expires_at: datetime | None
    ticked_at: datetime | None = None
    """When the last tick began."""
    running: tuple[UnderWay, ...] = ()
    """What the holder was refreshing when it last said so; what takes less than a second may never be told."""

    def live(self, now: datetime) -> bool:
        return self.holder is not None and self.expires_at is not None and self.expires_at > now
