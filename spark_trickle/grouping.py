"""Groups for users: declaring and dropping refresh groups, and listing what is published together.

What is a group is decided in `graph`; declared groups and epochs are kept in `catalog.groups`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.clock import Clock
from spark_trickle.graph.declaring import declare
from spark_trickle.graph.units import Units, plan_units
from spark_trickle.model.groups import DeclaredGroup, Group, GroupOrigin, Isolation
from spark_trickle.model.stream_table import DiamondSchedulePolicy
from spark_trickle.names import TableName

CALLS = ("create_refresh_group", "drop_refresh_group", "refresh_groups", "diamond_groups", "groups")
"""What SQL can call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshGroup:
    """A declared group, as `refresh_groups` lists it."""

    group_name: str
    members: tuple[str, ...]
    member_count: int
    isolation: Isolation
    snapshot_timeout_ms: int
    created_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiamondGroupMember:
    """One member of a group, as `diamond_groups` lists it."""

    group_id: str
    member_name: str
    member_schema: str
    is_convergence: bool
    epoch: int
    """Advances with each published group."""
    schedule_policy: DiamondSchedulePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """One group, found or declared."""

    group_id: str
    origin: GroupOrigin
    members: tuple[str, ...]
    convergence_points: tuple[str, ...]
    schedule_policy: DiamondSchedulePolicy
    isolation: Isolation
    snapshot_timeout_ms: int
    epoch: int


class GroupCalls:
    """The engine's calls about groups."""

    _grouping: Grouping

    def create_refresh_group(
        self, group_name: str, members: Sequence[str], isolation: str = "read_committed", snapshot_timeout_ms: int = 0
    ) -> RefreshGroup:
        """Declare that stream tables are refreshed and published together, also where they share no source."""
        return self._grouping.create(group_name, members, isolation, snapshot_timeout_ms)

    def drop_refresh_group(self, name: str) -> None:
        self._grouping.drop(name)

    def refresh_groups(self) -> list[RefreshGroup]:
        """The declared groups."""
        return self._grouping.declared()

    def diamond_groups(self) -> list[DiamondGroupMember]:
        """What the scheduler refreshes together because a source reaches a stream table on several paths."""
        return self._grouping.members()

    def groups(self) -> list[GroupStatus]:
        """All groups, of diamonds and declared, one row each."""
        return self._grouping.all()


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of one lake."""

    catalog: Catalog
    clock: Clock
    named: Callable[[str], TableName] = TableName.parse
    """Which table a name means."""

    def create(
        self, name: str, members: Sequence[str], isolation: str = "read_committed", snapshot_timeout_ms: int = 0
    ) -> RefreshGroup:
        """Declare a group; checked and written in one transaction, so that two cannot take the same member."""
        members = members if isinstance(members, str) else [self.named(member).sql for member in members]
        with self.catalog.write() as conn:
            group = declare(
                name,
                members,
                isolation,
                snapshot_timeout_ms,
                tables={table.name for table in self.catalog.stream_tables(conn)},
                declared=self.catalog.refresh_groups(conn),
                now=self.clock.now(),
            )
            self.catalog.add_refresh_group(group, conn)
        return _shown(group)

    def drop(self, name: str) -> None:
        """The members stay, each by itself or in the group of its diamond."""
        self.catalog.drop_refresh_group(name)

    def declared(self) -> list[RefreshGroup]:
        return [_shown(group) for group in self.catalog.refresh_groups()]

    def members(self) -> list[DiamondGroupMember]:
        """The members of all groups that have a diamond in them, sources before their readers."""
        units, epochs = self._units()
        return [
            DiamondGroupMember(
                group_id=group.id,
                member_name=member.name,
                member_schema=member.schema,
                is_convergence=member in group.convergence_points,
                epoch=epochs.get(group.id, 0),
                schedule_policy=group.policy,
            )
            for group in units.groups
            if group.convergence_points
            for member in group.members
        ]

    def all(self) -> list[GroupStatus]:
        """All groups, sources before their readers."""
        units, epochs = self._units()
        return group_status(units.groups, epochs)

    def _units(self) -> tuple[Units, dict[str, int]]:
        with self.catalog.read() as conn:
            tables = {table.name: table for table in self.catalog.stream_tables(conn)}
            return plan_units(tables, self.catalog.refresh_groups(conn)), self.catalog.group_epochs(conn)


def group_status(groups: Iterable[Group], epochs: Mapping[str, int]) -> list[GroupStatus]:
    """The groups as `groups` lists them."""
    return [
        GroupStatus(
            group_id=group.id,
            origin=group.origin,
            members=_names(group.members),
            convergence_points=_names(group.convergence_points),
            schedule_policy=group.policy,
            isolation=group.isolation,
            snapshot_timeout_ms=group.snapshot_timeout_ms,
            epoch=epochs.get(group.id, 0),
        )
        for group in groups
    ]


def _shown(group: DeclaredGroup) -> RefreshGroup:
    return RefreshGroup(
        group_name=group.name,
        members=_names(group.members),
        member_count=len(group.members),
        isolation=group.isolation,
        snapshot_timeout_ms=group.snapshot_timeout_ms,
        created_at=group.created_at,
    )


def _names(names: Sequence[TableName]) -> tuple[str, ...]:
    return tuple(str(name) for name in names)
