"""A publication: everything that becomes visible at once, as a value. The catalog carries it out in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_trickle.model.frontier import Pointer
from spark_trickle.model.gate import Gate, GateChange
from spark_trickle.model.groups import DeclaredGroup
from spark_trickle.model.refresh import HistoryRow
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.model.watermark import WatermarkChange, Watermarks
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True)
class Swap:
    """Move one pointer, if it still is where it is expected. None: the table does not exist (before, or after)."""

    table: TableName
    expected: str | None
    new: str | None
    kind: str = "TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """All or nothing."""

    swaps: tuple[Swap, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Namespaces to create."""
    created: tuple[StreamTable, ...] = ()
    updated: tuple[StreamTable, ...] = ()
    """Each carries the version it was read at; another version in the catalog is a conflict."""
    dropped: tuple[StreamTable, ...] = ()
    history: tuple[HistoryRow, ...] = ()
    gates: tuple[GateChange, ...] = ()
    watermarks: tuple[WatermarkChange, ...] = ()
    """Carried out after the swaps: a watermark speaks of the data that is published with it."""
    standings: tuple[Standing, ...] = ()
    """What the scheduler wants to remember."""
    fence: int | None = None
    """The token of the scheduler's lease: nothing happens when somebody else has taken it. None: not the scheduler."""
    groups: tuple[str, ...] = ()
    """Ids of the groups that are published with this, whole: their epochs advance."""


@dataclass(frozen=True, slots=True)
class Away:
    """Why it is not known where a table of another catalog is."""

    reason: str
    """With the names of the catalog and of the table."""
    next_step: str


@dataclass(frozen=True, slots=True)
class Cut:
    """One moment of the lake, read in one transaction: where every table was, what was known of the stream tables.

    Beside it, read after that transaction and one after the other: where the tables of other catalogs are that stream
    tables read.
    """

    id: str
    pointers: dict[TableName, Pointer]
    tables: dict[TableName, StreamTable]
    namespaces: tuple[str, ...]
    gates: Mapping[TableName, Gate] = field(default_factory=dict)
    """The closed ones."""
    groups: tuple[DeclaredGroup, ...] = ()
    """The refresh groups that users declared."""
    generation: int = 0
    """Advances when a stream table is created, altered or dropped and when a gate moves; not with refreshes."""
    watermarks: Watermarks = field(default_factory=Watermarks)
    away: Mapping[TableName, Away] = field(default_factory=dict)
    """Tables of other catalogs that stream tables read, and that were not found."""

    @property
    def elsewhere(self) -> frozenset[TableName]:
        """The tables of other catalogs that stream tables read, or that have to do with watermarks."""
        read = {source.table for table in self.tables.values() for source in table.sources}
        read.update(source for group in self.watermarks.groups for source in group.sources)
        return frozenset(name for name in read.union(self.watermarks.columns) if name.is_elsewhere)
