"""Rows beside a change, looked up by their keys: no scan, no job, and exactly those rows of exactly that version.

Columns of large tables that are joined are kept on the driver's disk by data file (`rows/`). A version of a table is
its data files less their deleted rows, so what a table was and what it is are both there, and nothing is ever out of
date. What cannot be looked up is read by Spark: columns of nested and floating types, tables with equality deletes,
tables past the budget, and what is not there yet. Few missing rows are brought at once, many beside the refreshes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from spark_trickle.names import TableName
from spark_trickle.rows.cache import FILE, PLACE, Kind, LiveFile, RowCache
from spark_trickle.rows.keys import Wanted, is_key, is_number
from spark_trickle.rows.pieces import DataFile
from spark_trickle.spark.execution.filling import Filler, Lacking
from spark_trickle.spark.execution.readers import Columns, Readers
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.turns import Turns
from spark_trickle.storage.arrow_types import arrow_type
from spark_trickle.storage.deletes import NO_ROWS, DeadRows
from spark_trickle.storage.iceberg import Java, JavaTable, load, static
from spark_trickle.storage.newest import Newest
from spark_trickle.storage.windows import FileState, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.storage.changes import ChangeFeed

MOST_ROWS = 500_000
"""More are not brought here."""
MOST_TEXTS = 20_000_000
"""Of a column of texts all rows are looked at, which is worth it up to so many."""
MOST_SHAPES = 2_000
OF_ICEBERG = ("_file", "_pos", "_deleted")
"""Where a column of a user's is called so, Iceberg cannot say which row is which."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The columns of a table, as they are now."""

    kinds: Mapping[str, Kind]
    """By name in lower case; those that are kept."""
    schema: t.StructType

    def named(self, columns: Iterable[str], *, in_order: bool = False) -> dict[str, Kind]:
        """Those of these columns that are kept, by their names; `in_order`: floating ones are not."""
        found = {name: self.kinds[name.lower()] for name in columns if name.lower() in self.kinds}
        return {name: kind for name, kind in found.items() if not (in_order and pa.types.is_floating(kind.type))}

    def spark(self, columns: Iterable[str]) -> list[t.StructField]:
        """These columns, as Spark knows them."""
        fields = {field.name.lower(): field for field in self.schema.fields}
        return [fields[name.lower()] for name in columns]


@dataclass(frozen=True, slots=True)
class Asking:
    """Which rows of which version of a table, and what of them."""

    table: TableName
    snapshot: int
    column: str
    columns: Columns
    most_rows: int = MOST_ROWS
    in_order: bool = True
    """A floating sum depends on the order of its rows: where one may be made of them, Spark reads them in its order."""
    addresses: tuple[str, str] | None = None
    """What the columns are called that say where each row is: its data file, and its place there. None: not wanted."""


@dataclass(frozen=True, slots=True)
class _Files:
    """Data files of a table in one version."""

    name: TableName
    java: JavaTable
    tasks: Java
    states: Sequence[FileState]

    @property
    def rows(self) -> int:
        return sum(state.rows for state in self.states)

    @property
    def kept_by_position(self) -> bool:
        """Whether all deletes say which rows they mean."""
        return all(delete.positional for state in self.states for delete in state.deletes)

    @property
    def data_files(self) -> list[DataFile]:
        table = str(self.java.uuid())
        return [DataFile(table, state.location, state.rows) for state in self.states]


