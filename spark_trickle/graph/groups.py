"""Consistency groups: which stream tables are published together, because a diamond or a user says so.

A diamond counts if the stream table where its paths meet is `atomic`. One that ends inside of a diamond that counts
does, too, whatever its own stream table says: the outer one would see the split of the inner one. Diamonds with a
member in common are one group, and so are two where the paths of one start from a member of the other. A declared
group is one as a whole, and takes along the diamonds that its members are in. Tables that depend on each other are one
node of the graph, and so always in one group. What runs in which order is in `units`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from spark_trickle.graph.diamonds import Diamond, find
from spark_trickle.graph.reach import Reach, bits, first, ones
from spark_trickle.model.groups import DeclaredGroup, Group, GroupOrigin, Isolation, strictest
from spark_trickle.model.stream_table import DiamondConsistency, StreamTable
from spark_trickle.names import TableName


class Parts:
    """A partition of the stream tables that grows coarser."""

    def __init__(self, kept: int) -> None:
        self._nodes = {node: 1 << node for node in ones(kept)}
        self._root = {node: node for node in self._nodes}

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._nodes.values(), key=first))

    def of(self, node: int) -> int:
        """The part that a node is in."""
        return self._nodes[self._find(node)]

    def join(self, chosen: int) -> None:
        """Make one part of all parts that have one of these nodes."""
        rest, into = chosen, None
        while rest:
            root = self._find(first(rest))
            rest &= ~self._nodes[root]
            if into is None:
                into = root
            elif root != into:
                self._root[root] = into
                self._nodes[into] |= self._nodes.pop(root)

    def _find(self, node: int) -> int:
        while (above := self._root[node]) != node:
            self._root[node] = node = self._root[above]
        return node


@dataclass(frozen=True, slots=True)
class Found:
    """What makes groups: the diamonds that count, by their node, and the declared groups that still have members."""

    convergences: int
    declared: tuple[tuple[DeclaredGroup, int], ...]


def gather(
    reach: Reach, tables: Mapping[TableName, StreamTable], declared: Iterable[DeclaredGroup]
) -> tuple[Parts, Found]:
    """Join what belongs together."""
    parts = Parts(reach.kept)
    counting = _counting(find(reach), reach, tables)
    for diamond in counting:
        parts.join(diamond.between | 1 << diamond.node)
    for chained in _chained(reach, parts):
        parts.join(chained)
    known = []
    for group in sorted(declared, key=lambda group: group.name):
        members = bits({reach.number[name] for name in group.members if name in tables})
        if members & (members - 1):  # at least two: others may have been dropped since
            parts.join(members)
            known.append((group, members))
    return parts, Found(bits(diamond.node for diamond in counting), tuple(known))


def _counting(found: tuple[Diamond, ...], reach: Reach, tables: Mapping[TableName, StreamTable]) -> list[Diamond]:
    meeting = bits(diamond.node for diamond in found)
    counts = 0
    for diamond in reversed(found):
        if counts >> diamond.node & 1 or atomic(reach, tables, diamond.node):
            counts |= 1 << diamond.node | (diamond.between & meeting)
    return [diamond for diamond in found if counts >> diamond.node & 1]


def atomic(reach: Reach, tables: Mapping[TableName, StreamTable], node: int) -> bool:
    return any(tables[name].options.diamond_consistency is DiamondConsistency.ATOMIC for name in reach.nodes[node])


def _chained(reach: Reach, parts: Parts) -> list[int]:
    """Pairs of a member of a group and a group whose paths start from it: read by two members there that meet again."""
    found = []
    for node in ones(reach.kept):
        own = parts.of(node)
        if not own & (own - 1) or len(reach.children[node]) < 2:
            continue
        readers: dict[int, int] = {}
        for child in reach.children[node]:
            other = parts.of(child)
            if other == own:
                continue
            met = readers.get(first(other), 0)
            if met & reach.below[child] & other:
                found.append(1 << node | 1 << child)
            readers[first(other)] = met | reach.below[child]
    return found


def describe(reach: Reach, tables: Mapping[TableName, StreamTable], part: int, found: Found) -> Group | None:
    """The group that a part is; None: a stream table of its own."""
    meeting = part & found.convergences
    declared = [group for group, members in found.declared if members & part]
    circles = part & reach.circles
    if not meeting and not declared and not circles:
        return None
    points = reach.tables(meeting)
    names = tuple(group.name for group in declared)
    timeouts = [group.snapshot_timeout_ms for group in declared if group.snapshot_timeout_ms]
    repeatable = any(group.isolation is Isolation.REPEATABLE_READ for group in declared)
    return Group(
        id=f"declared:{'+'.join(names)}"
        if names
        else f"diamond:{points[0]}"
        if points
        else f"circle:{reach.tables(circles)[0]}",
        members=reach.tables(part),
        convergence_points=points,
        policy=strictest(
            [
                tables[name].options.diamond_schedule_policy
                for name in points
                if tables[name].options.diamond_consistency is DiamondConsistency.ATOMIC
            ]
        ),
        origin=GroupOrigin.DECLARED if names else GroupOrigin.DIAMOND if points else GroupOrigin.CIRCLE,
        isolation=Isolation.REPEATABLE_READ if repeatable else Isolation.READ_COMMITTED,
        snapshot_timeout_ms=min(timeouts, default=0),
        declared=names,
    )
