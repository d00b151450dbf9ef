"""The scheduler's lease: one row. Taking it advances the token, which publications of the scheduler carry.

All functions work in the caller's transaction. Writers take turns, so the token that a publication compares is still
the current one when it commits: that, and no clock, is what keeps a deposed scheduler from publishing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from spark_trickle.catalog import documents
from spark_trickle.catalog.tables import LEASE
from spark_trickle.errors import DeposedError
from spark_trickle.model.standing import LeaseRow, UnderWay


def read(connection: Connection) -> LeaseRow:
    row = connection.execute(select(LEASE)).one()
    return LeaseRow(
        token=row.token,
        holder=row.holder,
        expires_at=row.expires_at,
        ticked_at=row.ticked_at,
        running=documents.load_under_way(row.running),
    )


def take(connection: Connection, holder: str, now: datetime, expires_at: datetime) -> LeaseRow | None:
    """Take it if it is free or has ended; None: somebody else holds it."""
    found = read(connection)
    if found.live(now):
        return None
    taken = {"token": found.token + 1, "holder": holder, "expires_at": expires_at, "running": None}
    connection.execute(update(LEASE).values(taken))
    return read(connection)


def renew(
    connection: Connection,
    token: int,
    expires_at: datetime,
    ticked_at: datetime | None = None,
    running: Iterable[UnderWay] = (),
) -> None:
    """Hold it for longer, and say what is under way; DeposedError when somebody else has taken it."""
    require(connection, token)
    values: dict[str, Any] = {"expires_at": expires_at, "running": documents.dump_under_way(running)}
    values |= {} if ticked_at is None else {"ticked_at": ticked_at}
    connection.execute(update(LEASE).values(values))


def give_back(connection: Connection, token: int) -> None:
    """Free it, if it still is ours."""
    connection.execute(update(LEASE).where(LEASE.c.token == token).values(holder=None, expires_at=None, running=None))


def require(connection: Connection, token: int) -> None:
    """DeposedError unless this is the token of who holds the lease now."""
    found = connection.execute(select(LEASE.c.token)).scalar_one()
    if found != token:
        raise DeposedError(token, found)
