"""A lake without Spark, for tests of who is refreshed when: tables hold which versions of base tables they saw.

The catalog beside it is the real one. A stream table's contents are, for each base table, all of its versions that
reach it on any path: more than one is the split that groups are there to prevent. A write may leave contents as is.
Contents lie in the location itself, so that several processes share a lake by sharing its catalog.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.errors import StreamTableError
from spark_trickle.model.frontier import Pin, Pointer, commit_number
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.stream_table import Options, RefreshMode, Source, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Analysis, Broken, Staged, T, Window, Workbench
from tests.support.catalog_values import NOON

Contents = Mapping[TableName, frozenset[int]]


@dataclass(frozen=True)
class ToyWindow:
    empty: bool
    insert_only: bool = False
    """A write takes the place of the version before."""
    rows: int = 1
    deleted_rows: int = 0


@dataclass(frozen=True)
class Written:
    """One version of a table: which one it was made from, rows that it changed, those of them that it deleted."""

    before: int | None
    rows: int = 1
    deleted: int = 0


@dataclass
class ToyBench:
    """A workbench over the toy lake."""

    lake: ToyLake
    pinned: dict[TableName, Pointer]
    heads: dict[TableName, Pointer]

    def pin_of(self, table: TableName) -> Pin | None:
        head = self.heads.get(table)
        return None if head is None else Pin(table, f"uuid-{table}", number(head.location), 0, head.location)

    def analyze(self, query: str, meaning: Meaning, stream_tables: Iterable[TableName]) -> Analysis:
        known = set(stream_tables)
        reads = [TableName.parse(name) for name in query.split()]
        return Analysis(
            columns=(),
            sources=tuple(_source(name, known) for name in reads),
            state=(),
            differential=True,
            reason=None,
            suggestion=None,
            nondeterministic=None,
            tree="",
            delta_sql="",
            notices=(),
            normalized=query,
        )

    def expect(self, unit: Iterable[StreamTable]) -> None: ...

    def window(self, table: StreamTable, since: Pin) -> Window | Broken:
        here, then = number(self.heads[since.table].location), number(since.location)
        if since.location in self.lake.lost:
            return Broken(f"snapshot {then} of '{since.table}' has expired")
        rows = deleted = 0
        at: int | None = here
        while at is not None and at > then:
            written = self.lake.written.get((since.table, at), Written(None))
            rows, deleted, at = rows + written.rows, deleted + written.deleted, written.before
        return ToyWindow(here == then, rows=rows, deleted_rows=deleted)

    def changed_rows(self, window: Window) -> tuple[int, int]:
        self.lake.counted += 1
        return (window.rows - window.deleted_rows, 0) if self.lake.rewrites else (window.rows, window.deleted_rows)

    def reading(self, table: StreamTable) -> str:
        return ""

    def state_of(self, table: StreamTable) -> tuple[TableName, ...] | None:
        return table.internal_tables

    def new_columns(self, table: StreamTable, since: Pin) -> tuple[str, ...]:
        return ()

    def total_rows(self, table: TableName) -> int | None:
        return None

    def functions(self, table: StreamTable) -> dict[str, str]:
        return {}

    def foreign_write(self, table: TableName, since: Pin) -> str | None:
        return None

    def gone(self, table: TableName, newest: Pointer) -> str | None:
        expired = number(self.heads[table].location) in self.lake.expired
        return f"its snapshot {number(self.heads[table].location)} has expired" if expired else None

    def largest(self, table: TableName, column: str, since: str | None) -> datetime | Broken | None:
        found = self.lake.values.get(self.heads[table].location)
        if isinstance(found, StreamTableError):
            raise found
        return found

    def rebuild(
        self,
        table: StreamTable,
        summary: Mapping[str, str],
        moment: datetime,
        former: StreamTable | None = None,
        *,
        plain: bool = False,
    ) -> Staged:
        return self._write(table)

    def apply(self, table: StreamTable, windows: Mapping[TableName, Window], summary: Mapping[str, str]) -> Staged:
        return self._write(table)

    def create_empty(self, table: StreamTable) -> bool:
        self.heads[table.name] = new_version(table.name, {})
        return False

    def obstacles(self, table: StreamTable) -> Mapping[TableName, str]:
        return {}

    def take_away(
        self,
        members: Sequence[StreamTable],
        windows: Mapping[TableName, Mapping[TableName, Window]],
        summaries: Mapping[TableName, Mapping[str, str]],
    ) -> Mapping[TableName, int] | Broken:
        return Broken("toys do not know what they are made of")

    def jobs(self) -> int:
        return 0

    def drop(self, table: TableName) -> None:
        raise NotImplementedError

    def staged(self) -> dict[TableName, tuple[Pointer | None, Pointer | None]]:
        return {
            name: (self.pinned.get(name), head)
            for name, head in list(self.heads.items())
            if self.pinned.get(name) != head
        }

    def apart(self, work: Callable[[Workbench], T]) -> Callable[[], T]:
        return lambda: work(self)

    def _write(self, table: StreamTable) -> Staged:
        self.lake.before_write(table.name)
        seen = merged(contents_of(self.heads[source.table].location) for source in table.sources)
        before = self.heads.get(table.name)
        changed = before is None or contents_of(before.location) != seen
        if changed:
            self.heads[table.name] = new_version(table.name, seen)
            previous = None if before is None else number(before.location)
            made = Written(previous, *self.lake.grows.get(table.name, (1, 0)))
            self.lake.written[table.name, number(self.heads[table.name].location)] = made
        return Staged(rows_inserted=int(changed), rows_deleted=0, changed=changed, commits=int(changed))


@dataclass
class ToyLake:
    """The Lake port, with base tables that can be written."""

    catalog: Catalog
    before_write: Callable[[TableName], None] = lambda _name: None
    expired: set[int] = field(default_factory=set)
    """Versions that their owner took away."""
    written: dict[tuple[TableName, int], Written] = field(default_factory=dict)
    grows: dict[TableName, tuple[int, int]] = field(default_factory=dict)
    """The same for each refresh of a stream table."""
    lost: set[str] = field(default_factory=set)
    """Locations since which changes cannot be told."""
    rewrites: bool = False
    """Whether deleted rows were all inserted again."""
    counted: int = 0
    """How often rows were counted by reading them."""
    values: dict[str, datetime | Broken | StreamTableError] = field(default_factory=dict)
    """The largest value of the watermark column, by location, or why nobody can tell."""

    def ready(self) -> None:
        """It is."""

    @contextmanager
    def workbench(self, cut: Cut, tables: Iterable[TableName] | None = None) -> Iterator[ToyBench]:
        yield ToyBench(self, dict(cut.pointers), dict(cut.pointers))

    def published(self, swaps: Iterable[Swap]) -> None:
        """Nobody keeps tables in memory."""

    def write(self, table: TableName, *, no_rows: bool = False, rows: int = 1, deleted: int = 0) -> None:
        """Write a base table; `no_rows`: a new version of the same rows."""
        before = self.catalog.pointers([table]).get(table)
        same = contents_of(before.location) if before is not None and no_rows else None
        new = new_version(table, same)
        previous = None if before is None else number(before.location)
        self.written[table, number(new.location)] = Written(previous, rows, deleted)
        self.catalog.swap([Swap(table, before.location if before else None, new.location)])

    def make_again(self, table: TableName) -> None:
        """Drop a base table and make another of its name."""
        old = self.catalog.pointers([table])[table]
        self.catalog.swap([Swap(table, old.location, None)])
        self.catalog.swap([Swap(table, None, Pointer(table, f"{table}/0-{json.dumps({str(table): [0]})}").location)])

    def create(self, name: TableName, reads: Iterable[TableName], options: Options, known: set[TableName]) -> None:
        """Make a stream table that holds nothing yet."""
        names = tuple(reads)
        query = " ".join(str(source) for source in names)
        table = StreamTable(
            name=name,
            query=query,
            normalized_query=query,
            options=options,
            status=Status.INITIALIZING,
            effective_mode=RefreshMode.DIFFERENTIAL,
            sources=tuple(_source(source, known) for source in names),
            created_at=NOON,
        )
        new = new_version(name, {})
        self.catalog.publish(Publication(created=(table,), swaps=(Swap(name, None, new.location),)))

    def holds(self, table: TableName) -> Contents:
        """What everybody sees in a table."""
        return contents_of(self.catalog.pointers([table])[table].location)


def _source(name: TableName, known: set[TableName]) -> Source:
    return Source(table=name, kind="STREAM_TABLE" if name in known else "TABLE")


def merged(contents: Iterable[Contents]) -> Contents:
    found: dict[TableName, frozenset[int]] = {}
    for each in contents:
        for base, versions in each.items():
            found[base] = found.get(base, frozenset()) | versions
    return found


def new_version(table: TableName, contents: Contents | None = None) -> Pointer:
    """Another version of a table; without contents, of a base table that was written."""
    # Later versions have larger numbers, in all processes.
    version = time.time_ns()
    held = {table: frozenset({version})} if contents is None else contents
    text = json.dumps({str(base): sorted(versions) for base, versions in sorted(held.items())})
    return Pointer(table, f"{table}/{version}-{text}")


def contents_of(location: str) -> Contents:
    held = json.loads(location.split("-", 1)[1])
    return {TableName.parse(base): frozenset(versions) for base, versions in held.items()}


def number(location: str) -> int:
    return commit_number(location)
