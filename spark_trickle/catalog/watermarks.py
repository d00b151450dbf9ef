"""Watermarks of sources: rows to values and back. A watermark that is not later than before is left alone.

All functions work in the caller's transaction. Writers take turns, so what was read still holds when it is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, or_, select, update

from spark_trickle.catalog import gates, pointers
from spark_trickle.catalog.tables import (
    WATERMARK_COLUMNS,
    WATERMARK_GROUP_SOURCES,
    WATERMARK_GROUPS,
    WATERMARK_LOG,
    WATERMARKS,
    WATERMARKS_STUCK,
)
from spark_trickle.errors import NotFoundError, UserError
from spark_trickle.model.frontier import Pointer, commit_number
from spark_trickle.model.gate import GateChange
from spark_trickle.model.watermark import (
    Advance,
    Looked,
    Recorded,
    ToldStuck,
    Watermark,
    WatermarkChange,
    WatermarkColumn,
    WatermarkGroup,
    WatermarkMode,
    Watermarks,
)
from spark_trickle.names import TableName

KIND = "watermark group"
MOST_RECORDED = 1000
"""Recorded versions of one source. Older ones go, except the newest that a group can still need."""
SPARE = 100
"""So many more there may be before anything goes."""


def read(connection: Connection) -> Watermarks:
    """All that is known; recorded versions only of sources that are held back."""
    groups = read_groups(connection)
    held_back = {s for group in groups if group.mode is WatermarkMode.HOLD_BACK for s in group.sources}
    latest = (_watermark(row) for row in connection.execute(select(WATERMARKS)))
    columns = (_column(row) for row in connection.execute(select(WATERMARK_COLUMNS)))
    return Watermarks(
        groups=groups,
        latest={each.source: each for each in sorted(latest, key=lambda each: each.source)},
        log=_log(connection, held_back),
        columns={each.source: each for each in sorted(columns, key=lambda each: each.source)},
        told_stuck=frozenset(TableName(r.namespace, r.name) for r in connection.execute(select(WATERMARKS_STUCK))),
    )


def read_groups(connection: Connection) -> tuple[WatermarkGroup, ...]:
    """By name."""
    sources: dict[str, list[TableName]] = defaultdict(list)
    for row in connection.execute(select(WATERMARK_GROUP_SOURCES).order_by(WATERMARK_GROUP_SOURCES.c.position)):
        sources[row.group_name].append(TableName(row.namespace, row.name))
    return tuple(
        WatermarkGroup(
            name=row.name,
            sources=tuple(sources[row.name]),
            tolerance=timedelta(seconds=row.tolerance_seconds),
            mode=WatermarkMode(row.mode),
            created_at=row.created_at,
        )
        for row in connection.execute(select(WATERMARK_GROUPS).order_by(WATERMARK_GROUPS.c.name))
    )


def apply(connection: Connection, changes: Iterable[WatermarkChange]) -> bool:
    """Carry out changes in their order; whether somebody who waits should look again."""
    moved = [_apply_one(connection, change) for change in changes]
    return any(moved)


def add_group(connection: Connection, group: WatermarkGroup) -> None:
    """Add one that was checked in the same transaction."""
    connection.execute(
        insert(WATERMARK_GROUPS).values(
            name=group.name,
            tolerance_seconds=group.tolerance.total_seconds(),
            mode=group.mode.value,
            created_at=group.created_at,
        )
    )
    rows = [
        {"group_name": group.name, "namespace": source.namespace, "name": source.name, "position": position}
        for position, source in enumerate(group.sources)
    ]
    connection.execute(insert(WATERMARK_GROUP_SOURCES), rows)


def drop_group(connection: Connection, name: str) -> None:
    found = connection.execute(delete(WATERMARK_GROUPS).where(WATERMARK_GROUPS.c.name == name))
    if found.rowcount == 0:
        raise NotFoundError(KIND, name, hint="watermark_groups() lists them")
    # Spelled out: SQLite follows references only where it was told to.
    connection.execute(delete(WATERMARK_GROUP_SOURCES).where(WATERMARK_GROUP_SOURCES.c.group_name == name))


def set_column(connection: Connection, source: TableName, column: WatermarkColumn | None) -> None:
    """Advance the watermark of a source by a column from now on; None: no longer."""
    connection.execute(delete(WATERMARK_COLUMNS).where(_is(WATERMARK_COLUMNS, source)))
    if column is not None:
        connection.execute(
            insert(WATERMARK_COLUMNS).values(
                namespace=source.namespace,
                name=source.name,
                column_name=column.column,
                delay_seconds=column.delay.total_seconds(),
                looked_at=column.looked_at,
            )
        )


def existing(connection: Connection, source: TableName) -> Pointer:
    """Where a table is that can have a watermark."""
    found = pointers.read(connection, [source]).get(source)
    if found is None:
        raise NotFoundError("table", source, hint="A watermark speaks of a table that is there: create it first")
    if found.kind == pointers.VIEW:
        raise UserError(f"'{source}' is a view, which has no versions", hint="Name the tables that it reads")
    return found


def _apply_one(connection: Connection, change: WatermarkChange) -> bool:
    match change:
        case Advance():
            return _advance(connection, change)
        case Looked(source, location):
            where = _is(WATERMARK_COLUMNS, source)
            connection.execute(update(WATERMARK_COLUMNS).where(where).values(looked_at=location))
        case ToldStuck(source, stuck):
            connection.execute(delete(WATERMARKS_STUCK).where(_is(WATERMARKS_STUCK, source)))
            if stuck:
                connection.execute(insert(WATERMARKS_STUCK).values(namespace=source.namespace, name=source.name))
    return False


def _advance(connection: Connection, change: Advance) -> bool:
    source = change.source
    location = change.location or existing(connection, source).location
    row = connection.execute(select(WATERMARKS).where(_is(WATERMARKS, source))).first()
    before = None if row is None else _watermark(row)
    former = before is not None and before.is_of_a_table_before(pointers.read(connection, [source]).get(source))
    if row is not None and not former and change.watermark <= row.watermark:
        if change.watermark < row.watermark and not change.automatic:
            raise UserError(
                f"the watermark of '{source}' cannot move backward: it is at {row.watermark:%Y-%m-%d %H:%M:%S.%f} UTC, "
                f"and {change.watermark} is earlier",
                hint="watermarks() lists them",
                facts={"source": str(source), "watermark": str(row.watermark), "given": str(change.watermark)},
            )
        return False
    values = {
        "watermark": change.watermark,
        "updated_at": change.at,
        "advanced_by": change.by,
        "location": location,
    }
    key = {"namespace": source.namespace, "name": source.name}
    if row is None:
        connection.execute(insert(WATERMARKS).values(key | values))
    else:
        connection.execute(update(WATERMARKS).where(_is(WATERMARKS, source)).values(values))
    _record(connection, source, Recorded(change.watermark, location))
    gate = gates.read(connection, closed_only=True).get(source)
    opened = gate is not None and change.opens(gate)
    if opened:
        gates.apply(connection, [GateChange(source=source, gated=False, at=change.at, by=change.by)])
    # What a tick finds in a column it takes into account itself.
    return opened or not change.automatic


def _record(connection: Connection, source: TableName, recorded: Recorded) -> None:
    """Write down which version it is, and forget now and then what nobody can need any more."""
    c, own = WATERMARK_LOG.c, _is(WATERMARK_LOG, source)
    count, last = connection.execute(select(func.count(), func.max(c.id)).where(own)).one()
    before = None if last is None else connection.execute(select(c.location).where(c.id == last)).scalar_one()
    # Versions that come after this one are of a table that was dropped.
    former = before is not None and commit_number(before) > commit_number(recorded.location)
    if former or count >= MOST_RECORDED + SPARE:
        rows = connection.execute(select(c.id, c.watermark, c.location).where(own).order_by(c.id)).all()
        kept = [row for row in rows if commit_number(row.location) <= commit_number(recorded.location)]
        floor = _floor(connection, source)
        needed = [row.id for row in kept if floor is not None and row.watermark <= floor][-1:]
        wanted = {row.id for row in kept[-(MOST_RECORDED - 1) :]}.union(needed)
        connection.execute(delete(WATERMARK_LOG).where(c.id.in_([row.id for row in rows if row.id not in wanted])))
    connection.execute(
        insert(WATERMARK_LOG).values(
            namespace=source.namespace, name=source.name, watermark=recorded.watermark, location=recorded.location
        )
    )


def _floor(connection: Connection, source: TableName) -> datetime | None:
    """The earliest moment up to which a group of the source is complete: the version recorded there is still needed."""
    latest = {TableName(r.namespace, r.name): r.watermark for r in connection.execute(select(WATERMARKS))}
    found = [
        group.reach(min(latest[each] for each in group.sources))
        for group in read_groups(connection)
        if source in group.sources and all(each in latest for each in group.sources)
    ]
    return min(found, default=None)


def _log(connection: Connection, sources: set[TableName]) -> dict[TableName, tuple[Recorded, ...]]:
    if not sources:
        return {}
    found: dict[TableName, list[Recorded]] = defaultdict(list)
    c = WATERMARK_LOG.c
    wanted = or_(*(_is(WATERMARK_LOG, source) for source in sorted(sources)))
    for row in connection.execute(select(WATERMARK_LOG).where(wanted).order_by(c.id)):
        found[TableName(row.namespace, row.name)].append(Recorded(row.watermark, row.location))
    return {source: tuple(found[source]) for source in sorted(found)}


def _is(table: Any, source: TableName) -> ColumnElement[bool]:
    return and_(table.c.namespace == source.namespace, table.c.name == source.name)


def _watermark(row: Row[Any]) -> Watermark:
    return Watermark(
        source=TableName(row.namespace, row.name),
        watermark=row.watermark,
        updated_at=row.updated_at,
        advanced_by=row.advanced_by,
        location=row.location,
    )


def _column(row: Row[Any]) -> WatermarkColumn:
    return WatermarkColumn(
        source=TableName(row.namespace, row.name),
        column=row.column_name,
        delay=timedelta(seconds=row.delay_seconds),
        looked_at=row.looked_at,
    )
