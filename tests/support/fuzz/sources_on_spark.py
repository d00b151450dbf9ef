"""The tables of a fuzzed lake in Spark: made in several ways of Iceberg's, and changed by all kinds of statements."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable

from pyspark.sql import SparkSession

from spark_trickle.names import quote
from tests.support.duck import Row
from tests.support.fuzz.lakes import Lake
from tests.support.fuzz.schema import Kind, Source, SourceColumn
from tests.support.fuzz.wild import WILD

_NESTED = (Kind.LIST, Kind.NESTED, Kind.RECORD, Kind.DICTIONARY)
"""Iceberg cannot look for such values in its files, so no DELETE does."""
_MODES = ("copy-on-write", "merge-on-read")


def create(session: SparkSession, lake: Lake, source: Source) -> None:
    for statement in _creation(lake, source):
        session.sql(statement)


def script(lake: Lake) -> str:
    """All that is done to the tables, and the queries; a refresh is a comment."""
    lines = [statement for source in lake.sources for statement in _creation(lake, source)]
    for cycle in range(len(lake.history)):
        lines += changes(lake, cycle)
        lines.append("-- refresh" if cycle else "-- create the stream table")
    return "\n".join((*(f"{line};" for line in lines), *(lake.naming.sql(query.text) for query in lake.queries)))


def _creation(lake: Lake, source: Source) -> Iterable[str]:
    parts = lake.naming.name(source.name).split("\0")
    if len(parts) > 1:
        yield f"CREATE NAMESPACE IF NOT EXISTS lake.{quote(parts[0])}"
    columns = ", ".join(
        f"{quote(lake.naming.name(c.name))} {c.type}{' NOT NULL' if c.required else ''}" for c in source.columns
    )
    chance = zlib.crc32(f"{lake.seed} {source.name}".encode())
    mode = _MODES[chance // 2 % 2]
    settings = {"format-version": 2 + chance % 2, "write.delete.mode": mode, "write.update.mode": mode}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in settings.items())
    yield f"CREATE TABLE {lake.naming.sql(source.name)} ({columns}) USING iceberg TBLPROPERTIES ({listed})"


def put(session: SparkSession, lake: Lake, cycle: int) -> None:
    """Let the tables hold the cycle's state."""
    for statement in changes(lake, cycle):
        session.sql(statement)


def changes(lake: Lake, cycle: int) -> Iterable[str]:
    for source in lake.sources:
        last = lake.history[cycle - 1][source.name] if cycle else ()
        yield from _statements(lake, source, last, lake.history[cycle][source.name], cycle)


def _statements(lake: Lake, source: Source, last: tuple[Row, ...], rows: tuple[Row, ...], cycle: int) -> Iterable[str]:
    table = lake.naming.sql(source.name)
    chance = zlib.crc32(f"{lake.seed} {cycle} {source.name}".encode())
    if last == rows:
        return
    if not rows:
        yield f"DELETE FROM {table}" if chance % 3 else f"TRUNCATE TABLE {table}"
        return
    if last and chance % 4 == 0:
        yield f"INSERT OVERWRITE {table} {_values(source, rows)}"
        return
    place = _updated(last, rows)
    if place is not None:
        column = source.columns[place]
        yield f"UPDATE {table} SET {quote(lake.naming.name(column.name))} = {_literal(column, rows[0][place])}"
        return
    yield from _difference(lake, source, last, rows)


def _difference(lake: Lake, source: Source, last: tuple[Row, ...], rows: tuple[Row, ...]) -> Iterable[str]:
    """One DELETE and one INSERT; of rows that look equal all go, some come again."""
    table = lake.naming.sql(source.name)
    old, new = Counter(last), Counter(rows)
    gone = {_key(source, row) for row in old if new[row] < old[row]}
    if gone:
        shown = {_key(source, row): row for row in old}
        yield f"DELETE FROM {table} WHERE {' OR '.join(_is(lake, source, shown[key]) for key in gone)}"
    come = [row for row in new for _ in range(new[row] - (0 if _key(source, row) in gone else old[row]))]
    if come:
        yield f"INSERT INTO {table} {_values(source, come)}"


def _updated(last: tuple[Row, ...], rows: tuple[Row, ...]) -> int | None:
    """The one column in which all rows have the same value now, if nothing else has changed."""
    if not last or len(last) != len(rows):
        return None
    differ = {place for a, b in zip(last, rows, strict=True) for place in range(len(a)) if a[place] != b[place]}
    if len(differ) != 1:
        return None
    (place,) = differ
    return place if len({row[place] for row in rows}) == 1 else None


def _values(source: Source, rows: Iterable[Row]) -> str:
    listed = (", ".join(map(_literal, source.columns, row)) for row in rows)
    return "VALUES " + ", ".join(f"({each})" for each in listed)


def _literal(column: SourceColumn, value: object) -> str:
    if value is None:
        return f"CAST(NULL AS {column.type})"
    return f"CAST({value} AS {column.type})" if column.kind in WILD else f"CAST('{value}' AS {column.type})"


def _key(source: Source, row: Row) -> tuple[str, ...]:
    """What a comparison sees of a row: nothing nested, and no sign of zero."""
    pairs = zip(source.columns, row, strict=True)
    return tuple(
        str(value).replace("-0.0D", "0.0D").replace("'-0.0'", "'0.0'").removeprefix("-0.0") or "0.0"
        for column, value in pairs
        if column.kind not in _NESTED
    )


def _is(lake: Lake, source: Source, row: Row) -> str:
    tests = (
        f"{quote(lake.naming.name(column.name))} <=> {_literal(column, value)}"
        for column, value in zip(source.columns, row, strict=True)
        if column.kind not in _NESTED
    )
    return f"({' AND '.join(tests)})"
