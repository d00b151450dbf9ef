"""Deleting the files of a table that is no longer in the catalog. What is deleted is what its metadata names, never a
folder: another table may already live there under the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_trickle.names import LAKE
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.storage.iceberg import Java, java_class, jvm, no_arguments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HADOOP_IO = "org.apache.iceberg.hadoop.HadoopFileIO"


def purge(spark: SparkSession, location: str) -> None:
    """Delete data, deletes, manifests and metadata of a dropped table, given its last metadata file."""
    with spark_errors(f"deleting the files of '{location}'"), lake_io(spark) as io:
        if not io.newInputFile(location).exists():
            return
        iceberg = jvm(spark).org.apache.iceberg
        metadata = iceberg.TableMetadataParser.read(io, location)
        iceberg.CatalogUtil.dropTableData(io, metadata)
        root = str(metadata.location())
        remove_empty_folders(spark, io, f"{root}/data", f"{root}/metadata", root)


def snapshot_at(spark: SparkSession, io: Java, location: str) -> int | None:
    """The snapshot that a metadata file says is the current one; None: it has none, or is not there any more."""
    if not io.newInputFile(location).exists():
        return None
    current = jvm(spark).org.apache.iceberg.TableMetadataParser.read(io, location).currentSnapshot()
    return None if current is None else int(current.snapshotId())


@contextmanager
def lake_io(spark: SparkSession) -> Iterator[Java]:
    """Access to files as the catalog `lake` of this session has it. Clients of object stores have connections."""
    java = jvm(spark)
    prefix = f"spark.sql.catalog.{LAKE}."
    properties = java.java.util.HashMap()
    for key, value in spark.conf.getAll.items():
        if key.startswith(prefix):
            properties.put(key.removeprefix(prefix), value)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    io = java.org.apache.iceberg.CatalogUtil.loadFileIO(
        properties.getOrDefault("io-impl", HADOOP_IO), properties, configuration
    )
    try:
        yield io
    finally:
        # By reflection: the gateway does not see a method that a class has from an interface only.
        close = java_class(spark, "java.io.Closeable").getMethod("close", no_arguments(spark, "Class"))
        close.invoke(io, no_arguments(spark, "Object"))


def remove_empty_folders(spark: SparkSession, io: Java, *folders: str) -> None:
    """Remove folders that hold nothing. Object stores have no folders, and so nothing is left there."""
    for folder in folders:
        files = folder_access(spark, io, folder)
        if files is None:
            return
        system, path = files
        if system.exists(path) and len(system.listStatus(path)) == 0:
            system.delete(path, False)


def folder_access(spark: SparkSession, io: Java, folder: str) -> tuple[Java, Java] | None:
    """The file system of a folder, and the folder's path in it; None where the store is not reached that way."""
    if str(io.getClass().getName()) != HADOOP_IO:
        return None
    path = jvm(spark).org.apache.hadoop.fs.Path(folder)
    return path.getFileSystem(io.conf()), path
