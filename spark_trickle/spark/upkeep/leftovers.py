"""What crashes and drops leave behind, removed: unreferenced files of our tables, folders of tables of ours that are
no more, and private databases of processes that have died. What is young may belong to work under way and stays.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spark_trickle.model.publication import Cut
from spark_trickle.names import INTERNAL_NAMESPACE, LAKE
from spark_trickle.spark.workspaces.purge import HADOOP_IO, folder_access, lake_io, remove_empty_folders
from spark_trickle.storage.iceberg import Bulk, Java, JavaTable, java_class, jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK = "trickle.stream-table"
"""Property of every table that a stream table is kept in."""

_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?/+")
_WORKSPACE = re.compile(r"spark-trickle-(\d+)-.+")


def remove_orphans(spark: SparkSession, table: JavaTable, older_than_ms: int) -> int:
    """Delete files in the table's folder that no version of it refers to; gives how many.

    Metadata files that a refresh wrote and never published are among them. What to delete is for Iceberg's own action
    to say; it takes Spark jobs, so it is not asked where a look at the names shows that there is nothing for it.
    """
    if not _may_have_orphans(spark, table, older_than_ms):
        return 0
    actions = jvm(spark).org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession)
    # Where Hadoop has no file system for the scheme, the table's own FileIO lists the files.
    search = actions.deleteOrphanFiles(table).usePrefixListing(str(table.io().getClass().getName()) != HADOOP_IO)
    found = search.olderThan(older_than_ms).execute().orphanFileLocations()
    return int(Bulk(spark).to_list(found).size())


def table_folder(metadata_location: str) -> str:
    """A table's folder, from where its metadata is; without the scheme, which is spelled in several ways.

    >>> table_folder("file:/lake/trickle_internal/default__t__groups/metadata/00001-ab.metadata.json")
    '/lake/trickle_internal/default__t__groups'
    """
    return _SCHEME.sub("/", metadata_location).rsplit("/", 2)[0]


def remove_abandoned(spark: SparkSession, cut: Cut, older_than_ms: int, in_use: Iterable[str] = ()) -> int:
    """Delete old files in folders of tables of ours that are in the catalog no more, or never came there.

    Gives how many. Every folder of the internal namespace is ours; elsewhere those whose metadata says so. `in_use`:
    metadata files of versions that somebody still reads.
    """
    owned = {table_folder(location) for location in (*(p.location for p in cut.pointers.values()), *in_use)}
    with lake_io(spark) as io:
        return _remove_abandoned(spark, io, cut, owned, older_than_ms)


def _remove_abandoned(spark: SparkSession, io: Java, cut: Cut, owned: set[str], older_than_ms: int) -> int:
    warehouse = str(spark.conf.get(f"spark.sql.catalog.{LAKE}.warehouse")).rstrip("/")
    removed = 0
    for namespace in sorted({*cut.namespaces, INTERNAL_NAMESPACE}):
        root = f"{warehouse}/{namespace.replace('.', '/')}"
        for name in _folders(spark, io, root):
            folder = f"{root}/{name}"
            if _SCHEME.sub("/", folder) in owned:
                continue
            files = list(_files(spark, io, folder))
            if namespace == INTERNAL_NAMESPACE or _is_ours(spark, io, files):
                removed += _remove_old(io, files, older_than_ms)
                remove_empty_folders(spark, io, f"{folder}/data", f"{folder}/metadata", folder)
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


def _folders(spark: SparkSession, io: Java, root: str) -> list[str]:
    """Names of the folders in a folder. In an object store, where that would list every file, only internal ones."""
    access = folder_access(spark, io, root)
    if access is None:
        if not root.endswith(f"/{INTERNAL_NAMESPACE}"):
            return []
        inside = (str(file.location()).partition(f"/{INTERNAL_NAMESPACE}/")[2] for file in _files(spark, io, root))
        return sorted({path.split("/")[0] for path in inside if path})
    system, path = access
    if not system.exists(path):
        return []
    return sorted(str(status.getPath().getName()) for status in system.listStatus(path) if status.isDirectory())


def _is_ours(spark: SparkSession, io: Java, files: Iterable[Java]) -> bool:
    """Whether these are files of a table that a stream table was kept in."""
    metadata = [str(file.location()) for file in files if str(file.location()).endswith(".metadata.json")]
    if not metadata:
        return False
    read = jvm(spark).org.apache.iceberg.TableMetadataParser.read(io, metadata[0])
    return bool(read.properties().containsKey(MARK))


def _remove_old(io: Java, files: Iterable[Java], older_than_ms: int) -> int:
    old = [str(file.location()) for file in files if int(file.createdAtMillis()) < older_than_ms]
    # What says whose they are goes last: a deletion that is cut short can then be finished.
    for location in sorted(old, key=lambda path: path.endswith(".metadata.json")):
        io.deleteFile(location)
    return len(old)


def _files(spark: SparkSession, io: Java, folder: str) -> Iterator[Java]:
    """Every file below a folder, with its age."""
    # Not `yield from`: whoever stops half way would close the Java iterator, which has no such method.
    return (file for file in Bulk(spark).to_list(io.listPrefix(f"{folder}/")))


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
