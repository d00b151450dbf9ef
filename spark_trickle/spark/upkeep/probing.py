"""Whether the files of the lake can be worked with: one small file is written, read, listed and deleted, through the
FileIO that refreshes and `maintain` use.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_trickle.errors import ComputeError, StreamTableError
from spark_trickle.model.probe import Probe
from spark_trickle.names import INTERNAL_NAMESPACE, LAKE
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.workspaces.purge import lake_io, remove_empty_folders
from spark_trickle.storage.iceberg import Bulk, Java, jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONTENT = b"spark-trickle was here"
DELETE = "delete"


def probe_files(spark: SparkSession) -> Probe:
    """Take one file all the way. What was written is deleted, also when something in between fails."""
    warehouse = str(spark.conf.get(f"spark.sql.catalog.{LAKE}.warehouse")).rstrip("/")
    folder = f"{warehouse}/{INTERNAL_NAMESPACE}/probe-{secrets.token_hex(8)}"
    location = f"{folder}/data"
    with lake_io(spark) as io:
        steps: dict[str, Callable[[], None]] = {
            "write": lambda: _write(io, location),
            "read": lambda: _read(spark, io, location),
            "list": lambda: _list(spark, io, folder),
            DELETE: lambda: _delete(spark, io, folder, location),
        }
        done: list[str] = []
        failed = why = ""
        for step, take in steps.items():
            # A file that was written is deleted in any case.
            if failed and not (step == DELETE and "write" in done):
                continue
            try:
                with spark_errors(f"trying to {step} '{location}'"):
                    take()
                done.append(step)
            except StreamTableError as err:
                failed, why = failed or step, why or str(err)
        return Probe(str(io.getClass().getName()), location, tuple(done), failed, why)


def _write(io: Java, location: str) -> None:
    stream = io.newOutputFile(location).create()
    try:
        stream.write(bytearray(CONTENT))
    finally:
        stream.close()


def _read(spark: SparkSession, io: Java, location: str) -> None:
    file = io.newInputFile(location)
    stream = file.newStream()
    try:
        found = bytes(jvm(spark).org.apache.iceberg.relocated.com.google.common.io.ByteStreams.toByteArray(stream))
    finally:
        stream.close()
    if found != CONTENT:
        raise ComputeError(f"'{location}' holds {len(found)} bytes that are not those that were written")


def _list(spark: SparkSession, io: Java, folder: str) -> None:
    if Bulk(spark).to_list(io.listPrefix(f"{folder}/")).size() != 1:
        raise ComputeError(f"'{folder}' was written to, and its list does not have the file")


def _delete(spark: SparkSession, io: Java, folder: str, location: str) -> None:
    io.deleteFile(location)
    if io.newInputFile(location).exists():
        raise ComputeError(f"'{location}' was deleted and is still there")
    remove_empty_folders(spark, io, folder)
