"""Gates of sources: rows to values and back, and their history. A gate that is already as asked for is left alone.

All functions work in the caller's transaction. Writers take turns, so what was read still holds when it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, insert, select, update

from spark_trickle.catalog import pointers
from spark_trickle.catalog.tables import GATE_HISTORY, GATES
from spark_trickle.model.gate import Gate, GateChange, GateEvent
from spark_trickle.names import TableName

_C = GATES.c
_H = GATE_HISTORY.c


def read(connection: Connection, *, closed_only: bool = False) -> dict[TableName, Gate]:
    """All gates that ever were, or the closed ones, by name."""
    query = select(GATES)
    if closed_only:
        query = query.where(_C.gated.is_(True))
    found = (_value(row) for row in connection.execute(query))
    return {gate.source: gate for gate in sorted(found, key=lambda gate: gate.source)}


def apply(connection: Connection, changes: Iterable[GateChange]) -> bool:
    """Close and open gates in the given order; whether any is not as it was."""
    moved = [_apply_one(connection, change) for change in changes]
    return any(moved)


def history(connection: Connection, source: TableName | None = None, limit: int | None = 20) -> tuple[GateEvent, ...]:
    """Newest first: of one source, or of all. `limit=None`: without end."""
    query = select(GATE_HISTORY).order_by(_H.id.desc())
    if source is not None:
        query = query.where(_H.namespace == source.namespace, _H.name == source.name)
    if limit is not None:
        query = query.limit(limit)
    rows = connection.execute(query)
    return tuple(
        GateEvent(source=TableName(row.namespace, row.name), gated=row.gated, at=row.at, by=row.by) for row in rows
    )


def _apply_one(connection: Connection, change: GateChange) -> bool:
    row = connection.execute(select(GATES).where(_is(change.source))).first()
    if change.gated:
        wanted: dict[str, object] = {"auto_ungate_on_watermark": change.auto_ungate_on_watermark}
        if row is not None and row.gated:
            # Closed already: since when and by whom stays, or its duration would be a lie.
            if row.auto_ungate_on_watermark == change.auto_ungate_on_watermark:
                return False
            connection.execute(update(GATES).where(_is(change.source)).values(wanted))
            return True
        wanted |= {"gated": True, "gated_at": change.at, "ungated_at": None, "gated_by": change.by}
        here = pointers.read(connection, [change.source]).get(change.source)
        wanted["location"] = None if here is None else here.location
        if row is None:
            key = {"namespace": change.source.namespace, "name": change.source.name}
            connection.execute(insert(GATES).values(key | wanted))
        else:
            connection.execute(update(GATES).where(_is(change.source)).values(wanted))
    else:
        if row is None or not row.gated:
            return False
        connection.execute(update(GATES).where(_is(change.source)).values(gated=False, ungated_at=change.at))
    connection.execute(
        insert(GATE_HISTORY).values(
            namespace=change.source.namespace, name=change.source.name, gated=change.gated, at=change.at, by=change.by
        )
    )
    return True


def _is(source: TableName) -> ColumnElement[bool]:
    return and_(_C.namespace == source.namespace, _C.name == source.name)


def _value(row: Row[Any]) -> Gate:
    return Gate(
        source=TableName(row.namespace, row.name),
        gated=row.gated,
        gated_at=row.gated_at,
        ungated_at=row.ungated_at,
        gated_by=row.gated_by,
        auto_ungate_on_watermark=row.auto_ungate_on_watermark,
        location=row.location,
    )
