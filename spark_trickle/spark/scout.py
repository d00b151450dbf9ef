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

from spark_trickle.elsewhere.files import plain
from spark_trickle.elsewhere.formats import Place, no_source
from spark_trickle.elsewhere.heads import Found, missing, refused, unreachable
from spark_trickle.elsewhere.settings import PREFIX, CatalogSettings
from spark_trickle.errors import UnavailableError
from spark_trickle.model.publication import Away
from spark_trickle.names import SESSION, TableName
from spark_trickle.spark.sessions import Sessions, active
from spark_trickle.storage.iceberg import Java, JavaTable, identifier, static
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
        session = self._sessions.main
        try:
            with active(session):
                told = _told(session, table)
        except Py4JJavaError as err:
            said = f"{err.java_exception.getClass().getSimpleName()}: {err.java_exception.getMessage()}"
            return unreachable(table.catalog, said.partition("\n")[0][:300])
        except PySparkException as err:
            if err.getCondition() in _NO_TABLE:
                return missing(table)
            return unreachable(table.catalog, str(err).partition("\n")[0][:300])
        if told is None:
            return missing(table)
        provider, place = told
        if not provider or not place:
            made_by = self._sessions.catalogs()[table.catalog].implementation if table.catalog != SESSION else "Spark"
            return no_source(table, f"it is of catalog '{table.catalog}' ({made_by}), whose tables have no files")
        return Place(provider.lower(), plain(place))

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


def _told(session: SparkSession, table: TableName) -> tuple[str | None, str | None] | None:
    """Kind and place of a table; None: there is no such table."""
    java: Any = session._jsparkSession
    if table.catalog == SESSION:
        options = static(session, "scala.Option")
        names = static(session, "org.apache.spark.sql.catalyst.TableIdentifier")
        known = java.sessionState().catalog()
        named = names(table.name, options.apply(".".join(table.levels)))
        if not known.tableExists(named):
            return None
        metadata = known.getTableMetadata(named)
        provider, place = metadata.provider(), metadata.storage().locationUri()
        return (
            str(provider.get()) if provider.isDefined() else None,
            str(static(session, "org.apache.hadoop.fs.Path")(place.get()).toString()) if place.isDefined() else None,
        )
    gateway: Any = session.sparkContext._gateway
    levels = gateway.new_array(static(session, "java.lang.String"), len(table.levels))
    for at, level in enumerate(table.levels):
        levels[at] = level
    named = static(session, "org.apache.spark.sql.connector.catalog.Identifier").of(levels, table.name)
    properties = java.sessionState().catalogManager().catalog(table.catalog).loadTable(named).properties()
    return properties.get("provider"), properties.get("location")


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
