"""Where tables are that are not Iceberg's, as catalogs of Spark say: kind, folder, what else decides how they are read.

Asked in the session that is active, which knows the catalogs as the user set them.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from spark_trickle.elsewhere.files import plain
from spark_trickle.elsewhere.unversioned import JDBC, Place
from spark_trickle.names import TableName
from spark_trickle.storage.iceberg import Java, static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JDBC_CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"


def place_in_spark(session: SparkSession, table: TableName) -> Place | None:
    """A table of Spark's own catalog; None: there is none. The path is empty where nobody can follow it."""
    known = _state(session).catalog()
    named = static(session, "org.apache.spark.sql.catalyst.TableIdentifier")(
        table.name, static(session, "scala.Option").apply(".".join(table.levels))
    )
    if not known.tableExists(named):
        return None
    metadata = known.getTableMetadata(named)
    provider, folder = metadata.provider(), metadata.storage().locationUri()
    kind = str(provider.get()).lower() if provider.isDefined() else ""
    if kind == JDBC:
        # Spark connects when it looks at the table: a database that is away is told here, not in the middle of work.
        known.refreshTable(named)
        session.table(table.sql)
        return Place(JDBC, str(table))
    more: tuple[str, ...] = ()
    if metadata.tracksPartitionsInCatalog():
        parts = known.listPartitions(named, static(session, "scala.Option").empty())
        more = tuple(_plain(session, parts.apply(at).location()) for at in range(int(parts.size())))
    # Columns and options may be altered while the files stay as they are.
    told = f"{metadata.schema().json()}\0{metadata.storage().properties()}"
    return Place(
        kind,
        _plain(session, folder.get()) if folder.isDefined() else "",
        more,
        blake2b(told.encode(), digest_size=8).hexdigest(),
    )


def place_in_catalog(session: SparkSession, table: TableName, made_by: str) -> Place | None:
    """A table of another catalog that Spark is told of.

    Args:
        made_by: the class of the catalog.
    """
    gateway: Any = session.sparkContext._gateway
    levels = gateway.new_array(static(session, "java.lang.String"), len(table.levels))
    for at, level in enumerate(table.levels):
        levels[at] = level
    named = static(session, "org.apache.spark.sql.connector.catalog.Identifier").of(levels, table.name)
    catalog = _state(session).catalogManager().catalog(table.catalog)
    if made_by == _JDBC_CATALOG:
        return Place(JDBC, str(table)) if catalog.tableExists(named) else None
    properties = catalog.loadTable(named).properties()
    place = properties.get("location")
    return Place((properties.get("provider") or "").lower(), plain(place) if place else "")


def _plain(session: SparkSession, address: Java) -> str:
    return plain(str(static(session, "org.apache.hadoop.fs.Path")(address).toString()))


def _state(session: SparkSession) -> Java:
    java: Any = session._jsparkSession
    return java.sessionState()
