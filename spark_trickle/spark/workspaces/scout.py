"""Iceberg's own clients of other catalogs: they load tables as they are now, each with the FileIO that is its own.

One session of its own has them, so that there is one client for each catalog, nothing is cached, and no user's session
is changed. Credentials that a catalog gives for its files stay in the FileIO that it made.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from spark_trickle.elsewhere.formats import no_source
from spark_trickle.elsewhere.heads import Found, missing, refused, unreachable
from spark_trickle.elsewhere.settings import PREFIX, CatalogSettings, without_secrets
from spark_trickle.elsewhere.unversioned import Place
from spark_trickle.errors import SourceAwayError
from spark_trickle.model.publication import Away
from spark_trickle.names import SESSION, TableName
from spark_trickle.spark.session.sessions import Sessions, active
from spark_trickle.spark.workspaces.places import place_in_catalog, place_in_spark
from spark_trickle.storage.iceberg import Java, JavaTable, identifier
from spark_trickle.storage.pinned import is_gone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 8
PATIENCE_SECONDS = 30.0
"""A client that was refused from its beginning is made anew after that."""
_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")
_EXPIRED = "NotAuthorizedException"
"""Of who asks nothing is known; a right that somebody lacks is told otherwise."""
_NO_RIGHT = (_EXPIRED, "ForbiddenException")


@dataclass
class _Client:
    """Iceberg's client of one catalog."""

    settings: CatalogSettings
    plugin: Java
    since: float
    proven: bool = False
    """It has given a table."""
    vain: bool = False
    """It was made because another one was refused, and so was it."""


class Scout:
    """Loads tables of other catalogs. Any thread may ask."""

    def __init__(self, sessions: Sessions, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._sessions = sessions
        self._stopwatch = stopwatch
        self._session: SparkSession | None = None
        self._clients: dict[str, _Client] = {}
        self._lock = threading.Lock()

    def load(self, table: TableName) -> JavaTable:
        """The table as it is now. SourceAwayError: its catalog does not give it."""
        found = self.look(table)
        if isinstance(found, Away):
            raise SourceAwayError(
                found.reason, hint=f"To do: {found.next_step}", facts={"source": str(table), "catalog": table.catalog}
            )
        return found

    def look(self, table: TableName) -> JavaTable | Away:
        """The same, and why not as a value."""
        while True:
            client: _Client | None = None
            try:
                client = self._client(table.catalog)
                if client is None:
                    return unreachable(table.catalog, "it is not an Iceberg catalog that is configured here")
                named = identifier(self._sessions.main, table.levels, table.name)
                found: JavaTable = client.plugin.icebergCatalog().loadTable(named)
                client.proven = True
                return found
            except Py4JJavaError as err:
                # Its token may have expired, or been taken from it: a client that is made anew asks for another one.
                if client is None or _kind(err) != _EXPIRED or not self._renewed(table.catalog, client):
                    return self._why_not(table, err)
            except (PySparkException, Py4JError) as err:
                return unreachable(table.catalog, self._in_short(table.catalog, str(err)))

    def locate(self, table: TableName) -> Place | Away:
        """Where a table is that is not Iceberg's, as its catalog says in Spark."""
        session, settings = self._sessions.main, self._sessions.catalogs().get(table.catalog)
        made_by = "Spark" if settings is None else settings.implementation
        try:
            with active(session):
                if table.catalog == SESSION:
                    found = place_in_spark(session, table)
                else:
                    found = place_in_catalog(session, table, made_by)
        except Py4JJavaError as err:
            said = f"{_kind(err)}: {err.java_exception.getMessage()}"
            return unreachable(table.catalog, self._in_short(table.catalog, said))
        except PySparkException as err:
            if err.getCondition() in _NO_TABLE:
                return missing(table)
            return unreachable(table.catalog, self._in_short(table.catalog, str(err)))
        if found is None:
            return missing(table)
        if not found.path:
            return no_source(table, f"it is of catalog '{table.catalog}' ({made_by}), whose tables have no files")
        return found

    def _why_not(self, table: TableName, err: Py4JJavaError) -> Away:
        if is_gone(err):
            return missing(table)
        thrown = err.java_exception
        said = self._in_short(table.catalog, f"{_kind(err)}: {thrown.getMessage()}")
        return refused(table.catalog, said) if _kind(err) in _NO_RIGHT else unreachable(table.catalog, said)

    def _in_short(self, catalog: str, said: str) -> str:
        settings = self._sessions.catalogs().get(catalog)
        return without_secrets(said, {} if settings is None else settings.properties).partition("\n")[0][:300]

    def _client(self, name: str) -> _Client | None:
        settings = self._sessions.catalogs().get(name)
        if settings is None or not settings.is_iceberg:
            return None
        with self._lock:
            known = self._clients.get(name)
            if known is None or known.settings != settings:
                known = _Client(settings, self._open(settings), self._stopwatch())
                self._clients[name] = known
            return known

    def _renewed(self, name: str, refused: _Client) -> bool:
        """Whether there is, or will be, another client than one that was refused. One that is new knows no better."""
        with self._lock:
            if self._clients.get(name) is not refused:
                return True
            if (refused.vain or not refused.proven) and self._stopwatch() - refused.since < PATIENCE_SECONDS:
                refused.vain = True
                return False
            # Tables that it has given are still read by its means: it is left alone, not closed.
            del self._clients[name]
            self._session = None
            return True

    def _open(self, settings: CatalogSettings) -> Java:
        """Another session for other settings: Spark makes each catalog of a session once."""
        if self._session is None or settings.name in self._clients:
            self._session = self._sessions.main.newSession()
        session, prefix = self._session, f"{PREFIX}{settings.name}"
        for key in [key for key in session.conf.getAll if key.startswith(f"{prefix}.")]:
            session.conf.unset(key)
        wanted = {f"{prefix}.{key}": value for key, value in settings.properties.items()}
        for key, value in {**wanted, prefix: settings.implementation, f"{prefix}.cache-enabled": "false"}.items():
            session.conf.set(key, value)
        java: Any = session._jsparkSession
        with active(session):
            return java.sessionState().catalogManager().catalog(settings.name)


def _kind(err: Py4JJavaError) -> str:
    return str(err.java_exception.getClass().getSimpleName())


class ScoutHeads:
    """Where tables of a catalog are, of a kind that only Iceberg's client can ask."""

    def __init__(self, scout: Scout) -> None:
        self._scout = scout

    def of(self, tables: Iterable[TableName]) -> Found:
        wanted = list(tables)
        with ThreadPoolExecutor(min(AT_ONCE, len(wanted) or 1)) as pool:
            return dict(zip(wanted, pool.map(self._head, wanted), strict=True))

    def close(self) -> None:
        """Its clients end with Spark."""

    def _head(self, table: TableName) -> str | Away:
        found = self._scout.look(table)
        return found if isinstance(found, Away) else str(found.operations().current().metadataFileLocation())
