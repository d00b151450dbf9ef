"""What people did by hand: a row when it begins, completed when it ends.

All functions work in the caller's transaction.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from spark_trickle.catalog.tables import INTERVENTIONS
from spark_trickle.model.intervention import Intervention, InterventionStatus

_I = INTERVENTIONS.c


def begin(connection: Connection, action: str, subject: str, by: str, via: str, at: datetime) -> int:
    """Write down that it begins; gives its number."""
    values = {
        "action": action,
        "subject": subject,
        "by": by,
        "via": via,
        "began_at": at,
        "status": InterventionStatus.RUNNING.value,
    }
    made = connection.execute(insert(INTERVENTIONS).values(values)).inserted_primary_key
    assert made is not None
    return int(made[0])


def end(connection: Connection, number: int, status: InterventionStatus, detail: str | None, took_ms: float) -> None:
    values = {"status": status.value, "detail": detail, "duration_ms": took_ms}
    connection.execute(update(INTERVENTIONS).where(_I.id == number).values(values))


def rows(connection: Connection, subject: str | None, limit: int) -> tuple[Intervention, ...]:
    """Newest first: on one table, or on all."""
    query = select(INTERVENTIONS).order_by(_I.id.desc()).limit(limit)
    if subject is not None:
        query = query.where(_I.subject == subject)
    return tuple(
        Intervention(
            id=row.id,
            action=row.action,
            subject=row.subject,
            by=row.by,
            via=row.via,
            began_at=row.began_at,
            status=InterventionStatus(row.status),
            detail=row.detail,
            duration_ms=row.duration_ms,
        )
        for row in connection.execute(query)
    )


def prune(connection: Connection, older_than: datetime) -> None:
    connection.execute(delete(INTERVENTIONS).where(_I.began_at < older_than))
