"""A number that advances whenever what a scheduler goes by is changed: definitions of stream tables, gates, groups.

Another process asks for it often and cheaply, and looks closer only when it has moved. Refreshes do not move it: their
own effect would wake the scheduler that ran them. All functions work in the caller's transaction.
"""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from spark_trickle.catalog.tables import GENERATION

_ONLY = GENERATION.c.id == 1


def read(connection: Connection) -> int:
    return int(connection.execute(select(GENERATION.c.value).where(_ONLY)).scalar_one())


def advance(connection: Connection) -> None:
    connection.execute(update(GENERATION).where(_ONLY).values(value=GENERATION.c.value + 1))
