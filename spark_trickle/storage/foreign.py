"""What somebody else did to a table of ours: rows that no refresh wrote, columns that no query asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.storage.changes import columns_of
from spark_trickle.storage.columns import altered
from spark_trickle.storage.iceberg import History, JavaTable, load
from spark_trickle.storage.windows import COMPACTION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def foreign_write(spark: SparkSession, table: TableName, since: Pin) -> str | None:
    """What was done since that version, as it follows on the name of the table; None: nothing that readers notice."""
    java = load(spark, table)
    columns = _altered_since(spark, java, since)
    if columns is not None:
        return f"was altered directly: {columns}"
    current = java.currentSnapshot()
    if current is None or since.snapshot_id is None:
        same = current is None and since.snapshot_id is None
        return None if same else "was written to directly: it has other snapshots"
    for snapshot in History(spark, java).ancestors(int(current.snapshotId())):
        if snapshot.id == since.snapshot_id:
            return None
        if snapshot.operation != COMPACTION:
            return f"was written to directly: snapshot {snapshot.id} ({snapshot.operation}) is not ours"
    return f"was written to directly: its snapshot {since.snapshot_id} is no longer in its history"


def _altered_since(spark: SparkSession, java: JavaTable, since: Pin) -> str | None:
    now = java.schema()
    if int(now.schemaId()) == since.schema_id:
        return None
    before = java.schemas().get(since.schema_id)
    return "its columns are others" if before is None else altered(columns_of(before, spark), columns_of(now, spark))
