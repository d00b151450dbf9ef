"""Workspaces: private versions of the lake.

A workspace is a SparkSession whose catalog `lake` is a small private database holding copies of the real catalog's
pointers (which metadata file each table is at). Reading there reads exactly the versions that were pinned, whatever
others write meanwhile. Writing there writes real files but moves only the private pointers: nobody else sees anything,
no kind of statement can escape, and what was written becomes visible when the real pointers are swapped in one
transaction. A crash leaves unreferenced files and nothing else.

Tables of other catalogs are seen there at pinned versions, too (`overlay.py`), and only read.
"""

from __future__ import annotations

import threading
import uuid
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_trickle.model.frontier import Pointer
from spark_trickle.names import LAKE, TableName, named_elsewhere
from spark_trickle.spark.session.sessions import LakeAddress, Sessions, close_lake
from spark_trickle.spark.session.user_functions import share_functions
from spark_trickle.spark.workspaces.private_pointers import PrivatePointers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.elsewhere.pins import Elsewhere
    from spark_trickle.model.meaning import Meaning
    from spark_trickle.spark.workspaces.overlay import Overlay, PinnedElsewhere
    from spark_trickle.spark.workspaces.scout import Scout
    from spark_trickle.storage.borrowed import Borrowing


class Workspace:
    """One private version of the lake, and a session that sees it."""

    def __init__(
        self,
        sessions: Sessions,
        warehouse: str,
        elsewhere: PinnedElsewhere | None,
        pointers: PrivatePointers | None = None,
        session: SparkSession | None = None,
    ) -> None:
        """Args:
        elsewhere: the versions of other catalogs' tables; None: those catalogs are as they are, for who writes there.
        """
        self._sessions = sessions
        self._warehouse = warehouse
        self._pointers = pointers or PrivatePointers()
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
            from spark_trickle.spark.session.meaning import speak

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

    def heads(self) -> Mapping[TableName, Pointer]:
        """Where tables are here, each at the moment that one asks for it."""
        heads = self._pointers.heads()
        return heads if self._elsewhere is None else ChainMap(self._elsewhere.heads(), heads)  # type: ignore[arg-type]

    def views_of_lake(self) -> list[TableName]:
        """Views that are stored, as others see them."""
        return self._pointers.views()

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

    def bring(self, tables: Iterable[TableName]) -> None:
        """Have at hand the rows of those of these tables that have no versions: until then they have columns only."""
        if self._overlay is not None:
            self._overlay.bring(tables, self._meaning)

    def bring_met(self) -> bool:
        """The same for all that was met here; whether there was anything to bring."""
        return self._overlay is not None and self._overlay.bring(self._overlay.met, self._meaning)

    def kept_whole(self, tables: Iterable[TableName]) -> str | None:
        """Why what reads these tables is computed whole; None: nothing in them is the reason."""
        return None if self._elsewhere is None else self._elsewhere.kept_whole(tables)

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
        if self._elsewhere is not None:
            self._elsewhere.rest()

    def close(self) -> None:
        """Let go of the private database, and of what the sessions have open of it."""
        for workspace in (self, *self._siblings):
            close_lake(workspace.session)
        self._siblings.clear()
        self._pointers.close()
        if self._elsewhere is not None:
            self._elsewhere.rest()

    def _cover(self) -> None:
        """Catalogs may have been configured since."""
        if self._overlay is not None:
            self._overlay.cover(self._sessions.catalogs())

    def _take_functions(self) -> None:
        self.functions = share_functions(self._sessions.functions_from, self.session)


def _covered(session: SparkSession, elsewhere: PinnedElsewhere, sessions: Sessions) -> Overlay:
    from spark_trickle.spark.workspaces.overlay import Overlay

    overlay = Overlay(session, elsewhere)
    overlay.cover(sessions.catalogs())
    return overlay


def _plain(session: SparkSession) -> SparkSession:
    from spark_trickle.spark.session.meaning import forget_settings

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
        private = PrivatePointers()
        private.pin((pointer for pointer in pointers if not pointer.table.is_elsewhere), namespaces)
        session = self._sessions.like_main(LakeAddress(private.jdbc_url, (), self._warehouse))
        return Workspace(self._sessions, self._warehouse, None, private, session)

    def for_reading(self, pointers: Iterable[Pointer], namespaces: Iterable[str]) -> Workspace:
        """The same for a consistent read: tables of other catalogs are pinned, too."""
        listed = list(pointers)
        private, elsewhere = PrivatePointers(), self._pinned()
        private.pin((pointer for pointer in listed if not pointer.table.is_elsewhere), namespaces)
        elsewhere.pin(pointer for pointer in listed if pointer.table.is_elsewhere)

        def prepare(session: SparkSession, catalog: str, levels: list[str]) -> None:
            _covered(session, elsewhere, self._sessions).enter(catalog, levels)

        session = self._sessions.like_main(LakeAddress(private.jdbc_url, (), self._warehouse), prepare)
        return Workspace(self._sessions, self._warehouse, elsewhere, private, session)

    def scout(self) -> Scout:
        """Who loads tables of other catalogs."""
        from spark_trickle.spark.workspaces.scout import Scout

        with self._lock:
            self._scout = self._scout or Scout(self._sessions)
            return self._scout

    def _pinned(self) -> PinnedElsewhere:
        from spark_trickle.spark.workspaces.copies import Copies
        from spark_trickle.spark.workspaces.overlay import PinnedElsewhere

        copies = Copies(self._sessions, self._warehouse, self.borrowing())
        return PinnedElsewhere(self._elsewhere, self.scout(), self.borrowing(), copies)

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
