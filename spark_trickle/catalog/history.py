"""The history: one row for each refresh that was tried. Rows are added and pruned, never changed.

All functions work in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from spark_trickle.catalog import documents
from spark_trickle.catalog.tables import HISTORY
from spark_trickle.model.refresh import Action, Activity, HistoryRow, Outcome

_SAME = tuple(field.name for field in fields(HistoryRow) if field.name not in {"action", "status", "frontier", "group"})
"""Fields that lie in a column of their own name, as they are."""
_IN_SHORT = tuple(field.name for field in fields(Activity))


def append(connection: Connection, *rows: HistoryRow) -> None:
    extend(connection, rows)


def extend(connection: Connection, rows: Iterable[HistoryRow]) -> None:
    values = [_row(row) for row in rows]
    if values:
        connection.execute(insert(HISTORY), values)


def rows(connection: Connection, name: str | None = None, limit: int | None = 20) -> tuple[HistoryRow, ...]:
    """Newest first: of one stream table, or of all. `limit=None`: without end."""
    query = select(HISTORY).order_by(HISTORY.c.id.desc())
    if name is not None:
        query = query.where(HISTORY.c.name == name)
    if limit is not None:
        query = query.limit(limit)
    return tuple(_value(row) for row in connection.execute(query))


def last_attempts(connection: Connection, names: Iterable[str]) -> dict[str, HistoryRow]:
    """The newest row of each that is not a skip. One small question each: histories are long."""
    found = {}
    for name in names:
        tried = (HISTORY.c.name == name, HISTORY.c.status != Outcome.SKIPPED.value)
        row = connection.execute(select(HISTORY).where(*tried).order_by(HISTORY.c.id.desc()).limit(1)).first()
        if row is not None:
            found[name] = _value(row)
    return found


def publications(connection: Connection, name: str, since: datetime, limit: int) -> tuple[HistoryRow, ...]:
    """Refreshes of one stream table that went well and began since then, newest first; and the one before them, which
    says where they began."""
    done = select(HISTORY).where(HISTORY.c.name == name, HISTORY.c.status == Outcome.COMPLETED.value)
    done = done.order_by(HISTORY.c.id.desc())
    found = connection.execute(done.where(HISTORY.c.started_at >= since).limit(limit)).all()
    before = connection.execute(done.where(HISTORY.c.started_at < since).limit(1)).all() if len(found) < limit else []
    return tuple(_value(row) for row in (*found, *before))


def activity(connection: Connection, after: int, since: datetime, limit: int) -> tuple[Activity, ...]:
    """The newest rows with a higher number that began since then, without what takes long to read; oldest first."""
    columns = [HISTORY.c[name] for name in _IN_SHORT]
    query = select(*columns).where(HISTORY.c.id > after, HISTORY.c.started_at >= since)
    found = connection.execute(query.order_by(HISTORY.c.id.desc()).limit(limit)).all()
    return tuple(
        Activity(**{**row._mapping, "action": Action(row.action), "status": Outcome(row.status)})
        for row in reversed(found)
    )


def prune(connection: Connection, older_than: datetime) -> int:
    """Forget what started before that moment; gives how many rows."""
    return connection.execute(delete(HISTORY).where(HISTORY.c.started_at < older_than)).rowcount


def _row(row: HistoryRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _SAME} | {
        "action": row.action.value,
        "status": row.status.value,
        "frontier": documents.dump_frontier(row.frontier),
        "group_name": row.group,
    }


def _value(row: Row[Any]) -> HistoryRow:
    return HistoryRow(
        **{name: getattr(row, name) for name in _SAME},
        action=Action(row.action),
        status=Outcome(row.status),
        frontier=documents.load_frontier(row.frontier),
        group=row.group_name,
    )
