"""A lake without Spark, for tests of who is refreshed when: tables hold which versions of base tables they saw.

The catalog beside it is the real one. A stream table's contents are, for each base table, all of its versions that
reach it on any path: more than one is the split that groups are there to prevent. A write may leave contents as is.
Contents lie in the location itself, so that several processes share a lake by sharing its catalog.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.model.frontier import Pin, Pointer
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
        return ToyWindow(self.heads[since.table].location == since.location)

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
        return Staged(rows_inserted=int(changed), rows_deleted=0, changed=changed, commits=int(changed))


@dataclass
class ToyLake:
    """The Lake port, with base tables that can be written."""

    catalog: Catalog
    before_write: Callable[[TableName], None] = lambda _name: None

    @contextmanager
    def workbench(self, cut: Cut, tables: Iterable[TableName] | None = None) -> Iterator[ToyBench]:
        yield ToyBench(self, dict(cut.pointers), dict(cut.pointers))

    def write(self, table: TableName, *, no_rows: bool = False) -> None:
        """Write a base table; `no_rows`: a new version of the same rows."""
        before = self.catalog.pointers([table]).get(table)
        same = contents_of(before.location) if before is not None and no_rows else None
        new = new_version(table, same)
        self.catalog.swap([Swap(table, before.location if before else None, new.location)])

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
    version = uuid.uuid4().int >> 96
    held = {table: frozenset({version})} if contents is None else contents
    text = json.dumps({str(base): sorted(versions) for base, versions in sorted(held.items())})
    return Pointer(table, f"{table}/{version}/{text}")


def contents_of(location: str) -> Contents:
    held = json.loads(location.split("/", 2)[2])
    return {TableName.parse(base): frozenset(versions) for base, versions in held.items()}


def number(location: str) -> int:
    return int(location.split("/")[1])
