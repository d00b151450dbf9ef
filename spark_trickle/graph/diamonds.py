"""Diamonds: a source that reaches a stream table on several paths, which could bring two versions of it.

At a stream table that reads several things, two of these *branches* may have a source in common, near or far; a branch
that is the source itself counts. What lies on one branch below a shared source and not on the other has to be published
together with the stream table where they meet. What both branches share does not: whatever its version, both see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from spark_trickle.graph.dag import Dag
from spark_trickle.graph.reach import Reach, first, ones
from spark_trickle.names import TableName

_SHOWN_BRANCHES = 8
"""A notice names paths of that many branches; beyond it nobody reads them."""


@dataclass(frozen=True, slots=True)
class Diamond:
    """The paths that meet at one stream table."""

    node: int
    """Where they meet, as a number of the graph."""
    between: int
    """The nodes that lie on a path and are not shared, as bits."""
    reach: Reach = field(repr=False, compare=False)

    @property
    def convergence(self) -> TableName:
        return self.reach.nodes[self.node][0]

    @property
    def intermediates(self) -> tuple[TableName, ...]:
        """The stream tables on the paths, sources before their readers."""
        return self.reach.tables(self.between)

    @property
    def members(self) -> tuple[TableName, ...]:
        """What has to be published together: the intermediates, and the convergence last."""
        return self.reach.tables(self.between | 1 << self.node)

    @property
    def shared_sources(self) -> tuple[TableName, ...]:
        """What more than one branch depends on, near and far: base tables and stream tables."""
        seen = shared = 0
        for parent in self.reach.parents[self.node]:
            shared |= seen & self.reach.above[parent]
            seen |= self.reach.above[parent]
        return self.reach.tables(shared)

    def paths(self) -> tuple[tuple[TableName, ...], ...]:
        """One path for each branch, from the nearest source that it shares with another one."""
        found: dict[tuple[int, int], tuple[int, ...]] = {}
        branches = self.reach.parents[self.node][:_SHOWN_BRANCHES]
        for one, other in combinations(branches, 2):
            for fork in forks(self.reach, one, other):
                for branch in (one, other):
                    if (fork, branch) not in found:
                        found[fork, branch] = (*_path(self.reach, fork, branch), self.node)
        # A fork that is a branch itself has the direct path.
        return tuple(tuple(self.reach.nodes[i][0] for i in path) for _, path in sorted(found.items()))


def diamonds(dag: Dag) -> tuple[Diamond, ...]:
    """One for each stream table where paths meet, sources before their readers."""
    return find(Reach(dag))


def find(reach: Reach) -> tuple[Diamond, ...]:
    found = ((i, between(reach, i)) for i in ones(reach.kept) if len(reach.parents[i]) > 1)
    return tuple(Diamond(i, nodes, reach) for i, nodes in found if nodes)


def between(reach: Reach, node: int) -> int:
    """The stream tables on the paths of the diamond that ends in a node; none: there is no diamond.

    On branch i, below a source that it shares with branch j, and not above j: related to j, but not above it.
    """
    branches = reach.parents[node]
    apart = [reach.related[branch] & ~reach.above[branch] for branch in branches]
    after = [0] * len(branches)
    for i in reversed(range(len(branches) - 1)):
        after[i] = after[i + 1] | apart[i + 1]
    found = before = 0
    for i, branch in enumerate(branches):
        found |= reach.above[branch] & (before | after[i])
        before |= apart[i]
    return found & reach.kept


def forks(reach: Reach, one: int, other: int) -> Iterator[int]:
    """The nearest nodes that two branches share: where the paths part."""
    shared = reach.above[one] & reach.above[other]
    while shared:
        # Sources have lower numbers: nothing shared lies below the highest one.
        nearest = shared.bit_length() - 1
        yield nearest
        shared &= ~reach.above[nearest]


def _path(reach: Reach, source: int, target: int) -> tuple[int, ...]:
    """One way from a node to one below it."""
    path = [source]
    while path[-1] != target:
        path.append(first(sum(1 << child for child in reach.children[path[-1]]) & reach.above[target]))
    return tuple(path)
