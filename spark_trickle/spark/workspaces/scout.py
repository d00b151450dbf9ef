"""Iceberg's own clients of other catalogs: they load tables as they are now, each with the FileIO that is its own.

One session of its own has them, so that there is one client for each catalog, nothing is cached, and no user's session
is changed. Credentials that a catalog gives for its files stay in the FileIO that it made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from spark_trickle.config import mask_url
from spark_trickle.elsewhere.formats import no_source
from spark_trickle.elsewhere.heads import Found, missing, refused, unreachable
from spark_trickle.elsewhere.settings import PREFIX, CatalogSettings
from spark_trickle.elsewhere.unversioned import Place
from spark_trickle.errors import UnavailableError
from spark_trickle.model.publication import Away
from spark_trickle.names import SESSION, TableName
from spark_trickle.spark.session.sessions import Sessions, active
from spark_trickle.spark.workspaces.places import place_in_catalog, place_in_spark
from spark_trickle.storage.iceberg import Java, JavaTable, identifier
from spark_trickle.storage.pinned import is_gone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 8
_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")
_NO_RIGHT = ("NotAuthorizedException", "ForbiddenException")


class Scout:
    """Loads tables of other catalogs. Any thread may ask."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._session: SparkSession | None = None
        self._plugins: dict[str, tuple[CatalogSettings, Java]] = {}
        self._lock = threading.Lock()

    def load(self, table: TableName) -> JavaTable:
        """The table as it is now. UnavailableError: its catalog does not give it."""
        found = self.look(table)
        if isinstance(found, Away):
            raise UnavailableError(found.reason, hint=found.next_step)
        return found

    def look(self, table: TableName) -> JavaTable | Away:
        """The same, and why not as a value."""
        try:
            catalog = self._catalog(table.catalog)
            if catalog is None:
                return unreachable(table.catalog, "it is not an Iceberg catalog that is configured here")
            assert self._session is not None
            return catalog.loadTable(identifier(self._session, table.levels, table.name))
        except Py4JJavaError as err:
            thrown = err.java_exception
            if is_gone(err):
                return missing(table)
            kind = str(thrown.getClass().getSimpleName())
            said = f"{kind}: {str(thrown.getMessage()).partition(chr(10))[0][:300]}"
            return refused(table.catalog, said) if kind in _NO_RIGHT else unreachable(table.catalog, said)
        except (PySparkException, Py4JError) as err:
            return unreachable(table.catalog, str(err).partition("\n")[0][:300])

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
            said = f"{err.java_exception.getClass().getSimpleName()}: {err.java_exception.getMessage()}"
            return unreachable(table.catalog, mask_url(said.partition("\n")[0][:300]))
        except PySparkException as err:
            if err.getCondition() in _NO_TABLE:
                return missing(table)
            return unreachable(table.catalog, mask_url(str(err).partition("\n")[0][:300]))
        if found is None:
            return missing(table)
        if not found.path:
            return no_source(table, f"it is of catalog '{table.catalog}' ({made_by}), whose tables have no files")
        return found

    def _catalog(self, name: str) -> Java | None:
        settings = self._sessions.catalogs().get(name)
        if settings is None or not settings.is_iceberg:
            return None
        with self._lock:
            known = self._plugins.get(name)
            if known is None or known[0] != settings:
                self._plugins[name] = known = (settings, self._open(settings))
            return known[1].icebergCatalog()

    def _open(self, settings: CatalogSettings) -> Java:
        """Another session for other settings: Spark makes each catalog of a session once."""
        if self._session is None or settings.name in self._plugins:
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
