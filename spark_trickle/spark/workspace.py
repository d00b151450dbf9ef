"""Workspaces: private versions of the lake.

A workspace is a SparkSession whose catalog `lake` is a small private database holding copies of the real catalog's
pointers (which metadata file each table is at). Reading there reads exactly the versions that were pinned, whatever
others write meanwhile. Writing there writes real files but moves only the private pointers: nobody else sees anything,
no kind of statement can escape, and what was written becomes visible when the real pointers are swapped in one
transaction. A crash leaves unreferenced files and nothing else.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spark_trickle.model.frontier import Pointer
from spark_trickle.names import LAKE, TableName
from spark_trickle.spark.in_use import IN_USE
from spark_trickle.spark.sessions import LakeAddress, Sessions, close_lake
from spark_trickle.spark.user_functions import share_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.model.meaning import Meaning

_TABLES = """
CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
  iceberg_type VARCHAR(5), PRIMARY KEY (catalog_name, table_namespace, table_name));
CREATE TABLE iceberg_namespace_properties(catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255), property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key));
"""


class _Pointers:
    """The private database: which version of each table is current here, and which one was pinned."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"spark-trickle-{os.getpid()}-"))
        self._path = self._folder / "pointers.db"
        with closing(self._connect()) as database:
            # Nothing here must survive a crash, so nothing waits for the disk.
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(_TABLES)
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

    def heads(self) -> dict[TableName, Pointer]:
        with closing(self._connect()) as database:
            rows = database.execute(
                "SELECT table_namespace, table_name, metadata_location, iceberg_type FROM iceberg_tables"
            ).fetchall()
        found = (
            Pointer(TableName(namespace, name), location, kind or "TABLE") for namespace, name, location, kind in rows
        )
        return {pointer.table: pointer for pointer in found}

    def staged(self) -> dict[TableName, tuple[Pointer | None, Pointer | None]]:
        heads = self.heads()
        names = sorted(set(heads) | set(self._pinned))
        pairs = {name: (self._pinned.get(name), heads.get(name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def new_namespaces(self) -> list[str]:
        with closing(self._connect()) as database:
            rows = database.execute("SELECT DISTINCT namespace FROM iceberg_namespace_properties").fetchall()
        return sorted({row[0] for row in rows} - self._namespaces)

    def rest(self) -> None:
        """Nobody reads here until it is pinned again."""
        IN_USE.release(self)

    def close(self) -> None:
        self.rest()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=30)
        database.execute("PRAGMA synchronous=OFF")
        return database


class Workspace:
    """One private version of the lake, and a session that sees it."""

    def __init__(
        self, sessions: Sessions, warehouse: str, pointers: _Pointers | None = None, session: SparkSession | None = None
    ) -> None:
        self._sessions = sessions
        self._warehouse = warehouse
        self._pointers = pointers or _Pointers()
        self._meaning: Meaning | None = None
        self.functions: tuple[str, ...] = ()
        self.session = session or _plain(sessions.beside(LakeAddress(self._pointers.jdbc_url, (), warehouse)))
        self.views: list[str] = []
        self._token = uuid.uuid4().hex[:12]
        self._siblings: list[Workspace] = []

    def speak(self, meaning: Meaning) -> None:
        """Let queries here mean what they mean in a definition, until another one is named. Not where users speak."""
        if meaning != self._meaning:
            from spark_trickle.spark.meaning import speak

            # Whatever fails on the way has been said in part.
            before, self._meaning = self._meaning, None
            speak(self.session, meaning, before)
            self._meaning = meaning

    def pin(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> None:
        """Start over from these versions; whatever was staged here is forgotten."""
        self._take_functions()
        self._pointers.pin(pointers, namespaces)

    def repin(self, pointer: Pointer) -> None:
        """Put another version of one table in place."""
        self._pointers.repin(pointer)

    def heads(self) -> dict[TableName, Pointer]:
        """Where each table is now, here."""
        return self._pointers.heads()

    def staged(self) -> dict[TableName, tuple[Pointer | None, Pointer | None]]:
        """Tables that differ from what was pinned: (pinned, now)."""
        return self._pointers.staged()

    def new_namespaces(self) -> list[str]:
        return self._pointers.new_namespaces()

    @contextmanager
    def beside(self) -> Iterator[Workspace]:
        """The same private version seen by a session of its own, for another thread. Sessions are kept for the next."""
        try:
            sibling = self._siblings.pop()  # a list is safe to take from in any thread
        except IndexError:
            sibling = Workspace(self._sessions, self._warehouse, self._pointers)
        try:
            sibling._take_functions()
            yield sibling
        except BaseException:
            close_lake(sibling.session)  # it is not used again: see `Workspaces.lend`
            raise
        sibling.clear_views()
        self._siblings.append(sibling)

    def view(self, name: str) -> str:
        """The name of a temporary view, remembered so that the next user of this workspace does not find it.

        Users' queries run here, too, and a view hides a table: nobody has one that ends like this.
        """
        named = f"{name}_{self._token}"
        self.views.append(named)
        return named

    def clear_views(self) -> None:
        for name in self.views:
            self.session.catalog.dropTempView(name)
        self.views.clear()

    def rest(self) -> None:
        """It is put aside until somebody pins versions in it again."""
        self.clear_views()
        self._pointers.rest()

    def close(self) -> None:
        """Let go of the private database, and of what the sessions have open of it."""
        for workspace in (self, *self._siblings):
            close_lake(workspace.session)
        self._siblings.clear()
        self._pointers.close()

    def _take_functions(self) -> None:
        self.functions = share_functions(self._sessions.functions_from, self.session)


def _plain(session: SparkSession) -> SparkSession:
    from spark_trickle.spark.meaning import forget_settings

    forget_settings(session)
    return session


class Workspaces:
    """Lends workspaces for refreshes. Making one costs some 50 ms, so they are kept and used again."""

    def __init__(self, sessions: Sessions, warehouse: str) -> None:
        self._sessions = sessions
        self._warehouse = warehouse
        self._idle: list[Workspace] = []
        self._lock = threading.Lock()

    @contextmanager
    def lend(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> Iterator[Workspace]:
        """A workspace at these versions, for one thread at a time."""
        with self._lock:
            workspace = self._idle.pop() if self._idle else None
        workspace = workspace or self.make()
        try:
            workspace.pin(pointers, namespaces)
            yield workspace
        except BaseException:
            # What failed may be Spark itself, and tidying up would hide the error behind another: it is not used again.
            workspace.close()
            raise
        workspace.rest()
        with self._lock:
            self._idle.append(workspace)

    def make(self) -> Workspace:
        return Workspace(self._sessions, self._warehouse)

    def for_user(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> Workspace:
        """A workspace at these versions that the caller owns and closes: for a user's transaction or consistent read.
        What is said there means what it means in the user's own session."""
        private = _Pointers()
        private.pin(pointers, namespaces)
        session = self._sessions.like_main(LakeAddress(private.jdbc_url, (), self._warehouse))
        return Workspace(self._sessions, self._warehouse, private, session)

    def close(self) -> None:
        with self._lock:
            for workspace in self._idle:
                workspace.close()
            self._idle.clear()
