"""Groups of stream tables that are published together: declared by a user, or found in the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spark_trickle.model.stream_table import DiamondSchedulePolicy
from spark_trickle.names import TableName


class Isolation(StrEnum):
    READ_COMMITTED = "read_committed"
    """Members are published together; each may read what is newest when its turn comes."""
    REPEATABLE_READ = "repeatable_read"
    """Members read one cut."""


class GroupOrigin(StrEnum):
    DIAMOND = "diamond"
    """Found: a source reaches a stream table on several paths."""
    DECLARED = "declared"
    """Named by a user with `create_refresh_group`."""
    CIRCLE = "circle"
    """Found: they depend on each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredGroup:
    """A refresh group as a user declared it."""

    name: str
    members: tuple[TableName, ...]
    isolation: Isolation = Isolation.READ_COMMITTED
    snapshot_timeout_ms: int = 0
    """0: no limit. Past it, a tick goes on as `read_committed`."""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Stream tables that are refreshed and published as one."""

    id: str
    """Stays the same while members come and go: the key of the group's epoch."""
    members: tuple[TableName, ...]
    """Sources before their readers."""
    convergence_points: tuple[TableName, ...] = ()
    """Members where the paths of a diamond meet."""
    policy: DiamondSchedulePolicy = DiamondSchedulePolicy.FASTEST
    origin: GroupOrigin = GroupOrigin.DIAMOND
    isolation: Isolation = Isolation.READ_COMMITTED
    snapshot_timeout_ms: int = 0
    declared: tuple[str, ...] = ()
    """Names of the declared groups in it; several where a diamond joins them."""


def strictest(policies: Iterable[DiamondSchedulePolicy]) -> DiamondSchedulePolicy:
    """`slowest` before `fastest`: one convergence point that wants to wait is waited for.

    >>> strictest([DiamondSchedulePolicy.FASTEST, DiamondSchedulePolicy.SLOWEST]).value
    'slowest'
    """
    return DiamondSchedulePolicy.SLOWEST if DiamondSchedulePolicy.SLOWEST in policies else DiamondSchedulePolicy.FASTEST
