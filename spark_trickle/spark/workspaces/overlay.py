"""Tables of other catalogs in a workspace: at the versions that were pinned, under the names that users write.

In a session of a workspace every other catalog is an empty one that knows no server (Iceberg's in-memory catalog behind
Iceberg's cache); a table that is met is put into its cache at its pinned version. So nothing can be read there that was
not pinned, whatever a query says, and nothing can be written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from spark_trickle.elsewhere.formats import is_borrowed
from spark_trickle.elsewhere.heads import missing
from spark_trickle.elsewhere.pins import Elsewhere
from spark_trickle.elsewhere.settings import ICEBERG, PREFIX
from spark_trickle.elsewhere.unversioned import is_unversioned, what_it_is, why_full
from spark_trickle.errors import NotFoundError, SourceAwayError
from spark_trickle.model.borrowed import Step
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.names import TableName
from spark_trickle.spark.session.sessions import active
from spark_trickle.spark.session.turns import Turns
from spark_trickle.spark.workspaces.copies import Copies
from spark_trickle.spark.workspaces.scout import Scout
from spark_trickle.storage.borrowed import Borrowing
from spark_trickle.storage.iceberg import PINNED, Java, JavaTable
from spark_trickle.storage.pinned import at_location, at_snapshot, forget_all, install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.model.meaning import Meaning

_EMPTY = {
    "": ICEBERG,
    ".catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
    ".cache-enabled": "true",
    ".cache.case-sensitive": "true",
    ".cache.expiration-interval-ms": "-1",
}


class PinnedElsewhere:
    """Which versions of other catalogs' tables a workspace is at. Its sessions share it; any thread may ask."""

    def __init__(self, elsewhere: Elsewhere, scout: Scout, borrowing: Borrowing, copies: Copies) -> None:
        self._elsewhere = elsewhere
        self._scout = scout
        self._borrowing = borrowing
        self._copies = copies
        self._since: dict[TableName, dict[str, None]] = {}
        """Older versions that are read, too, of tables that are not Iceberg's."""
        self._known: dict[TableName, Pointer] = {}
        self._tables: dict[TableName, tuple[str, JavaTable | Py4JJavaError]] = {}
        self._lock = threading.RLock()
        self._turns = Turns()
        self.round = 0
        """Advances when everything is pinned anew."""

    def pin(self, pointers: Iterable[Pointer]) -> None:
        with self._lock:
            self._known = {pointer.table: pointer for pointer in pointers}
            # Credentials that came with a table are good for a while only: each is loaded anew.
            self._tables.clear()
            self._since.clear()
            self._copies.forget()
            self.round += 1

    def repin(self, pointer: Pointer) -> None:
        with self._lock:
            self._known[pointer.table] = pointer

    def heads(self) -> dict[TableName, Pointer]:
        return dict(self._known)

    def adopt(self, table: TableName) -> bool:
        """Pin a table that nobody has named yet at where it is now; False: its catalog says that it does not exist."""
        with self._lock:
            if table not in self._known:
                found, away = self._elsewhere.pointers([table])
                if away.get(table) == missing(table):
                    return False
                if table in away:
                    raise SourceAwayError(away[table].reason, hint=f"To do: {away[table].next_step}")
                self._known[table] = found[table]
            return True

    def table(self, spark: SparkSession, name: TableName, since: Pin | None = None) -> JavaTable:
        """A table at its pinned version, with an older one that can be read there."""
        with self._lock:
            pointer = self._known.get(name)
            if pointer is None:
                raise NotFoundError("table", name)
            made = self._tables.get(name)
            more = since is not None and is_borrowed(pointer.location) and self._add(name, since)
            if made is None or made[0] != pointer.location or more:
                made = self._tables[name] = (pointer.location, self._made(spark, pointer))
        if isinstance(made[1], Py4JJavaError):
            raise made[1]
        return made[1]

    def rewind(self, spark: SparkSession, name: TableName, snapshot: int) -> None:
        """Let the current snapshot of a pinned table be an older one."""
        table = at_snapshot(spark, self.table(spark, name), snapshot)
        with self._lock:
            self._tables[name] = (self._known[name].location, table)
            self.round += 1

    def _add(self, name: TableName, since: Pin) -> bool:
        """Whether a version has to be among those that can be read, and was not."""
        known = self._since.setdefault(name, {})
        if since.location in known or not is_borrowed(since.location):
            return False
        known[since.location] = None
        return True

    def notices(self, tables: Iterable[TableName]) -> list[str]:
        """What a reader should know of those that are not Iceberg's."""
        formats, known = self._elsewhere.formats, self.heads()
        found: list[str] = []
        for each in [known[name] for name in tables if name in known]:
            if is_borrowed(each.location):
                found += formats.notices(each.table, each.location)
            elif is_unversioned(each.location):
                found += self._copies.notices(each)
        return found

    def kept_whole(self, tables: Iterable[TableName]) -> str | None:
        """Why what reads these tables is computed whole; None: nothing in them is the reason."""
        known = self.heads()
        found = [known[name] for name in tables if name in known and is_unversioned(known[name].location)]
        return "; ".join(why_full(each.table, each.location) for each in found) or None

    def gone(self, name: TableName, newest: str) -> str | None:
        """Why the pinned version of a table that is not Iceberg's can no longer be read; None: it can."""
        here = self._known[name].location
        if is_unversioned(here):
            return None if here == newest else f"{what_it_is(name, here)}, and it has changed"
        _, gone = self._elsewhere.formats.window(name, [here], newest)
        return next(iter(gone.values()), None)

    def copy(self, name: TableName, meaning: Meaning | None) -> JavaTable | None:
        """The rows of a table without versions, read once for all that ask for it until everything is pinned anew.
        None: it has versions. ConflictError: it is not what was pinned any more.
        """
        pointer = self._known.get(name)
        if pointer is None or not is_unversioned(pointer.location):
            return None
        with self._turns.of(name):
            return self._copies.of(pointer, meaning, lambda: self._elsewhere.pointer(name).location)

    def rest(self) -> None:
        """Nobody reads here until everything is pinned anew."""
        self._copies.forget()

    def _made(self, spark: SparkSession, pointer: Pointer) -> JavaTable | Py4JJavaError:
        if is_borrowed(pointer.location):
            name, since = pointer.table, list(self._since.get(pointer.table, ()))
            formats = self._elsewhere.formats
            if since:
                steps, gone = formats.window(name, since, pointer.location)
            else:
                steps, gone = [Step(formats.read_at(name, pointer.location))], {}
            return self._borrowing.table(spark, str(name), pointer.location, steps, gone)
        if is_unversioned(pointer.location):
            return self._copies.columns(spark, pointer)
        live = self._scout.load(pointer.table)
        try:
            return at_location(spark, live, pointer.location)
        except Py4JJavaError as err:
            return err  # its metadata file may be gone: whoever asks for the table is told


