"""Compaction of a table of ours: small files become large ones and deleted rows go. The rows stay the same.

What it commits is a `replace` snapshot: dependents skip it, and the stream table's next refresh does not mind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from spark_trickle.errors import ConflictError
from spark_trickle.names import TableName
from spark_trickle.storage.iceberg import JavaTable, counts, jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELETED_SHARE = 0.2
"""From this share of deleted rows on, reading past them costs more than writing the others again."""

_OPTIONS = {
    "min-input-files": "2",
    "delete-ratio-threshold": str(DELETED_SHARE),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How a table lies in files."""

    data_files: int = 0
    delete_files: int = 0
    """Deletion vectors count one each."""
    rows: int = 0
    """Deleted ones included."""
    deleted_rows: int = 0

    def worth_compacting(self, compact_files: int) -> bool:
        """Whether there are more files than allowed, or many of the rows in them are deleted."""
        return (
            self.data_files > compact_files
            or self.delete_files > compact_files
            or self.deleted_rows > self.rows * DELETED_SHARE
        )


def shape_of(table: JavaTable) -> Shape:
    """Read from what the last writer said; no file but the metadata is opened."""
    current = table.currentSnapshot()
    if current is None:
        return Shape()
    keys = ("total-data-files", "total-delete-files", "total-records", "total-position-deletes")
    return Shape(*(count or 0 for count in counts(current, *keys)))


def compact(spark: SparkSession, table: JavaTable, name: TableName) -> None:
    """Rewrite small files, and files with many deleted rows."""
    action = jvm(spark).org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession).rewriteDataFiles(table)
    for key, value in _OPTIONS.items():
        action = action.option(key, value)
    # Iceberg checks that nobody has deleted rows meanwhile from the files that it read.
    with conflicts(name, "CommitFailedException", "ValidationException"):
        action.snapshotProperty("trickle.maintenance", "compact").execute()


@contextmanager
def conflicts(name: TableName, *kinds: str) -> Iterator[None]:
    """Java exceptions of these kinds, themselves or as a cause, mean that somebody else was faster."""
    try:
        yield
    except Py4JJavaError as err:
        cause = err.java_exception
        while cause is not None:
            if cause.getClass().getSimpleName() in kinds:
                raise ConflictError(name, None, str(cause.getMessage())) from err
            cause = cause.getCause()
        raise
