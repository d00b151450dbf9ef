"""Units: what is refreshed and published as one, in an order in which each finds its sources done. Pure.

Most units are one stream table; a group is one unit, and so are tables in a circle. Two groups may each read from the
other; then they are one unit, since neither could go first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import rustworkx as rx

from spark_trickle.graph.dag import data_flow
from spark_trickle.graph.groups import Parts, describe, gather
from spark_trickle.graph.reach import Reach, first, ones
from spark_trickle.model.groups import DeclaredGroup, Group
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True)
class Unit:
    """What passes, fails and is held as a whole."""

    members: tuple[TableName, ...]
    """Sources before their readers."""
    group: Group | None = None
    level: int = 0
    """All that it reads is in units of lower levels."""
    circles: tuple[tuple[TableName, ...], ...] = ()
    """Members that depend on each other, or on themselves."""

    @property
    def id(self) -> str:
        """Stable: of the group, or the name of the stream table."""
        return self.group.id if self.group else str(self.members[0])

    def __str__(self) -> str:
        return ", ".join(str(member) for member in self.members)


@dataclass(frozen=True)
class Units:
    """All units of a graph, sources before their readers. Iterates over them in that order."""

    units: tuple[Unit, ...] = ()
    _above: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    _below: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    def __iter__(self) -> Iterator[Unit]:
        return iter(self.units)

    def __len__(self) -> int:
        return len(self.units)

    def of(self, table: TableName) -> Unit:
        """The unit that a stream table is in; KeyError where it is none."""
        return self.units[self._position[table]]

    def above(self, unit: Unit) -> tuple[Unit, ...]:
        """The units that it reads directly."""
        return tuple(self.units[i] for i in self._above[self._position[unit.members[0]]])

    def below(self, unit: Unit) -> tuple[Unit, ...]:
        """The units that read it directly."""
        return tuple(self.units[i] for i in self._below[self._position[unit.members[0]]])

    def all_above(self, unit: Unit) -> tuple[Unit, ...]:
        """The units that it depends on, near and far, in order."""
        return self._walk(unit, self._above)

    def all_below(self, unit: Unit) -> tuple[Unit, ...]:
        """The units that depend on it, near and far, in order."""
        return self._walk(unit, self._below)

    @cached_property
    def levels(self) -> tuple[tuple[Unit, ...], ...]:
        """Units of one level do not read each other."""
        found: list[list[Unit]] = [[] for _ in range(1 + max((unit.level for unit in self.units), default=-1))]
        for unit in self.units:
            found[unit.level].append(unit)
        return tuple(tuple(level) for level in found)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return tuple(unit.group for unit in self.units if unit.group)

    def whole(self, tables: Iterable[TableName]) -> tuple[str, ...]:
        """Ids of the groups whose members are all among these: what a publication of them publishes."""
        given = set(tables)
        return tuple(group.id for group in self.groups if given.issuperset(group.members))

    @cached_property
    def _position(self) -> dict[TableName, int]:
        return {table: i for i, unit in enumerate(self.units) for table in unit.members}

    def _walk(self, unit: Unit, steps: tuple[tuple[int, ...], ...]) -> tuple[Unit, ...]:
        seen = set[int]()
        pending = list(steps[self._position[unit.members[0]]])
        while pending:
            if (at := pending.pop()) not in seen:
                seen.add(at)
                pending += steps[at]
        return tuple(self.units[i] for i in sorted(seen))


def plan_units(tables: Mapping[TableName, StreamTable], declared: Iterable[DeclaredGroup] = ()) -> Units:
    """The units of some stream tables and declared refresh groups. To be made anew only when one of them changes."""
    reach = Reach(data_flow(tables.values()))
    parts, found = gather(reach, tables, declared)
    _join_circles(reach, parts)
    condensed, chosen = _condensed(reach, parts)
    order = list(rx.lexicographical_topological_sort(condensed, key=lambda part: f"{first(part):09d}"))
    place = {first(part): i for i, part in enumerate(order)}
    above: list[tuple[int, ...]] = [()] * len(order)
    below: list[tuple[int, ...]] = [()] * len(order)
    units: list[Unit] = []
    for i, part in enumerate(order):
        at = chosen[first(part)]
        above[i] = tuple(sorted(place[first(p)] for p in condensed.predecessors(at)))
        below[i] = tuple(sorted(place[first(p)] for p in condensed.successors(at)))
        level = max((units[j].level + 1 for j in above[i]), default=0)
        circles = tuple(reach.nodes[node] for node in ones(part & reach.circles))
        units.append(Unit(reach.tables(part), describe(reach, tables, part, found), level, circles))
    return Units(tuple(units), tuple(above), tuple(below))


def _join_circles(reach: Reach, parts: Parts) -> None:
    """Parts that could not be put in an order become one."""
    condensed, _ = _condensed(reach, parts)
    for circle in rx.strongly_connected_components(condensed):
        if len(circle) > 1:
            together = 0
            for i in circle:
                together |= condensed[i]
            parts.join(together)


def _condensed(reach: Reach, parts: Parts) -> tuple[rx.PyDiGraph[int, None], dict[int, int]]:
    """The graph of the parts, and where in it each is, by its first node."""
    graph: rx.PyDiGraph[int, None] = rx.PyDiGraph()
    at: dict[int, int] = {}
    of: dict[int, int] = {}
    for part in parts:
        at[first(part)] = number = graph.add_node(part)
        of |= dict.fromkeys(ones(part), number)
    edges = {(of[p], of[i]) for i in of for p in reach.parents[i] if p in of}
    graph.add_edges_from_no_data(sorted(edge for edge in edges if edge[0] != edge[1]))
    return graph, at
