"""Writing a stream table's own tables in a workspace: whole, appended, merged, or by row address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f
from pyspark.sql import types as t

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.delta.types import hard_to_group, is_map
from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName, quote
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.storage.direct import Addresses, DirectWriter, arrow_schema, directly_writable
from spark_trickle.storage.iceberg import JavaTable, counts, load, pin, rows_in, total_records

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PROPERTIES = {
    "format-version": "3",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
    "write.parquet.compression-codec": "zstd",
}
"""Of every table that we make. Deletion vectors keep a small change small; old metadata files are not kept for ever."""

_SUMMARY = "spark.sql.iceberg.snapshot-property."
_ADVISED = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
_RANGE_BYTES = "16m"
"""Of a range of keys in memory, about: some hundred thousand rows."""


@dataclass(frozen=True, slots=True)
class Written:
    """Rows that a write added and removed."""

    inserted: int
    deleted: int
    commits: int

    @property
    def changed(self) -> bool:
        return self.inserted > 0 or self.deleted > 0

    def __add__(self, other: Written) -> Written:
        return Written(self.inserted + other.inserted, self.deleted + other.deleted, self.commits + other.commits)


NOTHING = Written(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Direct:
    """A version of a table that can be written without Spark."""

    pin: Pin
    table: JavaTable
    schema: pa.Schema
    files: int
    """Data files that it has."""
    rows: int


class Writer:
    """Writes tables of one stream table; every snapshot says whose it is and what it is the answer for."""

    def __init__(self, session: SparkSession, summary: Mapping[str, str], *, may_miss: bool = False) -> None:
        """Args:
        may_miss: rows that a change takes away need not be there.
        """
        self.may_miss = may_miss
        self._session = session
        self._summary = dict(summary)

    def whole(self, table: TableName, frame: DataFrame, *, exists: bool, key: Sequence[str] = ()) -> Written:
        """Make the table hold exactly the frame. With other columns it is replaced; its readers see either, whole.

        Args:
            key: each file holds a range of these columns, so that whoever looks for some keys reads few files.
        """
        deleted = self.rows(table) if exists else 0
        by = [f.col(quote(name)) for name in key if isinstance(frame.schema[name].dataType, t.AtomicType)]
        with self._marked(f"writing '{table}'"), self._ranges_of(_RANGE_BYTES if by else None):
            writer = (frame.repartitionByRange(*by) if by else frame).writeTo(table.sql)
            if exists and _same_columns(self._session.table(table.sql).schema, frame.schema):
                writer.overwrite(f.lit(True))
            else:
                owner = {"trickle.stream-table": self._summary.get("trickle.stream-table", "")}
                for key, value in {**PROPERTIES, **owner}.items():
                    writer = writer.tableProperty(key, value)
                writer = writer.using("iceberg")
                writer.createOrReplace() if exists else writer.create()
        return Written(self.rows(table), deleted, 1)

    def emptied(self, table: TableName, frame: DataFrame, *, exists: bool) -> bool:
        """Let the table have the columns of a frame, and no rows; whether it was not there, or had others."""
        same = exists and _same_columns(self._session.table(table.sql).schema, frame.schema)
        if not same or self.rows(table):
            self.whole(table, frame, exists=exists)
        return not same

    def append(self, table: TableName, frame: DataFrame) -> None:
        with self._marked(f"appending to '{table}'"):
            frame.writeTo(table.sql).append()

    def statement(self, table: TableName, text: str) -> Written:
        """Run a MERGE that changes the table; tells what it did."""
        with self._marked(f"merging into '{table}'"):
            self._session.sql(text).collect()
        return self._last(table)

    def replace_rows(self, table: TableName, frame: DataFrame) -> None:
        """Overwrite all rows of a small table, in one file."""
        with self._marked(f"writing '{table}'"):
            frame.coalesce(1).writeTo(table.sql).overwrite(f.lit(True))

    def direct(self, table: TableName) -> Direct | None:
        """The table for writing without Spark; None: only Spark can write it."""
        java = load(self._session, table)
        if not directly_writable(java):
            return None
        schema = arrow_schema(self._session, java)
        if schema is None:
            return None
        (files,) = counts(java.currentSnapshot(), "total-data-files")
        here = pin(java, table)
        rows = None if here.snapshot_id is None else total_records(java, here.snapshot_id)
        return Direct(here, java, schema, files or 0, rows or 0)

    def change_directly(self, direct: Direct, added: pa.Table, removed: Addresses) -> str | None:
        """Tells the data file of the rows that came."""
        with spark_errors(f"writing a change to '{direct.pin.table}'"):
            return DirectWriter(self._session, direct.table, direct.schema, self._summary).change(added, removed)

    def replace_directly(self, direct: Direct, rows: pa.Table) -> Pin:
        """Let the table hold these rows only; tells which version that is."""
        with spark_errors(f"writing '{direct.pin.table}'"):
            DirectWriter(self._session, direct.table, direct.schema, self._summary).replace(rows)
            return pin(direct.table, direct.pin.table)

    @contextmanager
    def _marked(self, doing: str) -> Iterator[None]:
        for key, value in self._summary.items():
            self._session.conf.set(_SUMMARY + key, value)
        try:
            with spark_errors(doing):
                yield
        finally:
            for key in self._summary:
                self._session.conf.unset(_SUMMARY + key)

    @contextmanager
    def _ranges_of(self, size: str | None) -> Iterator[None]:
        """Let Spark put together small ranges up to a size."""
        if size is None:
            yield
            return
        before = self._session.conf.get(_ADVISED)
        assert before is not None  # Spark has a default for it
        self._session.conf.set(_ADVISED, size)
        try:
            yield
        finally:
            self._session.conf.set(_ADVISED, before)

    def rows(self, table: TableName) -> int:
        """How many rows the table has."""
        return rows_in(self._session, table)

    def _last(self, table: TableName) -> Written:
        """What the newest snapshot of a table added and removed."""
        snapshot = load(self._session, table).currentSnapshot()
        keys = ("added-records", "deleted-records", "added-position-deletes", "removed-position-deletes")
        added, deleted, marked, unmarked = (count or 0 for count in counts(snapshot, *keys))
        return Written(added, deleted + marked - unmarked, 1)


def _same_columns(one: t.StructType, other: t.StructType) -> bool:
    return [(c.name, c.dataType.simpleString()) for c in one] == [(c.name, c.dataType.simpleString()) for c in other]


def delete_by_address(table: TableName, columns: t.StructType, delta_view: str, prune: str, *, inserts: bool) -> str:
    """A MERGE that removes as many copies of each row as its weight says, and adds the rows with positive weights.

    Rows of a bag may repeat and have no key: of several equal ones just so many are deleted, by file and position.
    """
    names = [quote(c.name) for c in columns.fields]
    listed = ", ".join(names)
    found = row_addresses(table.sql, columns, delta_view, prune)
    source = f"SELECT _file AS _trickle_file, _pos AS _trickle_pos FROM ({found})"
    if inserts:
        # Their types come from the rows below: not every type can be written down, a struct's fields have any names.
        empty = ", ".join(f"NULL AS {name}" for name in names)
        source = (
            f"SELECT *, {empty} FROM ({source}) UNION ALL "
            f"SELECT CAST(NULL AS STRING), CAST(NULL AS BIGINT), {listed} FROM {delta_view} "
            f"LATERAL VIEW EXPLODE(SEQUENCE(1, CAST({WEIGHT} AS INT))) AS _trickle_copy WHERE {WEIGHT} > 0"
        )
    statement = (
        f"MERGE INTO {table.sql} AS _trickle_t USING ({source}) AS _trickle_s "
        f"ON _trickle_t._file = _trickle_s._trickle_file AND _trickle_t._pos = _trickle_s._trickle_pos "
        f"WHEN MATCHED THEN DELETE"
    )
    if inserts:
        values = ", ".join(f"_trickle_s.{name}" for name in names)
        statement += f" WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({values})"
    return statement


def row_addresses(relation: str, columns: t.StructType, delta_view: str, prune: str) -> str:
    """File and position of as many copies of each row as its weight says go.

    Args:
        relation: the table, or rows of it that were looked up with their addresses.
    """
    match = " AND ".join(_equal(c) for c in columns.fields)
    removed = (
        f"SELECT *, -{WEIGHT} AS _trickle_copies, MONOTONICALLY_INCREASING_ID() AS _trickle_row "
        f"FROM {delta_view} WHERE {WEIGHT} < 0"
    )
    numbered = (
        "SELECT _trickle_t._file, _trickle_t._pos, _trickle_d._trickle_copies, "
        "ROW_NUMBER() OVER (PARTITION BY _trickle_d._trickle_row ORDER BY _trickle_t._file, _trickle_t._pos) "
        "AS _trickle_nth "
        f"FROM {relation} AS _trickle_t JOIN ({removed}) AS _trickle_d ON {match} WHERE {prune}"
    )
    return f"SELECT _file, _pos FROM ({numbered}) WHERE _trickle_nth <= _trickle_copies"


def copies(table: TableName, columns: t.StructType, view: str, prune: str) -> str:
    """All copies of the rows of a view, with file and position."""
    match = " AND ".join(_equal(c) for c in columns.fields)
    return (
        f"SELECT /*+ BROADCAST(_trickle_d) */ _trickle_t.*, _trickle_t._file, _trickle_t._pos "
        f"FROM {table.sql} AS _trickle_t LEFT SEMI JOIN {view} AS _trickle_d ON {match} WHERE {prune}"
    )


def keyed_addresses(relation: str, key: tuple[str, ...], delta_view: str, prune: str) -> str:
    """File and position of the rows whose keys a change takes away."""
    listed = ", ".join(quote(name) for name in key)
    match = " AND ".join(f"_trickle_t.{quote(name)} <=> _trickle_d.{quote(name)}" for name in key)
    return (
        f"SELECT /*+ BROADCAST(_trickle_d) */ _trickle_t._file, _trickle_t._pos FROM {relation} AS _trickle_t "
        f"JOIN (SELECT {listed} FROM {delta_view} WHERE {WEIGHT} < 0) AS _trickle_d ON {match} WHERE {prune}"
    )


def _equal(column: t.StructField) -> str:
    name = quote(column.name)
    equal = f"_trickle_t.{name} <=> _trickle_d.{name}"
    same_text = f"CAST(_trickle_t.{name} AS STRING) <=> CAST(_trickle_d.{name} AS STRING)"
    kind = column.dataType.simpleString()
    if kind == "void":
        return "TRUE"  # all are NULL, and Spark's joins take two of them for different
    if kind == "variant" or "map<" in kind:
        if kind == "variant":
            return same_text
        if not is_map(kind):
            # Neither the text nor the JSON of what holds a map is unique; both together are.
            same_json = f"TO_JSON(STRUCT(_trickle_t.{name})) <=> TO_JSON(STRUCT(_trickle_d.{name}))"
            return f"{same_text} AND {same_json}"
        # Maps cannot be compared; and 'null' and NULL in them have the same text.
        return f"{same_text} AND MAP_ENTRIES(_trickle_t.{name}) <=> MAP_ENTRIES(_trickle_d.{name})"
    # 0.0 and -0.0 compare equal but are two values.
    return f"{equal} AND {same_text}" if hard_to_group(kind) else equal
