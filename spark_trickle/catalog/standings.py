"""What the scheduler remembers of stream tables: rows to values and back, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select

from spark_trickle.catalog import stream_tables
from spark_trickle.catalog.tables import STANDINGS, STREAM_TABLES
from spark_trickle.model.standing import Failure, Standing
from spark_trickle.model.stream_table import Status
from spark_trickle.names import TableName

_C = STANDINGS.c
_SAME = ("held", "held_since", "retry_at", "error", "slowed")


def read(connection: Connection, of: TableName | None = None) -> dict[TableName, Standing]:
    """All there are, or one, by name."""
    found = {}
    query = select(STANDINGS)
    if of is not None:
        query = query.where(_C.namespace == of.namespace, _C.name == of.name)
    for row in connection.execute(query):
        name = TableName(row.namespace, row.name)
        found[name] = Standing(table=name, **{field: getattr(row, field) for field in _SAME})
    return found


def write(connection: Connection, standings: Iterable[Standing]) -> None:
    """Put these in place of what was remembered; those of stream tables that were dropped meanwhile are forgotten."""
    for standing in standings:
        name = standing.table
        connection.execute(delete(STANDINGS).where(_C.namespace == name.namespace, _C.name == name.name))
        if standing.empty or not _exists(connection, name):
            continue
        values = {field: getattr(standing, field) for field in _SAME}
        connection.execute(insert(STANDINGS).values(namespace=name.namespace, name=name.name, **values))


def fail(connection: Connection, failure: Failure, most: int) -> None:
    """Count a failure. One that will come again is an ERROR at once; of the others, too many in a row suspend, if
    somebody has to look.
    """
    table = stream_tables.find(connection, failure.table)
    if table is None:
        # Dropped while it was being refreshed: there is nothing left to note it on.
        return
    failed = replace(table, consecutive_errors=table.consecutive_errors + 1)
    if failure.permanent:
        failed = replace(failed, status=Status.ERROR, status_reason=failure.error, status_since=failure.at)
    elif failed.consecutive_errors >= most and not failure.outside:
        reason = f"{failed.consecutive_errors} refreshes in a row failed, the last one with {failure.error}"
        failed = replace(failed, status=Status.SUSPENDED, status_reason=reason, status_since=failure.at)
    stream_tables.update(connection, failed)
    remembered = read(connection, failure.table).get(failure.table, Standing(table=failure.table))
    write(connection, [replace(remembered, retry_at=failure.retry_at, error=failure.error)])


def _exists(connection: Connection, name: TableName) -> bool:
    query = select(STREAM_TABLES.c.version).where(
        STREAM_TABLES.c.namespace == name.namespace, STREAM_TABLES.c.name == name.name
    )
    return connection.execute(query).first() is not None
