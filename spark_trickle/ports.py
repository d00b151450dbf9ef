"""What refreshing needs of the world, as protocols. The adapters are in `spark` and `catalog`; `wire` joins them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.refresh import HistoryRow
from spark_trickle.model.standing import Failure, LeaseRow, Standing, UnderWay
from spark_trickle.model.stream_table import Source, StreamTable
from spark_trickle.names import TableName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Broken:
    """The change between two versions cannot be told: why, in words a user understands."""

    reason: str
    always: bool = False
    """Whether it is so with every change of this source, whatever is done."""


class Window(Protocol):
    """What lies between two versions of a source."""

    @property
    def empty(self) -> bool: ...
    @property
    def insert_only(self) -> bool: ...
    @property
    def rows(self) -> int:
        """Changed rows at the most, known without reading any."""
        ...

    @property
    def deleted_rows(self) -> int:
        """Those of them that were deleted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What is known of a query before it runs."""

    columns: tuple[tuple[str, str], ...]
    """Name and Spark type of each output column."""
    sources: tuple[Source, ...]
    state: tuple[str, ...]
    """Labels of the internal state that is kept for it."""
    differential: bool
    reason: str | None
    """Why it cannot be differential."""
    suggestion: str | None
    nondeterministic: str | None
    """The first function that is not deterministic, with its place."""
    reads_clock: bool = False
    """Whether its answer changes as time goes by."""
    reading: str = ""
    """A fingerprint of how it reads its sources; nothing where it is not kept incrementally."""
    tree: str
    delta_sql: str
    notices: tuple[str, ...]
    normalized: str
    obstacles: Mapping[TableName, str] = field(default_factory=dict)
    """Sources in which the query is not monotone (more rows there may take rows away), and what is in the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """What staging one stream table did."""

    rows_inserted: int
    rows_deleted: int
    changed: bool
    """Whether any row of the public table differs from before."""
    commits: int
    reused: tuple[str, ...] = ()
    """Internal state that was brought up to date rather than made anew."""


