"""What watermarks and fuses need to know of a table: the largest value of a column and whether an old version can still
be read, from metadata alone; and how many rows a change has.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.elsewhere.formats import is_borrowed
from spark_trickle.elsewhere.unversioned import is_unversioned
from spark_trickle.model.frontier import Pointer
from spark_trickle.names import TableName
from spark_trickle.ports import Broken, Window
from spark_trickle.spark.session.failures import file_gone, spark_errors
from spark_trickle.spark.workspaces.workspace import Workspace
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import Bulk, Java, JavaTable, load, static
from spark_trickle.storage.windows import Window as FeedWindow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENTS = ("timestamp", "timestamptz", "date")
"""Types of columns that can advance a watermark. Without a time zone, moments are of UTC; a day begins at midnight."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PARSER = "org.apache.iceberg.TableMetadataParser"
_CONVERSIONS = "org.apache.iceberg.types.Conversions"
_MANIFESTS = "org.apache.iceberg.ManifestFiles"


class Completeness:
    """The workbench's answers about that."""

    workspace: Workspace
    _feed: ChangeFeed

    def changed_rows(self, window: Window) -> tuple[int, int]:
        return counted(self._feed, window)

    def gone(self, table: TableName, newest: Pointer) -> str | None:
        if is_borrowed(newest.location) or is_unversioned(newest.location):
            return self.workspace.gone(table, newest.location)
        return gone(self.workspace.session, table, newest.location)

    def largest(self, table: TableName, column: str, since: str | None) -> datetime | Broken | None:
        return largest(self.workspace.session, table, column, since)


def gone(spark: SparkSession, name: TableName, newest: str) -> str | None:
    """Why the version of a table that this session has can no longer be read; None: it can."""
    with spark_errors(f"looking for a version of '{name}'"):
        try:
            table = load(spark, name)
        except (Py4JJavaError, PySparkException) as err:
            if file_gone(err):
                return "its metadata file was removed"
            raise
        head = static(spark, _PARSER).read(table.io(), newest)
        if str(head.uuid()) != str(table.uuid()):
            return "it is of a table that was dropped, and another has its name"
        current = table.currentSnapshot()
        if current is not None and head.snapshot(int(current.snapshotId())) is None:
            return f"its snapshot {current.snapshotId()} has expired"
    return None


def counted(feed: ChangeFeed, window: Window) -> tuple[int, int]:
    """Changed rows, and those of them that were deleted; what was both inserted and deleted is neither."""
    if not isinstance(window, FeedWindow):
        return window.rows, window.deleted_rows  # a change of ours that was just made
    with spark_errors(f"counting the changes of '{window.name}'"):
        weights = feed.frame(window).selectExpr(f"SUM(ABS({WEIGHT})) AS n", f"SUM(GREATEST(-{WEIGHT}, 0L)) AS gone")
        row = weights.first()
    return (0, 0) if row is None or row.n is None else (int(row.n), int(row.gone))


def kind_of(spark: SparkSession, name: TableName, column: str) -> str | None:
    """The type of a column; None: there is none."""
    with spark_errors(f"reading the columns of '{name}'"):
        field = load(spark, name).schema().findField(column)
        return None if field is None else str(field.type())


def largest(spark: SparkSession, name: TableName, column: str, since: str | None) -> datetime | Broken | None:
    """The largest value in the files that are new since a version, or in all. Reads manifests, never rows."""
    with spark_errors(f"reading the metadata of '{name}'"):
        table = load(spark, name)
        location = str(table.operations().current().metadataFileLocation())
        if is_borrowed(location) or is_unversioned(location):
            return Broken("it is no Iceberg table, of which bounds are known; advance_watermark tells how far it is")
        field = table.schema().findField(column)
        if field is None or str(field.type()) not in MOMENTS:
            shown = "it does not exist" if field is None else f"it is of type {field.type()}"
            return Broken(f"{shown}; set_watermark_column names one of type {', '.join(MOMENTS)}")
        found: list[int] = []
        for files in _new_files(spark, table, since):
            bulk = Bulk(spark)
            bounds, values, nulls = (
                bulk.map(files, f"ContentFile.{each}") for each in ("upperBounds", "valueCounts", "nullValueCounts")
            )
            for i in range(int(files.size())):
                bound = _of_file(spark, field, bounds.get(i), values.get(i), nulls.get(i))
                if isinstance(bound, Broken):
                    return bound
                found += [] if bound is None else [bound]
        return _moment(max(found), str(field.type())) if found else None


def _of_file(spark: SparkSession, field: Java, bounds: Java, values: Java, nulls: Java) -> int | Broken | None:
    """The upper bound of one file; None: it has no value."""
    number = field.fieldId()
    bound = None if bounds is None else bounds.get(number)
    if bound is not None:
        return int(static(spark, _CONVERSIONS).fromByteBuffer(field.type(), bound))
    count = None if values is None else values.get(number)
    if count is not None and nulls is not None and nulls.get(number) == count:
        return None
    setting = f"write.metadata.metrics.column.{field.name()}"
    return Broken(f"a file has no bounds of it, because they are not kept (table property {setting})")


def _new_files(spark: SparkSession, table: JavaTable, since: str | None) -> list[Java]:
    """Lists of files: those of each manifest that a version did not have."""
    current = table.currentSnapshot()
    if current is None:
        return []
    known = _manifests(spark, table, since)
    bulk = Bulk(spark)
    manifests = bulk.to_list(current.dataManifests(table.io()))
    found = []
    for i, path in enumerate(bulk.read(manifests, "ManifestFile.path")):
        if path not in known:
            reader = static(spark, _MANIFESTS).read(manifests.get(i), table.io(), table.specs())
            try:
                found.append(bulk.to_list(reader))
            finally:
                reader.close()
    return found


def _manifests(spark: SparkSession, table: JavaTable, location: str | None) -> set[str]:
    """The manifests of a version; none where it cannot be read any more: then all files count as new."""
    if location is None:
        return set()
    try:
        before = static(spark, _PARSER).read(table.io(), location).currentSnapshot()
        if before is None:
            return set()
        bulk = Bulk(spark)
        return set(bulk.read(bulk.to_list(before.dataManifests(table.io())), "ManifestFile.path"))
    except Py4JJavaError as err:
        if file_gone(err):
            return set()
        raise


def _moment(value: int, kind: str) -> datetime | Broken:
    try:
        if kind == "date":
            return datetime.combine(date(1970, 1, 1) + timedelta(days=value), datetime.min.time(), tzinfo=UTC)
        return _EPOCH + timedelta(microseconds=value)
    except OverflowError:
        return Broken("its largest value is past the year 9999")
