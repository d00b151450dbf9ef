"""A publication: everything that becomes visible at once, as a value. The catalog carries it out in one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from spark_trickle.model.frontier import Pointer
from spark_trickle.model.refresh import HistoryRow
from spark_trickle.model.stream_table import StreamTable
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


@dataclass(frozen=True, slots=True)
class Cut:
    """One moment of the lake, read in one transaction: where every table was, what was known of the stream tables."""

    id: str
    pointers: dict[TableName, Pointer]
    tables: dict[TableName, StreamTable]
    namespaces: tuple[str, ...]
