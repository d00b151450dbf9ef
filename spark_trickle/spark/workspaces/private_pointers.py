"""The private database of a workspace: a copy of the catalog's pointers, in which anything may be moved.

It may have a row for each table of a lake, and most questions are about a few of them: those are read one by one.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from spark_trickle.model.frontier import Pointer
from spark_trickle.names import LAKE, TableName
from spark_trickle.spark.workspaces.in_use import IN_USE

_TABLES = """
CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
  iceberg_type VARCHAR(5), PRIMARY KEY (catalog_name, table_namespace, table_name));
CREATE TABLE iceberg_namespace_properties(catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255), property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key));
"""
_ROWS = (
    "SELECT table_namespace, table_name, metadata_location, COALESCE(iceberg_type, 'TABLE') FROM iceberg_tables "
    f"WHERE catalog_name = '{LAKE}'"
)
_ROW = f"{_ROWS} AND table_namespace = ? AND table_name = ?"
_Row = tuple[str, str, str, str]


class PrivatePointers:
    """The private database: which version of each table is current here, and which one was pinned."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"spark-trickle-{os.getpid()}-"))
        self._path = self._folder / "pointers.db"
        with closing(self._connect()) as database:
            # Nothing here must survive a crash, so nothing waits for the disk.
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(_TABLES)
        self._lock = threading.Lock()
        self._reader = self._connect(check_same_thread=False)
        """For one row at a time, which a refresh asks for some two hundred times."""
        self.jdbc_url = f"jdbc:sqlite:{self._path}?busy_timeout=30000&journal_mode=WAL&synchronous=OFF"
        self._pinned: dict[TableName, Pointer] = {}
        self._namespaces: frozenset[str] = frozenset()

    def pin(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> None:
        self._pinned = {pointer.table: pointer for pointer in pointers}
        self._namespaces = frozenset(namespaces)
        IN_USE.hold(self, self._pinned.values())
        with closing(self._connect()) as database, database:
            database.execute("DELETE FROM iceberg_tables")
            database.execute("DELETE FROM iceberg_namespace_properties")
            database.executemany(
                "INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, ?)",
                [(LAKE, p.table.namespace, p.table.name, p.location, p.kind) for p in self._pinned.values()],
            )
            database.executemany(
                "INSERT INTO iceberg_namespace_properties VALUES (?, ?, 'exists', 'true')",
                [(LAKE, namespace) for namespace in self._namespaces],
            )

    def repin(self, pointer: Pointer) -> None:
        self._pinned[pointer.table] = pointer
        with closing(self._connect()) as database, database:
            database.execute(
                "INSERT OR REPLACE INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, ?)",
                (LAKE, pointer.table.namespace, pointer.table.name, pointer.location, pointer.kind),
            )

    def heads(self) -> Mapping[TableName, Pointer]:
        """Where tables are, each at the moment that one asks for it."""
        return _Heads(self)

    def at(self, table: TableName) -> Pointer | None:
        """Where one table is; None: there is none."""
        with self._lock:
            # All rows are fetched: a statement that has not ended would go on seeing what was.
            found = self._reader.execute(_ROW, (table.namespace, table.name)).fetchall()
        return _pointer(found[0]) if found else None

    def names(self) -> list[TableName]:
        return [_pointer(row).table for row in self._rows()]

    def views(self) -> list[TableName]:
        with closing(self._connect()) as database:
            return [_pointer(row).table for row in database.execute(f"{_ROWS} AND iceberg_type = 'VIEW'")]

    def staged(self) -> dict[TableName, tuple[Pointer | None, Pointer | None]]:
        """Tables that differ from what was pinned: (pinned, now)."""
        pinned = {(p.table.namespace, p.table.name, p.location, p.kind) for p in self._pinned.values()}
        rows = self._rows()
        now = {pointer.table: pointer for pointer in map(_pointer, rows - pinned)}
        gone = {TableName(namespace, name) for namespace, name, _, _ in pinned - rows}
        return {name: (self._pinned.get(name), now.get(name)) for name in sorted(gone.union(now))}

    def _rows(self) -> set[_Row]:
        with closing(self._connect()) as database:
            return set(database.execute(_ROWS).fetchall())

    def new_namespaces(self) -> list[str]:
        with closing(self._connect()) as database:
            rows = database.execute("SELECT DISTINCT namespace FROM iceberg_namespace_properties").fetchall()
        return sorted({row[0] for row in rows} - self._namespaces)

    def rest(self) -> None:
        """Nobody reads here until it is pinned again."""
        IN_USE.release(self)

    def close(self) -> None:
        self.rest()
        with self._lock:
            self._reader.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _connect(self, *, check_same_thread: bool = True) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=30, check_same_thread=check_same_thread)
        database.execute("PRAGMA synchronous=OFF")
        return database


class _Heads(Mapping[TableName, Pointer]):
    """Pointers as they are whenever one is asked for."""

    def __init__(self, pointers: PrivatePointers) -> None:
        self._pointers = pointers

    def __getitem__(self, table: TableName) -> Pointer:
        found = self._pointers.at(table)
        if found is None:
            raise KeyError(table)
        return found

    def __iter__(self) -> Iterator[TableName]:
        return iter(self._pointers.names())

    def __len__(self) -> int:
        return len(self._pointers.names())


def _pointer(row: _Row) -> Pointer:
    namespace, name, location, kind = row
    return Pointer(TableName(namespace, name), location, kind)