@dataclass(frozen=True, slots=True)
class Lookups:
    """What refreshes of this process look up."""

    cache: RowCache
    readers: Readers
    least_rows: int
    """Smaller tables are read by whoever needs them."""
    filler: Filler
    dead: DeadRows = field(default_factory=DeadRows)
    _shapes: Newest[tuple[str, int, str], _Shape] = field(default_factory=lambda: Newest(MOST_SHAPES))
    _losing: Newest[str, bool] = field(default_factory=lambda: Newest(MOST_SHAPES))
    """Tables that lost rows of large files: whoever does so again has its columns kept."""
    _turns: Turns = field(default_factory=Turns)

    @property
    def on(self) -> bool:
        return self.cache.most_bytes > 0

    def get(
        self, session: SparkSession, feed: ChangeFeed, asking: Asking, keys: pa.ChunkedArray
    ) -> tuple[pa.Table, t.StructType] | None:
        """The rows whose column is one of the keys; None: Spark has to read them."""
        wanted = Wanted.of(keys.combine_chunks())
        if not self.on or len(wanted.values) == 0 or not is_key(wanted.values.type):
            return None
        with spark_errors(f"looking up rows of '{asking.table}'"):
            return self._found(session, feed, asking, wanted)

    def _found(
        self, session: SparkSession, feed: ChangeFeed, asking: Asking, wanted: Wanted
    ) -> tuple[pa.Table, t.StructType] | None:
        java = load(session, asking.table)
        shape = self._shape(session, java)
        kinds = shape.named(asking.columns, in_order=asking.in_order)
        key = shape.kinds.get(asking.column.lower())
        if key is None or len(kinds) < len(asking.columns) or is_number(key.type) != (wanted.numbers is not None):
            return None
        files = _Files(asking.table, java, *feed.files(java, asking.snapshot))
        if not files.kept_by_position or (wanted.numbers is None and files.rows > MOST_TEXTS):
            return None
        with self._turns.of(str(java.uuid())):
            lacking = self._lacking(files, shape, kinds, (asking.column, key))
            if lacking is not None and not self.filler.fill(session, feed, lacking):
                return None
        dead = self.dead.of(session, java, files.tasks, files.states)
        live = [LiveFile(file, rows) for file, rows in zip(files.data_files, dead, strict=True)]
        rows = self.cache.find(live, key, wanted, list(kinds.values()), asking.most_rows)
        if rows is None:
            return None
        fields = shape.spark(kinds)
        if asking.addresses is None:
            rows = rows.drop_columns([FILE, PLACE])
        else:
            file, place = asking.addresses
            rows = rows.set_column(len(kinds), FILE, rows.column(FILE).cast(pa.string()))
            fields += [t.StructField(file, t.StringType()), t.StructField(place, t.LongType())]
        schema = t.StructType(fields)
        return rows.rename_columns(schema.names), schema

    def keep(self, session: SparkSession, table: TableName, location: str, rows: pa.Table) -> None:
        """Rows that were just written to a table are kept at once, if rows of it are looked up."""
        java = load(session, table)
        if not self.on or not rows.num_rows or self._shapes.get(_version(java)) is None:
            return
        kinds = self._shape(session, java).named(rows.column_names)
        columns = {kind: rows.column(name).combine_chunks().cast(kind.type) for name, kind in kinds.items()}
        if columns:
            self.cache.put(DataFile(str(java.uuid()), location, rows.num_rows), columns)

    def deleted(
        self, session: SparkSession, feed: ChangeFeed, window: Window, columns: Columns
    ) -> list[pa.Table] | None:
        """The rows of data files of both versions that only the later one deletes: by their places, without a look at
        the files. None: Spark has to read those."""
        shape = self._shape(session, window.table)
        kinds = shape.named(columns)
        if not self.on or not columns or len(kinds) < len(columns) or any(part.revives for part in window.touched):
            return None
        found = []
        for part in window.touched:
            after = _Files(window.name, window.table, part.after, part.states_after)
            before = _Files(window.name, window.table, part.before, part.states_before)
            if not (after.kept_by_position and before.kept_by_position) or not self._is_kept(
                session, feed, after, shape, kinds
            ):
                return None
            places = self._died(session, before, after)
            rows = None if places is None else self.cache.rows_at(places, list(kinds.values()))
            if rows is None:
                return None
            found.append(rows.drop_columns([FILE, PLACE]).rename_columns(list(kinds)))
        return found

    def _is_kept(
        self, session: SparkSession, feed: ChangeFeed, files: _Files, shape: _Shape, kinds: Mapping[str, Kind]
    ) -> bool:
        """Whether these columns are here, or brought now. Of a table that loses rows for the first time nothing is."""
        uuid = str(files.java.uuid())
        with self._turns.of(uuid):
            lacking = self._lacking(files, shape, kinds, None)
            if lacking is None:
                return True
            known = self._losing.get(uuid) is not None
            self._losing.put(uuid, True)
            return known and files.rows >= self.least_rows and self.filler.fill(session, feed, lacking)

    def _died(self, session: SparkSession, before: _Files, after: _Files) -> list[tuple[DataFile, np.ndarray]] | None:
        """The rows that are deleted after and not before; None: some were deleted before only."""
        then: dict[str, np.ndarray] = {}
        if before.states:
            dead = self.dead.of(session, before.java, before.tasks, before.states)
            then = {state.location: rows for state, rows in zip(before.states, dead, strict=True)}
        found = []
        now = self.dead.of(session, after.java, after.tasks, after.states)
        for file, rows in zip(after.data_files, now, strict=True):
            was = then.pop(file.location, NO_ROWS)
            gone = np.setdiff1d(rows, was, assume_unique=True)
            if len(gone) + len(was) != len(rows):
                return None
            found.append((file, gone))
        return None if then else found

    def _lacking(
        self, version: _Files, shape: _Shape, mine: Mapping[str, Kind], by: tuple[str, Kind] | None
    ) -> Lacking | None:
        """What has to be brought first, with the columns that others read: each data file is read once.

        Args:
            by: the column that rows are looked up by, and its name.
        """
        files = {file: place for place, file in enumerate(version.data_files)}
        key = None if by is None else by[1]
        needed = tuple(dict.fromkeys((*mine.values(), *([] if key is None else [key]))))
        missing = self.cache.missing(files, needed)
        unsorted = self.cache.unsorted(files, key) if key is not None and is_number(key.type) else []
        if not missing and not unsorted:
            return None
        theirs = shape.named(name for each in self.readers.columns(str(version.java.uuid())) for name in each)
        wider = self.cache.missing(missing, tuple(dict.fromkeys((*needed, *theirs.values()))))
        names = {kind.id: name for name, kind in (*theirs.items(), *mine.items())}
        if by is not None:
            names[by[1].id] = by[0]
        return Lacking(version.name, version.java, version.tasks, files, wider, names, key, tuple(unsorted))

    def _shape(self, session: SparkSession, java: JavaTable) -> _Shape:
        version = _version(java)
        found = self._shapes.get(version)
        if found is None:
            found = _shape_of(session, java)
            self._shapes.put(version, found)
        return found


def _version(java: JavaTable) -> tuple[str, int, str]:
    # What a file without numbers of columns holds is told by this property, which may change.
    mapping = java.properties().get("schema.name-mapping.default")
    return str(java.uuid()), int(java.schema().schemaId()), str(mapping or "")


def _shape_of(session: SparkSession, java: JavaTable) -> _Shape:
    described = json.loads(static(session, "org.apache.iceberg.SchemaParser").toJson(java.schema()))
    converted = static(session, "org.apache.iceberg.spark.SparkSchemaUtil").convert(java.schema())
    _, _, mapping = _version(java)
    kinds: dict[str, Kind] = {}
    if any(column["name"].lower() in OF_ICEBERG for column in described["fields"]):
        return _Shape(kinds, t.StructType.fromJson(json.loads(converted.json())))
    for column in described["fields"]:
        kind = arrow_type(column["type"])
        if kind is not None:
            told = [column["id"], column["type"], column.get("initial-default"), mapping]
            kinds[column["name"].lower()] = Kind(json.dumps(told), kind)
    return _Shape(kinds, t.StructType.fromJson(json.loads(converted.json())))
