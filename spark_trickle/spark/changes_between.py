"""The changes of any Iceberg table between two of its snapshots, as a DataFrame for users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.errors import NotFoundError, UserError
from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.spark.failures import spark_errors
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import load, pin
from spark_trickle.storage.windows import Broken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WEIGHT = "_weight"
"""What users see the weight called."""


def changes_between(spark: SparkSession, table: TableName, since: int | None, until: int | None) -> DataFrame:
    """Rows with `_weight`. `since` None: from the empty table; `until` None: to the current snapshot."""
    if not spark.catalog.tableExists(table.sql):
        raise NotFoundError("table", table)
    if table.is_elsewhere:
        spark.catalog.refreshTable(table.sql)  # the user's session may have an older one at hand
    with spark_errors(f"reading what changed in '{table}'"):
        java = load(spark, table)
        here = pin(java, table)
        for snapshot in (since, until):
            if snapshot is not None and java.snapshot(snapshot) is None:
                raise UserError(
                    f"'{table}' has no snapshot {snapshot}", hint=f"SELECT * FROM {table}.snapshots lists what it has"
                )
        start = Pin(table, here.uuid, since, here.schema_id, here.location)
        feed = ChangeFeed(spark)
        window = feed.window(table, start, None, until)
        if isinstance(window, Broken):
            raise UserError(f"the changes of '{table}' cannot be told: {window.reason}")
        frame = feed.frame(window)
        if _WEIGHT in (name.lower() for name in frame.columns):
            raise UserError(
                f"'{table}' has a column '{_WEIGHT}' of its own, where its changes tell how many copies came or went",
                hint=f"ALTER TABLE {table} RENAME COLUMN {_WEIGHT} TO ... gives it another name",
            )
        return frame.withColumnRenamed(WEIGHT, _WEIGHT)
