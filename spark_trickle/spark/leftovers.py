"""What crashes and drops leave behind, removed: unreferenced files of our tables, folders of internal tables that are
no more, and private databases of processes that have died. What is young may belong to work under way and stays.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spark_trickle.names import INTERNAL_NAMESPACE, LAKE
from spark_trickle.spark.purge import folder_access, lake_io, remove_empty_folders
from spark_trickle.storage.iceberg import Bulk, Java, JavaTable, java_class, jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WORKSPACE = re.compile(r"spark-trickle-(\d+)-.+")


def remove_orphans(spark: SparkSession, table: JavaTable, older_than_ms: int) -> int:
    """Delete files in the table's folder that no version of it refers to; gives how many.

    Metadata files that a refresh wrote and never published are among them. What to delete is for Iceberg's own action
    to say; it takes Spark jobs, so it is not asked where a look at the names shows that there is nothing for it.
    """
    if not _may_have_orphans(spark, table, older_than_ms):
        return 0
    actions = jvm(spark).org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession)
    found = actions.deleteOrphanFiles(table).olderThan(older_than_ms).execute().orphanFileLocations()
    return int(Bulk(spark).to_list(found).size())


def internal_root(spark: SparkSession) -> str:
    """The folder that holds the internal tables' folders."""
    warehouse = spark.conf.get(f"spark.sql.catalog.{LAKE}.warehouse")
    return f"{(warehouse or '').rstrip('/')}/{INTERNAL_NAMESPACE}"


def folder_of(metadata_location: str) -> str:
    """Name of a table's folder, from where its metadata is.

    >>> folder_of("file:/lake/trickle_internal/default__t__groups/metadata/00001-ab.metadata.json")
    'default__t__groups'
    """
    return metadata_location.rsplit("/", 3)[-3]


def remove_abandoned_state(spark: SparkSession, owned: Collection[str], older_than_ms: int) -> int:
    """Delete old files in folders of internal tables that are not `owned`; gives how many."""
    io, root = lake_io(spark), internal_root(spark)
    removed = 0
    for folder in sorted(_folders(spark, io, root) - set(owned)):
        for file in _files(spark, io, f"{root}/{folder}"):
            if int(file.createdAtMillis()) < older_than_ms:
                io.deleteFile(file.location())
                removed += 1
        remove_empty_folders(spark, io, *(f"{root}/{folder}{part}" for part in ("/data", "/metadata", "")))
    return removed


def remove_dead_workspaces(temporary: Path, older_than_seconds: float) -> int:
    """Delete private databases whose process is no more and which nobody has used since; gives how many."""
    removed = 0
    for folder in temporary.glob("spark-trickle-*"):
        match = _WORKSPACE.fullmatch(folder.name)
        if match is None or _alive(int(match[1])) or _last_used(folder) >= older_than_seconds:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        removed += not folder.exists()
    return removed


def _may_have_orphans(spark: SparkSession, table: JavaTable, older_than_ms: int) -> bool:
    """Whether an old file lies there whose name no version mentions. Names of Iceberg's files are unique."""
    io = table.io()
    if not java_class(spark, "org.apache.iceberg.io.SupportsPrefixOperations").isInstance(io):
        return True
    known = {_base(path) for path in _referenced(spark, table)}
    return any(
        _base(str(file.location())) not in known and int(file.createdAtMillis()) < older_than_ms
        for file in _files(spark, io, str(table.location()))
    )


def _referenced(spark: SparkSession, table: JavaTable) -> Iterator[str]:
    """Every file that some version of the table refers to."""
    bulk, iceberg, io = Bulk(spark), jvm(spark).org.apache.iceberg, table.io()
    yield from bulk.read(bulk.to_list(iceberg.ReachableFileUtil.metadataFileLocations(table, False)))
    yield from bulk.read(iceberg.ReachableFileUtil.manifestListLocations(table))
    yield from bulk.read(iceberg.ReachableFileUtil.statisticsFilesLocations(table))
    manifests: dict[str, Java] = {}
    for snapshot in table.snapshots():
        listed = snapshot.allManifests(io)
        manifests.update(zip(bulk.read(listed, "ManifestFile.path"), listed, strict=True))
    for path, manifest in manifests.items():
        yield path
        if str(manifest.content()) == "DATA":
            paths = bulk.to_list(iceberg.ManifestFiles.readPaths(manifest, io))
        else:
            deletes = bulk.to_list(iceberg.ManifestFiles.readDeleteManifest(manifest, io, table.specs()))
            paths = bulk.map(deletes, "ContentFile.location")
        yield from bulk.read(paths)


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _folders(spark: SparkSession, io: Java, root: str) -> set[str]:
    access = folder_access(spark, io, root)
    if access is None:
        inside = (str(file.location()).partition(f"/{INTERNAL_NAMESPACE}/")[2] for file in _files(spark, io, root))
        return {path.split("/")[0] for path in inside if path}
    system, path = access
    if not system.exists(path):
        return set()
    return {str(status.getPath().getName()) for status in system.listStatus(path) if status.isDirectory()}


def _files(spark: SparkSession, io: Java, folder: str) -> Iterator[Java]:
    """Every file below a folder, with its age."""
    yield from Bulk(spark).to_list(io.listPrefix(f"{folder}/"))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _last_used(folder: Path) -> float:
    """When a file in it was last written, in seconds."""
    times = [folder.stat().st_mtime]
    for path in folder.iterdir():
        try:
            times.append(path.stat().st_mtime)
        except FileNotFoundError:
            # Somebody is at work there.
            return float("inf")
    return max(times)
