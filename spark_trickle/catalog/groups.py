"""Refresh groups as users declared them, and how often each group, declared or found, was published.

All functions work in the caller's transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy import Connection, select

from spark_trickle.catalog.tables import GROUPS, REFRESH_GROUP_MEMBERS, REFRESH_GROUPS
from spark_trickle.errors import NotFoundError
from spark_trickle.model.groups import DeclaredGroup, Isolation
from spark_trickle.names import TableName

KIND = "refresh group"

_ADVANCE = sa.text(
    "INSERT INTO trickle_groups (id, epoch) VALUES (:id, 1)"
    " ON CONFLICT (id) DO UPDATE SET epoch = trickle_groups.epoch + 1"
)


def read(connection: Connection) -> tuple[DeclaredGroup, ...]:
    """The declared ones, by name. A member that was dropped is none any more."""
    members: dict[str, list[TableName]] = defaultdict(list)
    for row in connection.execute(select(REFRESH_GROUP_MEMBERS).order_by(REFRESH_GROUP_MEMBERS.c.position)):
        members[row.group_name].append(TableName(row.namespace, row.name))
    found = (
        DeclaredGroup(
            name=row.name,
            members=tuple(members[row.name]),
            isolation=Isolation(row.isolation),
            snapshot_timeout_ms=row.snapshot_timeout_ms,
            created_at=row.created_at,
        )
        for row in connection.execute(select(REFRESH_GROUPS))
    )
    return tuple(sorted(found, key=lambda group: group.name))


def insert(connection: Connection, group: DeclaredGroup) -> None:
    """Add one that was checked in the same transaction."""
    connection.execute(
        sa.insert(REFRESH_GROUPS).values(
            name=group.name,
            isolation=group.isolation.value,
            snapshot_timeout_ms=group.snapshot_timeout_ms,
            created_at=group.created_at,
        )
    )
    connection.execute(
        sa.insert(REFRESH_GROUP_MEMBERS),
        [
            {"namespace": member.namespace, "name": member.name, "group_name": group.name, "position": position}
            for position, member in enumerate(group.members)
        ],
    )


def delete(connection: Connection, name: str) -> None:
    if connection.execute(sa.delete(REFRESH_GROUPS).where(REFRESH_GROUPS.c.name == name)).rowcount != 1:
        raise NotFoundError(KIND, name, hint="refresh_groups() lists them")


def epochs(connection: Connection) -> dict[str, int]:
    """How often each group was published, by its id; those that never were are left out."""
    return {row.id: row.epoch for row in connection.execute(select(GROUPS))}


def advance(connection: Connection, ids: Iterable[str]) -> None:
    """Note that these groups are published."""
    for each in ids:
        connection.execute(_ADVANCE, {"id": each})
