"""The change feed of any Iceberg table: which rows lie between two of its versions, with weights.

Rows are told apart by where they are, not by what they hold: files of one version only are read whole, files of both
whose deletes differ give the rows that Iceberg's reader marks as deleted in one version and not in the other. Contents
are compared only to cancel what was both inserted and deleted. Making a frame starts no Spark job.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.errors import InternalError
from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName, quote
from spark_trickle.storage.columns import Column, changed_column, incomparable, read_columns
from spark_trickle.storage.iceberg import (
    GONE,
    PINNED,
    Bulk,
    History,
    Java,
    JavaTable,
    java_class,
    jvm,
    load,
    no_arguments,
    static,
)
from spark_trickle.storage.netting import net
from spark_trickle.storage.seen import SeenFiles
from spark_trickle.storage.windows import (
    Broken,
    DeleteFile,
    FileState,
    Snapshot,
    Span,
    Stretch,
    Touched,
    Window,
    compare,
    stretches,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STAGED_CATALOG = "trickle_staged"
_ADDRESS = ("_file", "_pos")
_DELETED = "_deleted"
_BROADCAST_ROWS = 1_000_000
"""Up to so many addresses of deleted rows are sent to every executor rather than shuffled."""


class ChangeFeed:
    """Changes of the tables of one session's catalog. Frames are good until `release`."""

    def __init__(self, spark: SparkSession, seen: SeenFiles | None = None) -> None:
        self._spark = spark
        self._seen = seen or SeenFiles()
        self._bulk = Bulk(spark)
        self._staged: list[tuple[JavaTable, str]] = []
        self._cache: Java = None
        self._metadata_columns: Java = None
        self._windows: dict[tuple[str, int | None, int | None], Window] = {}

    def window(
        self, table: TableName, since: Pin | None, columns: Sequence[str] | None = None, until: int | None = None
    ) -> Window | Broken:
        """What changed in a table after `since` (None: since it was empty) up to a snapshot (None: the current one).

        `columns` are those that the reader needs; what happened to others is no matter. None: all that the table has
        at the end.
        """
        java = load(self._spark, table, since)
        return self.window_of(java, table, since, columns, until)

    def window_of(
        self,
        java: JavaTable,
        table: TableName,
        since: Pin | None,
        columns: Sequence[str] | None = None,
        until: int | None = None,
    ) -> Window | Broken:
        """The same of a table that was loaded."""
        if since is not None and since.uuid != str(java.uuid()):
            return Broken(f"'{table}' was dropped and created again")
        gone = None if since is None else java.properties().get(f"{GONE}.{since.snapshot_id}")
        if gone is not None:
            return Broken(f"of '{table}', {gone}")
        history = History(self._spark, java)
        start = None if since is None else since.snapshot_id
        if start is not None and start not in history:
            return Broken(f"snapshot {start} of '{table}' has expired")
        if until is not None and until not in history:
            return Broken(f"snapshot {until} of '{table}' does not exist or has expired")
        java, end = self._at(java, history, until)
        shape = columns_of(java.schema(), self._spark)
        broken = self._schema_broken(java, since, shape, columns)
        if broken is not None:
            return broken
        key = (str(java.uuid()), start, end)
        if key not in self._windows:
            span = Span(key[0], int(java.schema().schemaId()), start, end)
            self._windows[key] = self._collect(java, table, span, stretches(history, start, end))
        window = self._windows[key]
        if window.both_signs:
            broken = incomparable(shape, columns)
        return broken or window

    def new_columns(self, since: Pin, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Those of the columns (None: of all) that the table did not have at that version."""
        java = load(self._spark, since.table, since)
        then = java.schemas().get(since.schema_id)
        if then is None or since.uuid != str(java.uuid()):
            return ()  # its window is broken, and says why
        before = columns_of(then, self._spark)
        here = columns if columns is not None else [str(field.name()) for field in java.schema().columns()]
        return tuple(name for name in here if name.lower() not in before)

    def frame(self, window: Window, columns: Sequence[str] | None = None, *, netted: bool = True) -> DataFrame:
        """The changed rows: the columns and the weight, positive for inserted rows, negative for deleted ones.

        Args:
            netted: rows that were both inserted and deleted cancel; False: the caller sees to that.
        """
        names = list(columns) if columns is not None else [str(f.name()) for f in window.table.schema().columns()]
        parts: list[DataFrame] = []
        if window.added is not None:
            parts.append(_weighted(self._read(window.table, window.added), names, 1))
        if window.removed is not None:
            parts.append(_weighted(self._read(window.table, window.removed), names, -1))
        for files in window.touched:
            parts.extend(self._deleted_rows(window.name, window.table, files, names))
        if not parts:
            return _weighted(self._no_rows(window.table), names, 1)
        rows = reduce(DataFrame.unionAll, parts)
        return net(rows) if netted and window.both_signs else rows

    def rows_at(self, table: TableName, snapshot: int | None, columns: Sequence[str] | None = None) -> DataFrame:
        """All rows of an older version, with the columns that the table has now: they may be younger than the version,
        or have had other names. `columns` are those that matter; None: all."""
        java = load(self._spark, table)
        if snapshot is None:
            return self._no_rows(java)
        then = self._schema_at(java, snapshot)
        if then is not None:
            now = columns_of(java.schema(), self._spark)
            names = [name.lower() for name in columns] if columns is not None else list(now)
            if all(
                name in then and then[name].id == now[name].id and then[name].type == now[name].type for name in names
            ):
                # Spark reads it with the schema of its time, and skips files that the query has no use for.
                return self._spark.sql(f"SELECT * FROM {table.sql} VERSION AS OF {snapshot}")
        return self._read(java, self._plan(java, snapshot))

    def _schema_at(self, java: JavaTable, snapshot: int) -> Mapping[str, Column] | None:
        """The columns that a version was written with; None: nobody knows any more."""
        number = History(self._spark, java)[snapshot].schema_id
        schema = None if number is None else java.schemas().get(number)
        return None if schema is None else columns_of(schema, self._spark)

    def every_row(self, table: JavaTable, tasks: Java, names: Sequence[str]) -> DataFrame:
        """All rows of some files, deleted ones, too, with their addresses and whether they are deleted."""
        staged = self._read(table, tasks, metadata=True)
        return staged.select(*(quote(name) for name in names), *_ADDRESS, _DELETED)

    def release(self) -> None:
        """Forget the files that were handed to Spark: frames made before can no longer be read."""
        manager = static(self._spark, "org.apache.iceberg.spark.ScanTaskSetManager").get()
        for table, key in self._staged:
            manager.removeTasks(table, key)
            self._table_cache().remove(key)
        self._staged.clear()

    # --- which files ---

    def _collect(self, java: JavaTable, name: TableName, span: Span, cuts: Sequence[Stretch]) -> Window:
        added, removed = self._no_tasks(), self._no_tasks()
        touched: list[Touched] = []
        rows = deleted = 0
        for stretch in cuts:
            if stretch.appends_only or stretch.since is None:
                tasks = self._plan_added(java, stretch)
                added.addAll(tasks)
                counts = self._bulk.read(tasks, "ContentScanTask.file", "ContentFile.recordCount")
                rows += sum(int(count) for count in counts)
                continue
            before, states_before = self.files(java, stretch.since)
            after, states_after = self.files(java, stretch.until)
            found = compare(states_before, states_after, linear=stretch.linear)
            added.addAll(self._bulk.pick(after, found.added))
            removed.addAll(self._bulk.pick(before, found.removed))
            if found.touched_before or found.touched_after:
                touched.append(
                    Touched(
                        before=_some(self._bulk.pick(before, found.touched_before)),
                        after=_some(self._bulk.pick(after, found.touched_after)),
                        states_before=tuple(states_before[index] for index in found.touched_before),
                        states_after=tuple(states_after[index] for index in found.touched_after),
                        before_rows=found.before_rows,
                        listed_at=stretch.since if found.before_positional else None,
                        revives=found.revives,
                    )
                )
            rows += found.inserted_rows + found.deleted_rows
            deleted += found.deleted_rows
        return Window(
            name=name,
            span=span,
            table=java,
            added=_some(added),
            removed=_some(removed),
            touched=tuple(touched),
            rows=rows,
            deleted_rows=deleted,
        )

    def files(self, java: JavaTable, snapshot: int | None) -> tuple[Java, list[FileState]]:
        """A task for each data file of a snapshot, and what it is like."""
        if snapshot is None:
            return self._no_tasks(), []

        def look() -> tuple[Java, list[FileState]]:
            tasks = self._plan(java, snapshot)
            return tasks, self._states(tasks)

        return self._seen.of((str(java.uuid()), int(java.schema().schemaId()), snapshot), look)

    def _plan(self, java: JavaTable, snapshot: int | None) -> Java:
        """A task for each data file of a snapshot, with the deletes that apply to it."""
        if snapshot is None:
            return self._no_tasks()
        return self._bulk.to_list(java.newScan().useSnapshot(snapshot).planFiles())

    def _no_tasks(self) -> Java:
        return static(self._spark, "java.util.ArrayList")()

    def _plan_added(self, java: JavaTable, stretch: Stretch) -> Java:
        if stretch.since is None:
            return self._plan(java, stretch.until)
        # Opens only the manifests that the appends wrote, whatever the size of the table.
        scan = java.newIncrementalAppendScan().fromSnapshotExclusive(stretch.since).toSnapshot(stretch.until)
        return self._bulk.to_list(scan.planFiles())

    def _states(self, tasks: Java) -> list[FileState]:
        read = self._bulk.read
        locations = read(tasks, "ContentScanTask.file", "ContentFile.location")
        rows = read(tasks, "ContentScanTask.file", "ContentFile.recordCount")
        counts = [int(files) - 1 for files in read(tasks, "ScanTask.filesCount")]
        deletes: list[DeleteFile] = []
        if any(counts):
            flat = self._bulk.flatten(self._bulk.map(tasks, "FileScanTask.deletes"))
            properties = (
                read(flat, "ContentFile.location"),
                read(flat, "DeleteFile.contentOffset"),
                read(flat, "ContentFile.content"),
                read(flat, "ContentFile.recordCount"),
            )
            deletes = [DeleteFile(path, at, kind, int(n)) for path, at, kind, n in zip(*properties, strict=True)]
        states, position = [], 0
        for location, count, own in zip(locations, rows, counts, strict=True):
            states.append(FileState(location, int(count), frozenset(deletes[position : position + own])))
            position += own
        if position != len(deletes):
            raise InternalError(f"{len(deletes)} deletes for {position} places in a scan")
        return states

    # --- which schema ---

    def _at(self, java: JavaTable, history: Mapping[int, Snapshot], until: int | None) -> tuple[JavaTable, int | None]:
        """The table as of a snapshot: rows are read with the schema that it had then."""
        current = java.currentSnapshot()
        head = None if current is None else int(current.snapshotId())
        if until is None or until == head:
            return java, head
        schema = history[until].schema_id
        metadata = java.operations().current()
        if schema is None or schema == int(metadata.currentSchemaId()):
            return java, until
        core = jvm(self._spark).org.apache.iceberg
        then = core.TableMetadata.buildFrom(metadata).setCurrentSchema(schema).discardChanges().build()
        return core.BaseTable(core.StaticTableOperations(then, java.io()), java.name()), until

    def _schema_broken(
        self, java: JavaTable, since: Pin | None, after: Mapping[str, Column], needed: Sequence[str] | None
    ) -> Broken | None:
        if since is None:
            return changed_column({}, after, needed)
        if since.schema_id == int(java.schema().schemaId()):
            return changed_column(after, after, needed)
        schema = java.schemas().get(since.schema_id)
        if schema is None:
            return Broken(f"schema {since.schema_id} of '{since.table}' has expired")
        return changed_column(columns_of(schema, self._spark), after, needed)

    # --- rows ---

    def _deleted_rows(self, name: TableName, table: JavaTable, files: Touched, names: Sequence[str]) -> list[DataFrame]:
        """Rows of files that both versions have: deleted after and not before, and where that can be the reverse."""
        parts: list[DataFrame] = []
        if files.after is not None:
            gone = self._addressed(table, files.after, names)
            if files.before is not None:
                addresses = self._deleted_before(name, table, files)
                small = files.before_rows <= _BROADCAST_ROWS
                gone = gone.join(F.broadcast(addresses) if small else addresses, list(_ADDRESS), "left_anti")
            parts.append(_weighted(gone, names, -1))
        if files.revives and files.before is not None:
            back = self._addressed(table, files.before, names)
            if files.after is not None:
                back = back.join(self._addressed(table, files.after, ()), list(_ADDRESS), "left_anti")
            parts.append(_weighted(back, names, 1))
        return parts

    def _deleted_before(self, name: TableName, table: JavaTable, files: Touched) -> DataFrame:
        """Addresses of the rows that were deleted before: listed where possible, else found by reading the files."""
        if files.listed_at is None or (name.is_elsewhere and self._spark not in PINNED):
            return self._addressed(table, files.before, ())
        listed = f"SELECT file_path AS _file, pos AS _pos FROM {name.sql}.position_deletes"
        return self._spark.sql(f"{listed} VERSION AS OF {files.listed_at}")

    def _addressed(self, table: JavaTable, tasks: Java, names: Sequence[str]) -> DataFrame:
        """The rows that the tasks' deletes delete, with their addresses."""
        staged = self._read(table, tasks, metadata=True)
        wanted = [*(quote(name) for name in names), *_ADDRESS]
        return staged.select(*wanted, _DELETED).where(_DELETED).select(*wanted)

    def _read(self, table: JavaTable, tasks: Java, *, metadata: bool = False) -> DataFrame:
        """Exactly these files, less their deletes; with `metadata`, deleted rows are there and marked."""
        key = f"trickle-{uuid.uuid4()}"
        static(self._spark, "org.apache.iceberg.spark.ScanTaskSetManager").get().stageTasks(table, key, tasks)
        self._table_cache().add(key, table)
        self._staged.append((table, key))
        frame = self._spark.table(f"{_STAGED_CATALOG}.{quote(key)}")
        return self._with_metadata(frame) if metadata else frame

    def _no_rows(self, table: JavaTable) -> DataFrame:
        converted = static(self._spark, "org.apache.iceberg.spark.SparkSchemaUtil").convert(table.schema())
        fields = StructType.fromJson(json.loads(converted.json())).fields
        columns = (F.lit(None).cast(field.dataType).alias(field.name) for field in fields)
        return self._spark.range(0).where("false").select(*columns)

    def _with_metadata(self, frame: DataFrame) -> DataFrame:
        """Offer `_file`, `_pos` and `_deleted` as columns.

        The reader has them, but on format 3 Spark hides all metadata columns of a staged table, because one of them
        (`_row_id`) is also among its data columns there.
        """
        relation = frame._jdf.queryExecution().analyzed()
        while relation.nodeName() == "SubqueryAlias":
            relation = relation.child()
        if self._metadata_columns is None:
            offered = self._spark.sql(f"SELECT '' AS _file, 0L AS _pos, false AS {_DELETED}")
            self._metadata_columns = offered._jdf.queryExecution().analyzed().output()
        wider = static(self._spark, "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation")(
            relation.table(),
            relation.output().concat(self._metadata_columns).toList(),
            relation.catalog(),
            relation.identifier(),
            relation.options(),
            relation.timeTravelSpec(),
        )
        # A new instance has attributes of its own, so that two of them can be joined.
        datasets = static(self._spark, "org.apache.spark.sql.classic.Dataset")
        dataset = datasets.ofRows(self._spark._jsparkSession, wider.newInstance())
        return DataFrame(dataset, self._spark)

    def _table_cache(self) -> Java:
        if self._cache is None:
            self._spark.conf.set(
                f"spark.sql.catalog.{_STAGED_CATALOG}", "org.apache.iceberg.spark.SparkRewriteTableCatalog"
            )
            # `get` is also the name of a lookup by key, and the gateway would take that one.
            cache = java_class(self._spark, "org.apache.iceberg.spark.SparkTableCache")
            get = cache.getMethod("get", no_arguments(self._spark, "Class"))
            self._cache = get.invoke(None, no_arguments(self._spark, "Object"))
        return self._cache


def columns_of(schema: Java, spark: SparkSession) -> dict[str, Column]:
    return read_columns(json.loads(static(spark, "org.apache.iceberg.SchemaParser").toJson(schema)))


def _weighted(frame: DataFrame, names: Sequence[str], weight: int) -> DataFrame:
    return frame.selectExpr(*(quote(name) for name in names), f"{weight}L AS {WEIGHT}")


def _some(tasks: Java) -> Java | None:
    return tasks if tasks.size() else None
