"""Workspaces: private versions of the lake.

A workspace is a SparkSession whose catalog `lake` is a small private database holding copies of the real catalog's
pointers (which metadata file each table is at). Reading there reads exactly the versions that were pinned, whatever
others write meanwhile. Writing there writes real files but moves only the private pointers: nobody else sees anything,
no kind of statement can escape, and what was written becomes visible when the real pointers are swapped in one
transaction. A crash leaves unreferenced files and nothing else.

Tables of other catalogs are seen there at pinned versions, too (`overlay.py`), and only read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spark_trickle.model.frontier import Pointer
from spark_trickle.names import LAKE, TableName, named_elsewhere
from spark_trickle.spark.in_use import IN_USE
from spark_trickle.spark.sessions import LakeAddress, Sessions, close_lake
from spark_trickle.spark.user_functions import share_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.elsewhere.pins import Elsewhere
    from spark_trickle.model.meaning import Meaning
    from spark_trickle.spark.overlay import Overlay, PinnedElsewhere
    from spark_trickle.spark.scout import Scout
    from spark_trickle.storage.borrowed import Borrowing

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
        self,
        sessions: Sessions,
        warehouse: str,
        elsewhere: PinnedElsewhere | None,
        pointers: _Pointers | None = None,
        session: SparkSession | None = None,
    ) -> None:
        """Args:
        elsewhere: the versions of other catalogs' tables; None: those catalogs are as they are, for who writes there.
        """
        self._sessions = sessions
        self._warehouse = warehouse
        self._pointers = pointers or _Pointers()
        self._elsewhere = elsewhere
        self._meaning: Meaning | None = None
        self.functions: tuple[str, ...] = ()
        self.session = session or _plain(sessions.beside(LakeAddress(self._pointers.jdbc_url, (), warehouse)))
        self._overlay = None if elsewhere is None else _covered(self.session, elsewhere, sessions)
        self.views: list[str] = []
        self._token = uuid.uuid4().hex[:12]
        self._siblings: list[Workspace] = []

    def speak(self, meaning: Meaning) -> None:
        """Let queries here mean what they mean in a definition, until another one is named. Not where users speak."""
        if meaning != self._meaning:
            from spark_trickle.spark.meaning import speak

            # Whatever fails on the way has been said in part.
            before, self._meaning = self._meaning, None
            if self._overlay is not None and meaning.catalog != LAKE:
                self._overlay.enter(meaning.catalog, meaning.namespace.split("."))
            speak(self.session, meaning, before)
            self._meaning = meaning

    def pin(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> None:
        """Start over from these versions; whatever was staged here is forgotten."""
        self._take_functions()
        self._cover()
        listed = list(pointers)
        self._pointers.pin((pointer for pointer in listed if not pointer.table.is_elsewhere), namespaces)
        if self._elsewhere is not None:
            self._elsewhere.pin(pointer for pointer in listed if pointer.table.is_elsewhere)

    def repin(self, pointer: Pointer) -> None:
        """Put another version of one table in place."""
        if self._elsewhere is not None and pointer.table.is_elsewhere:
            self._elsewhere.repin(pointer)
            self.meet(pointer.table)
        else:
            self._pointers.repin(pointer)

    def rewind(self, table: TableName, snapshot: int) -> None:
        """Put an older snapshot of one table in place."""
        if self._elsewhere is not None and table.is_elsewhere:
            self._elsewhere.rewind(self.session, table, snapshot)
            self.meet(table)
        else:
            from spark_trickle.storage.iceberg import load

            load(self.session, table).manageSnapshots().setCurrentSnapshot(snapshot).commit()

    def heads(self) -> dict[TableName, Pointer]:
        """Where each table is now, here."""
        heads = self._pointers.heads()
        return heads if self._elsewhere is None else {**heads, **self._elsewhere.heads()}

    def meet(self, table: TableName) -> bool:
        """Let the name of a table of another catalog mean its pinned version here; one that was not pinned is now.
        False: there is no such table, or those catalogs are not ours to see to.
        """
        return self._overlay is not None and self._overlay.meet(table)

    @property
    def catalogs(self) -> frozenset[str]:
        """Names of the other catalogs that are configured."""
        return frozenset(self._sessions.catalogs())

    def named(self, parts: Sequence[str], meaning: Meaning) -> TableName | None:
        """The table that a name in a query means; None: it cannot be one."""
        far = named_elsewhere(parts, self._sessions.catalogs())
        if far is not None:
            return far
        levels = parts[1:] if len(parts) > 2 and parts[0].lower() == LAKE else parts
        if meaning.catalog != LAKE and len(levels) == len(parts):
            if meaning.catalog not in self._sessions.catalogs():
                return None
            within = meaning.namespace.split(".") if len(parts) == 1 else levels[:-1]
            return TableName.elsewhere(meaning.catalog, within, levels[-1])
        namespace = ".".join(levels[:-1]) or meaning.default_namespace
        return None if namespace is None else TableName(namespace, levels[-1])

    def notices(self, tables: Iterable[TableName]) -> list[str]:
        """What a reader should know of tables that are not Iceberg's."""
        return [] if self._elsewhere is None else self._elsewhere.notices(tables)

    def gone(self, table: TableName, newest: str) -> str | None:
        """Why the pinned version of a table that is not Iceberg's can no longer be read; None: it can."""
        assert self._elsewhere is not None  # users' transactions read nothing that is pinned
        return self._elsewhere.gone(table, newest)

    def staged(self) -> dict[TableName, tuple[Pointer | None, Pointer | None]]:
        """Tables that differ from what was pinned: (pinned, now)."""
        return self._pointers.staged()

    def new_namespaces(self) -> list[str]:
        return self._pointers.new_namespaces()

    def holds(self, pointer: Pointer) -> bool:
        """Whether the files of a table of the lake are in its warehouse."""
        place = pointer.location.removeprefix("file:").replace("///", "/")
        return place.startswith(self._warehouse.removeprefix("file:").replace("///", "/").rstrip("/") + "/")

    @contextmanager
    def beside(self) -> Iterator[Workspace]:
        """The same private version seen by a session of its own, for another thread. Sessions are kept for the next."""
        try:
            sibling = self._siblings.pop()  # a list is safe to take from in any thread
        except IndexError:
            sibling = Workspace(self._sessions, self._warehouse, self._elsewhere, self._pointers)
        try:
            sibling._take_functions()
            sibling._cover()
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

    def _cover(self) -> None:
        """Catalogs may have been configured since."""
        if self._overlay is not None:
            self._overlay.cover(self._sessions.catalogs())

    def _take_functions(self) -> None:
        self.functions = share_functions(self._sessions.functions_from, self.session)