class Overlay:
    """The other catalogs of one session of a workspace."""

    def __init__(self, session: SparkSession, pinned: PinnedElsewhere) -> None:
        self._session = session
        self._pinned = pinned
        self._plugins: dict[str, Java] = {}
        self._installed: dict[TableName, JavaTable] = {}
        """Kept here: the cache lets go of what nobody else has."""
        self._brought: dict[TableName, Meaning | None] = {}
        """Tables without versions whose rows are here."""
        self._round = 0
        self._empty: set[str] = set()
        PINNED[session] = self.load

    def load(self, name: TableName, since: Pin | None = None) -> JavaTable:
        """A table at its pinned version."""
        table = self._pinned.table(self._session, name, since)
        if name in self._installed and name not in self._brought and self._installed[name] is not table:
            self.meet(name)
        return table

    @property
    def met(self) -> list[TableName]:
        return list(self._installed)

    def bring(self, tables: Iterable[TableName], meaning: Meaning | None) -> bool:
        """Let the names of tables without versions mean their rows: until then they have columns only. Whether there
        was anything to bring.
        """
        brought = False
        for name in tables:
            if not name.is_elsewhere or not self.meet(name) or self._brought.get(name, False) == meaning:
                continue
            copy = self._pinned.copy(name, meaning)
            if copy is not None:
                install(self._session, self._plugin(name.catalog), name, copy)
                self._installed[name], self._brought[name] = copy, meaning
                brought = True
        return brought

    def cover(self, catalogs: Iterable[str]) -> None:
        """Let these catalogs be empty ones, before Spark has made them."""
        for name in set(catalogs) - self._empty:
            prefix = f"{PREFIX}{name}"
            for key in [key for key in self._session.conf.getAll if key.startswith(f"{prefix}.")]:
                self._session.conf.unset(key)
            for key, value in _EMPTY.items():
                self._session.conf.set(f"{prefix}{key}", value)
            self._empty.add(name)

    def meet(self, name: TableName) -> bool:
        """Let a name mean its pinned version in the session; False: there is no such table."""
        if not self._pinned.adopt(name):
            return False
        self.cover([name.catalog])
        if self._round != self._pinned.round:
            for plugin in self._plugins.values():
                forget_all(plugin)
            self._installed.clear()
            self._brought.clear()
            self._round = self._pinned.round
        if name in self._brought:
            return True
        table = self._pinned.table(self._session, name)
        if self._installed.get(name) is not table:
            install(self._session, self._plugin(name.catalog), name, table)
            self._installed[name] = table
        return True

    def enter(self, catalog: str, levels: list[str]) -> None:
        """Let names be looked up in a namespace of another catalog: it has to be there."""
        if catalog not in self._empty:
            return
        plugin, gateway = self._plugin(catalog), self._session.sparkContext._gateway
        any_gateway: Any = gateway
        jvm: Any = self._session._jvm
        array = any_gateway.new_array(jvm.java.lang.String, len(levels))
        for place, level in enumerate(levels):
            array[place] = level
        if not plugin.namespaceExists(array):
            plugin.createNamespace(array, jvm.java.util.HashMap())

    def _plugin(self, catalog: str) -> Java:
        if catalog not in self._plugins:
            java: Any = self._session._jsparkSession
            with active(self._session):
                self._plugins[catalog] = java.sessionState().catalogManager().catalog(catalog)
        return self._plugins[catalog]
