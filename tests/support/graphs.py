"""Small graphs from text, and what diamonds and groups are by definition: by listing all paths.

`"b: a; c: a; d: b c"` says that b and c read a, and that d reads both. What is read and has no line of
its own is a base table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy, Options, Source, StreamTable
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table

Edges = Mapping[str, tuple[str, ...]]
"""Who reads whom, by name."""


def edges_of(text: str) -> dict[str, tuple[str, ...]]:
    lines = (line.partition(":") for line in text.split(";") if line.strip())
    return {name.strip(): tuple(reads.split()) for name, _, reads in lines}


def tables_of(
    edges: Edges | str, *, none: tuple[str, ...] = (), slowest: tuple[str, ...] = ()
) -> dict[TableName, StreamTable]:
    """Stream tables; `none` and `slowest` name those with that option."""
    edges = edges_of(edges) if isinstance(edges, str) else edges
    found = {}
    for name, reads in edges.items():
        options = replace(
            Options(),
            diamond_consistency=DiamondConsistency.NONE if name in none else DiamondConsistency.ATOMIC,
            diamond_schedule_policy=(
                DiamondSchedulePolicy.SLOWEST if name in slowest else DiamondSchedulePolicy.FASTEST
            ),
        )
        sources = tuple(
            Source(table=TableName.parse(read), kind="STREAM_TABLE" if read in edges else "TABLE") for read in reads
        )
        table = stream_table(name, reads, options=options, sources=sources)
        found[table.name] = table
    return found


def paths(edges: Edges, source: str, target: str) -> list[tuple[str, ...]]:
    """All paths from one to the other, both included."""
    if source == target:
        return [(target,)]
    return [(*path, target) for read in set(edges.get(target, ())) for path in paths(edges, source, read)]


def inside(edges: Edges, convergence: str) -> set[str]:
    """What lies strictly inside of two paths from one source that have nothing but both ends in common."""
    everything = set(edges) | {read for reads in edges.values() for read in reads}
    found: set[str] = set()
    for source in everything - {convergence}:
        for one, other in combinations(paths(edges, source, convergence), 2):
            if not set(one[1:-1]) & set(other[1:-1]):
                found |= {*one[1:-1], *other[1:-1]}
    return found


def meeting_groups(edges: Edges, none: tuple[str, ...] = ()) -> set[frozenset[str]]:
    """The groups of diamonds: those with a member in common are one; then those that start from another's member."""
    diamonds = {name: within for name in edges if (within := inside(edges, name))}
    counting = {name for name in diamonds if name not in none}
    while more := {name for outer in counting for name in diamonds[outer] & set(diamonds)} - counting:
        counting |= more
    groups = joined([frozenset({*diamonds[name], name}) for name in counting])
    chains = [
        own | other
        for own, other in ((a, b) for a in groups for b in groups if a != b)
        if any(_starts_from(edges, member, other) for member in own)
    ]
    return set(joined([*groups, *chains]))


def _starts_from(edges: Edges, member: str, group: frozenset[str]) -> bool:
    """Whether paths from the member lead through two of its readers, and meet again, all in the group."""
    readers = [name for name in group if member in edges[name]]
    return any(
        paths(edges, one, end) and paths(edges, other, end) for one, other in combinations(readers, 2) for end in group
    )


def joined(sets: list[frozenset[str]]) -> list[frozenset[str]]:
    """Sets with an element in common become one, until none have."""
    found: list[frozenset[str]] = []
    for one in sets:
        apart = [other for other in found if not other & one]
        found = [*apart, one.union(*(other for other in found if other & one))]
    return found


def orderly(edges: Edges, groups: list[frozenset[str]]) -> set[frozenset[str]]:
    """Groups and single stream tables, where those that depend on each other both ways have become one."""
    alone = [frozenset({name}) for name in edges if not any(name in group for group in groups)]
    parts = {*groups, *alone}
    depends = {(a, b) for a in parts for b in parts if a != b and any(set(edges[name]) & b for name in a)}
    while more := {(a, c) for a, b in depends for b2, c in depends if b == b2} - depends:
        depends |= more
    return set(joined([*parts, *(a | b for a, b in depends if (b, a) in depends)]))
