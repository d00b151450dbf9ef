"""The changes of any Iceberg table between two of its snapshots, as a DataFrame for users. They run it when they like:
what it reads is kept from maintenance for as long as Spark has a plan that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.elsewhere.formats import Formats, is_borrowed
from spark_trickle.elsewhere.pins import Elsewhere
from spark_trickle.elsewhere.unversioned import INSTEAD, is_unversioned, what_it_is
from spark_trickle.errors import NotFoundError, UserError
from spark_trickle.model.borrowed import Step
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.names import TableName
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.workspaces.in_use import IN_USE, Late
from spark_trickle.storage.borrowed import Borrowing
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import load, pin, static
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
        window = feed.window(table, start, None, until)
        frame = _shown(feed, table, window)
        ends = frozenset(end for end in (since, until or here.snapshot_id) if end is not None)
        _hold(spark, frame, feed, Pointer(table, here.location), ends)
        return frame


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
        frame = _shown(feed, table, feed.window_of(java, table, start))
        _hold(spark, frame, feed, newest, frozenset())
        return frame


def _hold(spark: SparkSession, frame: DataFrame, feed: ChangeFeed, pointer: Pointer, ends: frozenset[int]) -> None:
    """Keep what a frame reads from maintenance (what lies between two ends is kept with them), while it can be run."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    found = [leaves.apply(index) for index in range(leaves.length())]
    read = next((leaf for leaf in found if leaf.getClass().getSimpleName() == "DataSourceV2Relation"), None)
    if read is None:
        feed.release()
        return
    # All plans that are made of this one, in whatever frame or view, hold this very list of columns; nothing else does.
    # The table they do not: Spark loads it again for a view.
    reference = static(spark, "java.lang.ref.WeakReference")(read.output())
    IN_USE.hold_late(Late(pointer, ends, lambda: _refers(reference), feed.release))


def _refers(reference: Any) -> bool:
    try:
        return not reference.refersTo(None)
    except (Py4JError, OSError):
        return False  # that JVM is no more


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
