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
from spark_trickle.storage.deletes import DeadRows
from spark_trickle.storage.iceberg import Java, JavaTable, load, static
from spark_trickle.storage.newest import Newest
from spark_trickle.storage.windows import FileState

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
class Lookups:
    """What refreshes of this process look up."""

    cache: RowCache
    readers: Readers
    least_rows: int
    """Smaller tables are read by whoever needs them."""
    filler: Filler
    dead: DeadRows = field(default_factory=DeadRows)
    _shapes: Newest[tuple[str, int, str], _Shape] = field(default_factory=lambda: Newest(MOST_SHAPES))
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
        tasks, states = feed.files(java, asking.snapshot)
        if not _kept_by_position(states) or (wanted.numbers is None and sum(s.rows for s in states) > MOST_TEXTS):
            return None
        with self._turns.of(str(java.uuid())):
            lacking = self._lacking(java, tasks, asking, shape, key, states)
            if lacking is not None and not self.filler.fill(session, feed, lacking):
                return None
        dead = self.dead.of(session, java, tasks, states)
        live = [LiveFile(file, rows) for file, rows in zip(_data_files(java, states), dead, strict=True)]
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

    def _lacking(
        self, java: JavaTable, tasks: Java, asking: Asking, shape: _Shape, key: Kind, states: Sequence[FileState]
    ) -> Lacking | None:
        """What has to be brought first, with the columns that others read: each data file is read once."""
        files = {file: place for place, file in enumerate(_data_files(java, states))}
        mine = shape.named(asking.columns)
        needed = tuple(dict.fromkeys((*mine.values(), key)))
        missing = self.cache.missing(files, needed)
        unsorted = self.cache.unsorted(files, key) if is_number(key.type) else []
        if not missing and not unsorted:
            return None
        theirs = shape.named(name for each in self.readers.columns(str(java.uuid())) for name in each)
        wider = self.cache.missing(missing, tuple(dict.fromkeys((*needed, *theirs.values()))))
        names = {kind.id: name for name, kind in (*theirs.items(), *mine.items())}
        names[key.id] = asking.column
        return Lacking(asking.table, java, tasks, files, wider, names, key, tuple(unsorted))

    def _shape(self, session: SparkSession, java: JavaTable) -> _Shape:
        version = _version(java)
        found = self._shapes.get(version)
        if found is None:
            found = _shape_of(session, java)
            self._shapes.put(version, found)
        return found


def _data_files(java: JavaTable, states: Iterable[FileState]) -> list[DataFile]:
    table = str(java.uuid())
    return [DataFile(table, state.location, state.rows) for state in states]


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


def _kept_by_position(states: Iterable[FileState]) -> bool:
    """Whether all deletes say which rows they mean."""
    return all(delete.positional for state in states for delete in state.deletes)
