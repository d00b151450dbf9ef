"""Stream tables: rows to values and back. A value carries the version it was read at, and writing compares it.

All functions work in the caller's transaction.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, and_, select

from spark_trickle.catalog import documents
from spark_trickle.catalog.tables import SOURCES, STREAM_TABLES
from spark_trickle.errors import AlreadyExistsError, ConflictError, NotFoundError
from spark_trickle.model.stream_table import (
    BootstrapGating,
    DiamondConsistency,
    DiamondSchedulePolicy,
    Fuse,
    Options,
    RefreshMode,
    Source,
    Status,
    StreamTable,
)
from spark_trickle.names import TableName, no_stream_table

_C = STREAM_TABLES.c
_S = SOURCES.c

KIND = "stream table"
_DEFINITION = (
    _C.query,
    _C.meaning,
    _C.reads_clock,
    _C.schedule,
    _C.refresh_mode,
    _C.effective_mode,
    _C.diamond_consistency,
    _C.diamond_schedule_policy,
    _C.bootstrap_gating,
    _C.strict,
    _C.fuse,
    _C.fuse_ceiling,
    _C.fuse_sensitivity,
    _C.status,
)
_STOPPED = (Status.SUSPENDED, Status.ERROR)


def insert(connection: Connection, table: StreamTable) -> StreamTable:
    """Add one; AlreadyExistsError where the name is taken."""
    if connection.execute(select(_C.version).where(_is(table.name))).first() is not None:
        raise AlreadyExistsError(KIND, table.name)
    connection.execute(sa.insert(STREAM_TABLES).values(_row(table)))
    _write_sources(connection, table)
    return table


def find(connection: Connection, name: TableName) -> StreamTable | None:
    row = connection.execute(select(STREAM_TABLES).where(_is(name))).first()
    return None if row is None else _value(row, _sources(connection, name).get(name, ()))


def get(connection: Connection, name: TableName) -> StreamTable:
    """As `find`, but NotFoundError where there is none."""
    found = find(connection, name)
    if found is None:
        raise no_stream_table(name, [TableName(*row) for row in connection.execute(select(_C.namespace, _C.name))])
    return found


def all(connection: Connection) -> tuple[StreamTable, ...]:
    """All of them, by name."""
    sources = _sources(connection)
    rows = connection.execute(select(STREAM_TABLES))
    values = (_value(row, sources.get(TableName(row.namespace, row.name), ())) for row in rows)
    # Databases sort text in different ways; here it is always the same.
    return tuple(sorted(values, key=lambda table: table.name))


def update(connection: Connection, table: StreamTable) -> StreamTable:
    """Write a changed value back, if the row is still at the version it was read at. Gives it at its new version."""
    written = replace(table, version=table.version + 1)
    change = sa.update(STREAM_TABLES).where(_is(table.name), _C.version == table.version).values(_row(written))
    if connection.execute(change).rowcount != 1:
        raise _conflict(connection, table)
    if _sources(connection, table.name).get(table.name, ()) != table.sources:
        connection.execute(sa.delete(SOURCES).where(_S.namespace == table.name.namespace, _S.name == table.name.name))
        _write_sources(connection, table)
    return written


def redefines(connection: Connection, table: StreamTable) -> bool:
    """Whether writing this value would change what a scheduler goes by: query, options, sources, whether it may run."""
    row = connection.execute(select(*_DEFINITION).where(_is(table.name))).first()
    if row is None:
        return False
    wanted = _row(table)
    now = row._mapping
    if any(now[column.name] != wanted[column.name] for column in _DEFINITION if column is not _C.status):
        return True
    if now["status"] != wanted["status"] and (now["status"] in _STOPPED or wanted["status"] == Status.SUSPENDED):
        return True
    return _sources(connection, table.name).get(table.name, ()) != table.sources


def delete(connection: Connection, table: StreamTable) -> None:
    """Remove one, if the row is still at the version it was read at. Its history stays."""
    gone = sa.delete(STREAM_TABLES).where(_is(table.name), _C.version == table.version)
    if connection.execute(gone).rowcount != 1:
        raise _conflict(connection, table)


def dependents(connection: Connection, table: TableName) -> tuple[TableName, ...]:
    """The stream tables that read this table directly, by name."""
    query = select(_S.namespace, _S.name).where(_S.source_namespace == table.namespace, _S.source_name == table.name)
    return tuple(sorted({TableName(namespace, name) for namespace, name in connection.execute(query)}))


def reads_itself(connection: Connection, name: TableName) -> bool:
    """Whether it depends on itself, by whatever way: it is in a circle. Only what is above it is looked at."""
    # Views are no part of the way: what they read is read directly.
    read = select(_S.source_namespace, _S.source_name).where(_S.kind != "VIEW")
    above = read.where(_S.namespace == name.namespace, _S.name == name.name).cte("above", recursive=True)
    further = read.where(_S.namespace == above.c.source_namespace, _S.name == above.c.source_name)
    above = above.union(further)
    itself = above.c.source_namespace == name.namespace, above.c.source_name == name.name
    return connection.execute(select(above.c.source_name).where(*itself)).first() is not None


def _is(name: TableName) -> ColumnElement[bool]:
    return and_(_C.namespace == name.namespace, _C.name == name.name)


def _conflict(connection: Connection, table: StreamTable) -> ConflictError | NotFoundError:
    found = connection.execute(select(_C.version).where(_is(table.name))).scalar()
    if found is None:
        return NotFoundError(KIND, table.name)
    return ConflictError(table.name, f"version {table.version}", f"version {found}")


def _write_sources(connection: Connection, table: StreamTable) -> None:
    if table.sources:
        connection.execute(
            sa.insert(SOURCES),
            [
                {
                    "namespace": table.name.namespace,
                    "name": table.name.name,
                    "position": position,
                    "source_namespace": source.table.namespace,
                    "source_name": source.table.name,
                    "kind": source.kind,
                }
                for position, source in enumerate(table.sources)
            ],
        )


def _sources(connection: Connection, of: TableName | None = None) -> dict[TableName, tuple[Source, ...]]:
    columns = (_S.namespace, _S.name, _S.source_namespace, _S.source_name, _S.kind)
    query = select(*columns).order_by(_S.position)
    if of is not None:
        query = query.where(_S.namespace == of.namespace, _S.name == of.name)
    found: dict[tuple[str, str], list[Source]] = defaultdict(list)
    for namespace, name, source_namespace, source_name, kind in connection.execute(query):
        found[namespace, name].append(Source(table=TableName(source_namespace, source_name), kind=kind))
    return {TableName(*name): tuple(sources) for name, sources in found.items()}


def _row(table: StreamTable) -> dict[str, Any]:
    options = table.options
    return {
        "namespace": table.name.namespace,
        "name": table.name.name,
        "query": table.query,
        "normalized_query": table.normalized_query,
        "schedule": options.schedule,
        "refresh_mode": options.refresh_mode.value,
        "diamond_consistency": options.diamond_consistency.value,
        "diamond_schedule_policy": options.diamond_schedule_policy.value,
        "bootstrap_gating": options.bootstrap_gating.value,
        "strict": options.strict,
        "fuse": options.fuse.value,
        "fuse_ceiling": options.fuse_ceiling,
        "status": table.status.value,
        "status_reason": table.status_reason,
        "effective_mode": table.effective_mode.value,
        "mode_reason": table.mode_reason,
        "internal_tables": documents.dump_names(table.internal_tables),
        "explanation": table.explanation,
        "frontier": documents.dump_frontier(table.frontier),
        "published": documents.dump_pins(table.published),
        "version": table.version,
        "epoch": table.epoch,
        "consecutive_errors": table.consecutive_errors,
        "created_at": table.created_at,
        "last_refresh_at": table.last_refresh_at,
        "data_timestamp": table.data_timestamp,
        "notices": documents.dump_texts(table.notices),
        "costs": documents.dump_costs(table.costs),
        "status_since": table.status_since,
        "meaning": documents.dump_meaning(table.meaning),
        "reads_clock": table.reads_clock,
        "reading": table.reading,
        "functions": documents.dump_pairs(table.functions),
        "fixpoint_iterations": table.fixpoint_iterations,
        "fixpoint_at": table.fixpoint_at,
        "fuse_sensitivity": options.fuse_sensitivity,
        "fuse_state": documents.dump_fuse(table.fuse),
        "diverged": documents.dump_diverged(table.diverged),
    }


@lru_cache(maxsize=1024)
def _options(*columns: Any) -> Options:
    """Most stream tables have the same options, and there may be very many of them."""
    schedule, mode, consistency, policy, gating, strict, fuse, ceiling, sensitivity = columns
    return Options(
        schedule=schedule,
        refresh_mode=RefreshMode(mode),
        diamond_consistency=DiamondConsistency(consistency),
        diamond_schedule_policy=DiamondSchedulePolicy(policy),
        bootstrap_gating=BootstrapGating(gating),
        strict=strict,
        fuse=Fuse(fuse),
        fuse_ceiling=ceiling,
        fuse_sensitivity=sensitivity,
    )


def _value(row: Row[Any], sources: tuple[Source, ...]) -> StreamTable:
    return StreamTable(
        name=TableName(row.namespace, row.name),
        query=row.query,
        normalized_query=row.normalized_query,
        options=_options(
            row.schedule,
            row.refresh_mode,
            row.diamond_consistency,
            row.diamond_schedule_policy,
            row.bootstrap_gating,
            row.strict,
            row.fuse,
            row.fuse_ceiling,
            row.fuse_sensitivity,
        ),
        status=Status(row.status),
        status_reason=row.status_reason,
        effective_mode=RefreshMode(row.effective_mode),
        mode_reason=row.mode_reason,
        sources=sources,
        internal_tables=documents.load_names(row.internal_tables),
        explanation=row.explanation,
        frontier=documents.load_frontier(row.frontier),
        published=documents.load_pins(row.published),
        version=row.version,
        epoch=row.epoch,
        consecutive_errors=row.consecutive_errors,
        created_at=row.created_at,
        last_refresh_at=row.last_refresh_at,
        data_timestamp=row.data_timestamp,
        notices=documents.load_texts(row.notices),
        costs=documents.load_costs(row.costs),
        status_since=row.status_since,
        meaning=documents.load_meaning(row.meaning),
        reads_clock=bool(row.reads_clock),
        reading=row.reading or "",
        functions=documents.load_pairs(row.functions),
        fixpoint_iterations=row.fixpoint_iterations,
        fixpoint_at=row.fixpoint_at,
        fuse=documents.load_fuse(row.fuse_state),
        diverged=documents.load_diverged(row.diverged),
    )
