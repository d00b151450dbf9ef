"""Reading the cut again and again: what has not changed since the last time is not read, parsed or made again.

A scheduler does so every second over ten thousand stream tables, and mostly nothing has happened; a refresh by hand is
about one of them. It is asked first whether anything was committed at all, then whether any of it matters here; only
then are rows read, and of those that are as they were no values are made.
"""

from __future__ import annotations

import threading
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from spark_trickle.catalog import gates, generation, groups, pointers, stream_tables, watermarks
from spark_trickle.catalog.address import Backend
from spark_trickle.catalog.database import Database
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import LAKE, TableName

if TYPE_CHECKING:
    from spark_trickle.catalog.catalog import Catalog

_HEADS = (
    "SELECT table_namespace, table_name, metadata_location, iceberg_type FROM iceberg_tables "
    f"WHERE catalog_name = '{LAKE}' AND metadata_location IS NOT NULL"
)
# The version alone would not tell a stream table from another that was made under its name.
_VERSIONS = "SELECT namespace, name, version, created_at FROM trickle_stream_tables"
# Every update advances a version, and whatever is created or dropped the generation.
_DEFINED = "SELECT COUNT(*), SUM(version) FROM trickle_stream_tables"
# What users say of watermarks advances the generation, too; what a tick finds and tells does not.
_WATERMARKS = (
    "SELECT 'log', CAST(MAX(id) AS TEXT), '' FROM trickle_watermark_log "
    "UNION ALL SELECT namespace, name, looked_at FROM trickle_watermark_columns "
    "UNION ALL SELECT namespace, name, '' FROM trickle_watermarks_stuck"
)
# One without tables is in no pointer.
_NAMESPACES = f"SELECT DISTINCT namespace FROM iceberg_namespace_properties WHERE catalog_name = '{LAKE}' ORDER BY 1"
_PRINT = {
    Backend.SQLITE: "SELECT group_concat(table_namespace || '.' || table_name || ' ' || metadata_location, ' ')",
    Backend.POSTGRESQL: "SELECT md5(string_agg(table_namespace || '.' || table_name || ' ' || metadata_location, ' '))",
}
_FEW = 500
"""Up to this many changed rows are read one by one."""

Rows = list[tuple[Any, ...]]


class CutReader:
    """The cut, as often as wanted. The same value again means that nothing has changed. For one thread."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lake: Cut | None = None
        self._given: Cut | None = None
        """The last one, with the tables of other catalogs."""

    def __call__(self) -> Cut:
        lake, given = self._catalog.cut_of_lake(), self._given
        found = self._catalog.with_elsewhere(lake)
        same = given is not None and lake is self._lake and _may_change(given) == _may_change(found)
        self._lake, self._given = lake, given if same else found
        assert self._given is not None
        return self._given


class LakeReader:
    """The cut without other catalogs, as often as wanted, by whichever thread. The same value: nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = threading.Lock()
        self._heads: Rows = []
        self._versions: Rows = []
        self._pointers: dict[tuple[Any, ...], Pointer] = {}
        self._cut: Cut | None = None
        self._stamp = ""
        self._seen: tuple[Any, ...] = ()
        self._told: tuple[Any, ...] = ()

    def __call__(self) -> Cut:
        with self._reading:
            # Asked before reading: what is committed in between is looked at once more, not missed.
            stamp = self._database.stamp()
            if self._cut is None or stamp != self._stamp:
                self._cut = self._read()
                self._stamp = stamp
            return self._cut

    def _read(self) -> Cut:
        with self._database.read() as connection:
            number, before = generation.read(connection), self._cut
            told = (number, *_rows(connection, _WATERMARKS))
            seen = (
                told,
                *_rows(connection, _DEFINED),
                *_rows(connection, _NAMESPACES),
                *_rows(connection, self._print),
            )
            if before is not None and seen == self._seen:
                return before
            heads, versions = _rows(connection, _HEADS), _rows(connection, _VERSIONS)
            known = self._pointers
            self._pointers = {row: known.get(row) or _pointer(row) for row in heads}
            found = {pointer.table: pointer for pointer in self._pointers.values()}
            cut = Cut(
                id=identity(found) if before is None or heads != self._heads else before.id,
                pointers=found,
                tables=self._tables(connection, versions),
                namespaces=pointers.namespaces(connection),
                gates=gates.read(connection, closed_only=True),
                generation=number,
                groups=groups.read(connection),
                watermarks=before.watermarks if before and told == self._told else watermarks.read(connection),
            )
            # At the end: what could not be read to its end is read again.
            self._heads, self._versions, self._told, self._seen = heads, versions, told, seen
            return cut

    @property
    def _print(self) -> str:
        """Asks for something that differs when any table is elsewhere."""
        wanted = f"FROM iceberg_tables WHERE catalog_name = '{LAKE}' AND metadata_location IS NOT NULL"
        return f"{_PRINT[self._database.backend]} {wanted}"

    def _tables(self, connection: Connection, versions: Rows) -> dict[TableName, StreamTable]:
        known = {} if self._cut is None else self._cut.tables
        if known and versions == self._versions:
            return known
        changed = {TableName(row[0], row[1]) for row in set(versions).difference(self._versions)}
        if not known or len(changed) > _FEW:
            return {table.name: table for table in stream_tables.all(connection)}
        fresh = {name: stream_tables.get(connection, name) for name in changed}
        names = (TableName(namespace, name) for namespace, name in sorted(row[:2] for row in versions))
        return {name: fresh.get(name) or known[name] for name in names}


def identity(heads: dict[TableName, Pointer]) -> str:
    """The id of a cut: of the versions of all tables, whoever reads them."""
    lines = sorted(f"{name.namespace}\0{name.name}\0{head.location}" for name, head in heads.items())
    return blake2b("\0".join(lines).encode(), digest_size=8).hexdigest()


def _may_change(cut: Cut) -> tuple[object, ...]:
    """What a look at other catalogs may change."""
    return cut.id, cut.away, cut.gates


def _rows(connection: Connection, query: str) -> Rows:
    """Rows as the driver makes them."""
    with connection.exec_driver_sql(query) as result:
        return list(result.cursor.fetchall())


def _pointer(row: tuple[Any, ...]) -> Pointer:
    return Pointer(TableName(row[0], row[1]), row[2], row[3] or pointers.TABLE)
