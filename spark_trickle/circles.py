"""Circles for users: which stream tables depend on each other, and how they came to rest.

A circle follows from the graph, so nothing about which there are is kept anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from spark_trickle.graph.dag import data_flow
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class SccStatus:
    """One circle, as `scc_status` lists it."""

    scc_id: int
    member_count: int
    members: tuple[str, ...]
    last_iterations: int | None
    """Rounds, the last time that there was something to do."""
    last_converged_at: datetime | None
    is_monotone: bool
    """Always: others are refused when they are made."""


def numbered(tables: Iterable[StreamTable]) -> dict[int, tuple[StreamTable, ...]]:
    """The circles by their numbers: the one whose members were made first is the first."""
    known = {table.name: table for table in tables}
    circles = [tuple(known[name] for name in circle) for circle in data_flow(known.values()).circles()]
    circles.sort(key=lambda members: (max(table.created_at for table in members), members[0].name))
    return dict(enumerate(circles, 1))


def scc_ids(tables: Iterable[StreamTable]) -> dict[TableName, int]:
    """The number of the circle that each stream table is in, for those that are in one."""
    return {table.name: number for number, members in numbered(tables).items() for table in members}


def scc_status(tables: Iterable[StreamTable]) -> list[SccStatus]:
    return [
        SccStatus(
            scc_id=number,
            member_count=len(members),
            members=tuple(str(table.name) for table in members),
            last_iterations=members[0].fixpoint_iterations,
            last_converged_at=members[0].fixpoint_at,
            is_monotone=True,
        )
        for number, members in numbered(tables).items()
    ]