def _covered(session: SparkSession, elsewhere: PinnedElsewhere, sessions: Sessions) -> Overlay:
    from spark_trickle.spark.overlay import Overlay

    overlay = Overlay(session, elsewhere)
    overlay.cover(sessions.catalogs())
    return overlay


def _plain(session: SparkSession) -> SparkSession:
    from spark_trickle.spark.meaning import forget_settings

    forget_settings(session)
    return session


class Workspaces:
    """Lends workspaces for refreshes. Making one costs some 50 ms, so they are kept and used again."""

    def __init__(self, sessions: Sessions, warehouse: str, elsewhere: Elsewhere) -> None:
        self._sessions = sessions
        self._warehouse = warehouse
        self._elsewhere = elsewhere
        self._idle: list[Workspace] = []
        self._scout: Scout | None = None
        self._borrowing: Borrowing | None = None
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
        return Workspace(self._sessions, self._warehouse, self._pinned())

    def for_writing(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> Workspace:
        """A workspace at these versions that the caller owns and closes: for a user's transaction. What is said there
        means what it means in the user's own session; tables of other catalogs are as they are.
        """
        private = _Pointers()
        private.pin((pointer for pointer in pointers if not pointer.table.is_elsewhere), namespaces)
        session = self._sessions.like_main(LakeAddress(private.jdbc_url, (), self._warehouse))
        return Workspace(self._sessions, self._warehouse, None, private, session)

    def for_reading(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> Workspace:
        """The same for a consistent read: tables of other catalogs are pinned, too."""
        listed = list(pointers)
        private, elsewhere = _Pointers(), self._pinned()
        private.pin((pointer for pointer in listed if not pointer.table.is_elsewhere), namespaces)
        elsewhere.pin(pointer for pointer in listed if pointer.table.is_elsewhere)

        def prepare(session: SparkSession, catalog: str, levels: list[str]) -> None:
            _covered(session, elsewhere, self._sessions).enter(catalog, levels)

        session = self._sessions.like_main(LakeAddress(private.jdbc_url, (), self._warehouse), prepare)
        return Workspace(self._sessions, self._warehouse, elsewhere, private, session)

    def scout(self) -> Scout:
        """Who loads tables of other catalogs."""
        from spark_trickle.spark.scout import Scout

        with self._lock:
            self._scout = self._scout or Scout(self._sessions)
            return self._scout

    def _pinned(self) -> PinnedElsewhere:
        from spark_trickle.spark.overlay import PinnedElsewhere

        return PinnedElsewhere(self._elsewhere, self.scout(), self.borrowing())

    def borrowing(self) -> Borrowing:
        """Who makes tables that are not Iceberg's into such."""
        from spark_trickle.storage.borrowed import Borrowing

        with self._lock:
            self._borrowing = self._borrowing or Borrowing()
            return self._borrowing

    def close(self) -> None:
        with self._lock:
            for workspace in self._idle:
                workspace.close()
            self._idle.clear()
