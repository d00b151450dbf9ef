"""Compaction of a table of ours: small files become large ones and deleted rows go. The rows stay the same.

What it commits is a `replace` snapshot: dependents skip it, and the stream table's next refresh does not mind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_trickle.storage.iceberg import JavaTable, jvm, snapshot_summary

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
    summary = snapshot_summary(table, int(current.snapshotId()))
    keys = ("total-data-files", "total-delete-files", "total-records", "total-position-deletes")
    return Shape(*(int(summary.get(key, 0)) for key in keys))


def compact(spark: SparkSession, table: JavaTable) -> None:
    """Rewrite small files, and files with many deleted rows."""
    action = jvm(spark).org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession).rewriteDataFiles(table)
    for key, value in _OPTIONS.items():
        action = action.option(key, value)
    action.snapshotProperty("trickle.maintenance", "compact").execute()
