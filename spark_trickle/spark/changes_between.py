"""The changes of any Iceberg table between two of its snapshots, as a DataFrame for users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.elsewhere.formats import Formats, is_borrowed
from spark_trickle.elsewhere.pins import Elsewhere
from spark_trickle.elsewhere.unversioned import INSTEAD, is_unversioned, what_it_is
from spark_trickle.errors import NotFoundError, UserError
from spark_trickle.model.borrowed import Step
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.names import TableName
from spark_trickle.spark.failures import spark_errors
from spark_trickle.storage.borrowed import Borrowing
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import load, pin
from spark_trickle.storage.windows import Broken, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WEIGHT = "_weight"
"""What users see the weight called."""


def changes_between(
    spark: SparkSession,
    table: TableName,
    since: int | None,
    until: int | None,
    elsewhere: Elsewhere,
    borrowing: Callable[[], Borrowing],
) -> DataFrame:
    """Rows with `_weight`. `since` None: from the empty table; `until` None: to the current snapshot."""
    if table.is_elsewhere:
        pointer = elsewhere.pointer(table)
        if is_unversioned(pointer.location):
            raise UserError(
                f"the changes of '{table}' cannot be told: {what_it_is(table, pointer.location)}", hint=INSTEAD
            )
        if is_borrowed(pointer.location):
            return _of_borrowed(spark, pointer, since, until, elsewhere.formats, borrowing())
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
        return _shown(feed, table, feed.window(table, start, None, until))


def _of_borrowed(
    spark: SparkSession, newest: Pointer, since: int | None, until: int | None, formats: Formats, borrowing: Borrowing
) -> DataFrame:
    """Of a table that is not Iceberg's; its versions are named by their numbers."""
    table, end = newest.table, newest.location
    with spark_errors(f"reading what changed in '{table}'"):
        if until is not None:
            end = formats.called(table, end, until)
        start: Pin | None = None
        gone: Mapping[int, str] = {}
        if since is None:
            steps = [Step(formats.read_at(table, end))]
        else:
            begin = formats.called(table, end, since)
            steps, gone = formats.window(table, [begin], end)
            first = next((step.version for step in steps if step.version.number == since), steps[-1].version)
            start = Pin(table, first.uuid, formats.id_of(begin), first.shape.id, begin)
        java = borrowing.table(spark, str(table), end, steps, gone)
        feed = ChangeFeed(spark)
        return _shown(feed, table, feed.window_of(java, table, start))


def _shown(feed: ChangeFeed, table: TableName, window: Window | Broken) -> DataFrame:
    if isinstance(window, Broken):
        raise UserError(f"the changes of '{table}' cannot be told: {window.reason}")
    frame = feed.frame(window)
    if _WEIGHT in (name.lower() for name in frame.columns):
        raise UserError(
            f"'{table}' has a column '{_WEIGHT}' of its own, where its changes tell how many copies came or went",
            hint=f"ALTER TABLE {table} RENAME COLUMN {_WEIGHT} TO ... gives it another name",
        )
    return frame.withColumnRenamed(WEIGHT, _WEIGHT)
