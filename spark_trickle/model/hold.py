"""A reason why a stream table must not be refreshed now, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spark_trickle.names import TableName


class HoldCode(StrEnum):
    """Why a unit that should be refreshed is not."""

    AWAY = "away"
    """A source of another catalog cannot be found."""
    GATED = "gated"
    WATERMARK = "watermark"
    FUSE = "fuse"
    SUSPENDED = "suspended"
    ERROR = "error"
    BACKING_OFF = "backing_off"
    OVERTAKEN = "overtaken"
    """Somebody else published a member during the tick; the next tick looks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One reason that holds a stream table, and with it its unit, whole."""

    code: HoldCode
    member: TableName
    """Whom it holds."""
    text: str
    """As a skip tells it, of the member as `it`."""
    next_step: str
    """What to do about it."""
    cause: TableName
    """Where it lies: the member itself, or a source above it."""
    via: TableName | None = None
    """What the member reads on the shortest way to the cause; None: it lies in the member itself."""
    until: datetime | None = None
    """When it ends by itself, if it does."""
    gist: str | None = None
    """The text without numbers that move: another gist is another row in the history. None: it has none."""
    account: str | None = None
    """As `why` tells it, with the member's name and whatever else is known; None: as a skip does."""

    @property
    def in_short(self) -> str:
        return self.gist or self.text

    @property
    def in_full(self) -> str:
        return self.account or self.text