class Workbench(Protocol):
    """One private version of the lake, and the means to compute in it. For one thread."""

    def pin_of(self, table: TableName) -> Pin | None:
        """The version of a table or view here; None: it does not exist."""
        ...

    def analyze(self, query: str, meaning: Meaning, stream_tables: Iterable[TableName]) -> Analysis:
        """What is known of a query. Nothing but a query is handed on: a statement is an error, and is not run."""
        ...

    def expect(self, unit: Iterable[StreamTable]) -> None:
        """Say what is going to be refreshed here, so that what several members read is read once."""
        ...

    def window(self, table: StreamTable, since: Pin) -> Window | Broken: ...

    def changed_rows(self, window: Window) -> tuple[int, int]:
        """Changed rows, and those of them that were deleted, counted by reading them."""
        ...

    def reading(self, table: StreamTable) -> str:
        """The fingerprint of how the query reads its sources as they are here."""
        ...

    def state_of(self, table: StreamTable) -> tuple[TableName, ...] | None:
        """The internal tables that keep the query as it is planned here; None: it cannot be kept incrementally."""
        ...

    def new_columns(self, table: StreamTable, since: Pin) -> tuple[str, ...]:
        """Columns that a source did not have at that version and that the query reads now, as `*` and NATURAL do."""
        ...

    def total_rows(self, table: TableName) -> int | None: ...

    def functions(self, table: StreamTable) -> dict[str, str]:
        """Users' functions that its query names, with what tells their bodies; empty where nothing can."""
        ...

    def gone(self, table: TableName, newest: Pointer) -> str | None:
        """Why the version of a table that is pinned here can no longer be read; None: it can.

        Args:
            newest: where the table is now; its owner may have expired what is pinned here.
        """
        ...

    def largest(self, table: TableName, column: str, since: str | None) -> datetime | Broken | None:
        """The largest value of a column of moments, from what files' metadata say: of the files that are new since a
        version (None: of all). None: there are no values. Broken: it is not known, and why.
        """
        ...

    def foreign_write(self, table: TableName, since: Pin) -> str | None:
        """What somebody else did to a table of ours since that version ("was written to directly: …"); None: nothing
        that changes rows or columns.
        """
        ...

    def rebuild(
        self,
        table: StreamTable,
        summary: Mapping[str, str],
        moment: datetime,
        former: StreamTable | None = None,
        *,
        plain: bool = False,
    ) -> Staged:
        """Compute everything; state that the former definition kept too is brought up to date instead.

        Args:
            moment: what the clock shows to a query that reads it.
            plain: only the public table; internal state is left behind.
        """
        ...

    def apply(self, table: StreamTable, windows: Mapping[TableName, Window], summary: Mapping[str, str]) -> Staged: ...

    def create_empty(self, table: StreamTable) -> bool:
        """Let it hold no rows, with the columns of its query; whether it was not there, or had others."""
        ...

    def obstacles(self, table: StreamTable) -> Mapping[TableName, str]:
        """Sources in which its query is not monotone, and what is in the way."""
        ...

    def take_away(
        self,
        members: Sequence[StreamTable],
        windows: Mapping[TableName, Mapping[TableName, Window]],
        summaries: Mapping[TableName, Mapping[str, str]],
    ) -> Mapping[TableName, int] | Broken:
        """Stage the members of a circle without rows that may have lost a derivation; how many went of each.

        The next `apply` of a member gives back to itself what was taken: its change is told from what it held. Others
        see it without. Broken: which rows they are cannot be told.

        Args:
            windows: for each member what changed in its sources outside of the circle.
        """
        ...

    def jobs(self) -> int:
        """Spark jobs since the workbench was lent."""
        ...

    def drop(self, table: TableName) -> None:
        """Take a table of ours away, here."""
        ...

    def staged(self) -> dict[TableName, tuple[Pointer | None, Pointer | None]]: ...

    def apart(self, work: Callable[[Workbench], T]) -> Callable[[], T]:
        """The work as another thread can do it: at a workbench of its own over the same private version, which sees
        what was staged here and shares what is known. It counts its own jobs.
        """
        ...


class Lake(Protocol):
    """Lends workbenches."""

    def ready(self) -> None:
        """Start what takes long to start, once: whoever is first is not to be billed for it."""
        ...

    def workbench(self, cut: Cut, tables: Iterable[TableName] | None = None) -> AbstractContextManager[Workbench]:
        """A workbench at the cut; `tables` limits what is pinned (None: everything)."""
        ...

    def published(self, swaps: Iterable[Swap]) -> None:
        """Let users see what has been published, where they keep tables in memory."""
        ...


class CatalogPort(Protocol):
    """Our metadata."""

    def cut(self) -> Cut:
        """One moment, with where the tables of other catalogs are that stream tables read."""
        ...

    def cut_of_lake(self) -> Cut:
        """The same without a look at other catalogs: for those who read nothing of them."""
        ...

    def publish(self, publication: Publication) -> None: ...

    def record(self, rows: Iterable[HistoryRow]) -> None:
        """Write history in a transaction of its own: for failures, which have nothing to publish."""
        ...


class SchedulerCatalog(CatalogPort, Protocol):
    """What a scheduler needs of our metadata besides."""

    def generation(self) -> int:
        """Advances when a stream table is created, altered or dropped and when a gate moves."""
        ...

    def standings(self) -> dict[TableName, Standing]: ...

    def fail(self, failures: Iterable[Failure], rows: Iterable[HistoryRow], *, fence: int | None = None) -> None: ...

    def lease(self) -> LeaseRow: ...

    def take_lease(self, holder: str, now: datetime, expires_at: datetime) -> LeaseRow | None: ...

    def renew_lease(
        self, token: int, expires_at: datetime, ticked_at: datetime | None = None, running: Iterable[UnderWay] = ()
    ) -> None: ...

    def give_back_lease(self, token: int) -> None: ...
