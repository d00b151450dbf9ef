"""Tables of other catalogs at a version: read with the FileIO of their own catalog, and moved by nobody.

A session of ours sees such a table only where it was pinned. Its catalog of the same name knows no server: it is an
empty one of Iceberg's, in whose cache the pinned tables are put (`install`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from spark_trickle.names import TableName
from spark_trickle.storage.iceberg import Java, JavaTable, identifier, static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARSER = "org.apache.iceberg.TableMetadataParser"
_METADATA_TABLES = ("POSITION_DELETES",)
"""Of the tables about a table those that we read by name."""


def at_location(spark: SparkSession, live: JavaTable, location: str) -> JavaTable:
    """A table at the version that a metadata file holds. `live` is the same table at any version."""
    metadata = live.operations().current()
    if str(metadata.metadataFileLocation()) != location:
        metadata = static(spark, _PARSER).read(live.io(), location)
    return _static(spark, live, metadata)


def at_snapshot(spark: SparkSession, table: JavaTable, snapshot: int) -> JavaTable:
    """A table with an older snapshot as its current one."""
    builder = static(spark, "org.apache.iceberg.TableMetadata").buildFrom(table.operations().current())
    return _static(spark, table, builder.setBranchSnapshot(snapshot, "main").discardChanges().build())


def install(spark: SparkSession, plugin: Java, name: TableName, table: JavaTable) -> None:
    """Let a name mean a pinned table in a session.

    Args:
        plugin: Spark's catalog of that name in the session, made by `Overlay`.
    """
    cache = _cache(plugin)
    cache.put(identifier(spark, name.levels, name.name), table)
    for kind in _METADATA_TABLES:
        of_kind = static(spark, "org.apache.iceberg.MetadataTableType").valueOf(kind)
        about = static(spark, "org.apache.iceberg.MetadataTableUtils").createMetadataTableInstance(table, of_kind)
        cache.put(identifier(spark, [*name.levels, name.name], kind.lower()), about)


def forget_all(plugin: Java) -> None:
    """Let no name mean anything in a session's catalog."""
    _cache(plugin).invalidateAll()


def is_gone(err: Py4JJavaError) -> bool:
    """Whether a catalog says that it has no such table."""
    return str(err.java_exception.getClass().getName()).endswith(("NoSuchTableException", "NoSuchNamespaceException"))


def _static(spark: SparkSession, live: JavaTable, metadata: Java) -> JavaTable:
    operations = static(spark, "org.apache.iceberg.StaticTableOperations")(metadata, live.io(), live.locationProvider())
    return static(spark, "org.apache.iceberg.BaseTable")(operations, live.name())


def _cache(plugin: Java) -> Java:
    """Iceberg has no call for that: its cache is made to be filled by itself."""
    caching = plugin.icebergCatalog()
    field = caching.getClass().getDeclaredField("tableCache")
    field.setAccessible(True)
    return field.get(caching)
