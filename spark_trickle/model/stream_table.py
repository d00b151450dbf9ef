"""What a stream table is: its definition, its options, its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from spark_trickle.html import Shown
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.fuse import Diverged, FuseState
from spark_trickle.model.meaning import Meaning
from spark_trickle.names import TableName


class RefreshMode(StrEnum):
    """How the user wants it kept."""

    AUTO = "AUTO"
    DIFFERENTIAL = "DIFFERENTIAL"
    FULL = "FULL"
    IMMEDIATE = "IMMEDIATE"


class Status(StrEnum):
    INITIALIZING = "INITIALIZING"
    """Created, holds nothing yet."""
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    ERROR = "ERROR"


class DiamondConsistency(StrEnum):
    ATOMIC = "atomic"
    NONE = "none"


class DiamondSchedulePolicy(StrEnum):
    FASTEST = "fastest"
    SLOWEST = "slowest"


class BootstrapGating(StrEnum):
    RESPECT = "respect"
    IGNORE = "ignore"


class Fuse(StrEnum):
    OFF = "off"
    ON = "on"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user can set, apart from the query; names and defaults of `create_stream_table`."""

    schedule: str = "calculated"
    refresh_mode: RefreshMode = RefreshMode.AUTO
    diamond_consistency: DiamondConsistency = DiamondConsistency.ATOMIC
    diamond_schedule_policy: DiamondSchedulePolicy = DiamondSchedulePolicy.FASTEST
    bootstrap_gating: BootstrapGating = BootstrapGating.RESPECT
    strict: bool = False
    fuse: Fuse = Fuse.OFF
    fuse_ceiling: int | None = None
    """Changed rows; None: the setting `fuse_default_ceiling`."""
    fuse_sensitivity: float | None = None
    """Of `auto`: how many deviations above the mean are still usual; None: 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What refreshes took, in milliseconds, as far as AUTO chooses by it."""

    recent_ms: tuple[float, ...] = ()
    """The last differential refreshes that computed something, two at the most."""
    recompute_ms: float | None = None
    """The query computed as a whole, without internal state."""
    rebuild_ms: float | None = None
    """The same with internal state."""
    rows: int = 0
    """Rows of all sources when it was recomputed."""

    @property
    def differential_ms(self) -> float | None:
        return min(self.recent_ms) if self.recent_ms else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table, stream table or view that a stream table reads."""

    table: TableName
    kind: str
    """TABLE, STREAM_TABLE or VIEW. A view is inlined; it is listed so that a redefinition is noticed."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StreamTable(Shown):
    """One stream table, as the catalog knows it."""

    name: TableName
    query: str
    """As the user wrote it."""
    normalized_query: str
    """For comparing: white space, case of keywords and comments do not count."""
    meaning: Meaning = field(default_factory=Meaning)
    """Of the query: where and with which settings it was defined."""
    reads_clock: bool = False
    """Its answer changes although nothing that it reads does: each refresh computes it again."""
    reading: str = ""
    """A fingerprint of how the query reads its sources: another one, and its text says something else."""
    options: Options
    status: Status
    status_reason: str | None = None
    status_since: datetime | None = None
    """When it was suspended or put in error, if it is."""
    effective_mode: RefreshMode
    """DIFFERENTIAL, FULL or IMMEDIATE: what AUTO came to when it was created."""
    mode_reason: str | None = None
    """Why the effective mode is FULL, when it is."""
    sources: tuple[Source, ...] = ()
    internal_tables: tuple[TableName, ...] = ()
    """State tables of this stream table, published with it."""
    explanation: str = ""
    """Operator tree and delta SQL, rendered when the plan was made."""
    frontier: Frontier = field(default_factory=Frontier)
    published: tuple[Pin, ...] = ()
    """The public table first, then the internal ones, as last published."""
    version: int = 0
    """Advances with each change of this row: two writers cannot both win."""
    epoch: int = 0
    """Advances with each publication of contents."""
    consecutive_errors: int = 0
    created_at: datetime
    last_refresh_at: datetime | None = None
    data_timestamp: datetime | None = None
    """When contents last changed."""
    notices: tuple[str, ...] = ()
    functions: tuple[tuple[str, str], ...] = ()
    """Users' functions in the query, with what told their bodies when the contents were computed."""
    costs: Costs = field(default_factory=Costs)
    fuse: FuseState = field(default_factory=FuseState)
    diverged: Diverged | None = None
    """That it does not equal its query, because somebody skipped changes; until it is rebuilt."""
    fixpoint_iterations: int | None = None
    """Rounds that its circle took, the last time that it had something to do; None: it never was in a circle."""
    fixpoint_at: datetime | None = None
    """When that was."""

    def __repr__(self) -> str:
        return f"StreamTable({str(self.name)!r}: {self.status}, {self.effective_mode}, epoch {self.epoch})"

    @property
    def populated(self) -> bool:
        """Whether it has ever held the answer to its query."""
        return self.data_timestamp is not None

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Its tables in the lake: the public one, then the internal ones."""
        return (self.name, *self.internal_tables)

    @property
    def state_left_behind(self) -> bool:
        """Whether the last refresh wrote the public table only: internal state is of an older version."""
        return self.populated and any(self.published_pin(name) is None for name in self.internal_tables)

    def published_pin(self, table: TableName) -> Pin | None:
        return next((pin for pin in self.published if pin.table == table), None)
