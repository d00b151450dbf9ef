"""Where the nodes of a graph are drawn: in columns, sources to the left of their readers, with few crossings. Pure.

Knows numbers only. Nodes that reach each other stand in one column. A column that would be too tall becomes several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import rustworkx as rx

SWEEPS = 6
TALLEST = 60
"""Nodes in a column."""

Edge = tuple[int, int]


def columns_of(keys: Sequence[str], edges: Sequence[Edge], blocks: Sequence[str]) -> list[list[int]]:
    """The nodes of each column, from top to bottom. `keys`: their order where nothing else puts them in one; those of a
    column with the same block stand together.
    """
    layer = _layers(len(keys), edges)
    columns: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in sorted(range(len(keys)), key=lambda node: keys[node]):
        columns[layer[node]].append(node)
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in edges:
        if layer[source] != layer[target]:
            before[target].append(source)
            after[source].append(target)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        neighbours = before if forth else after
        place = {node: _share(i, column) for column in columns for i, node in enumerate(column)}
        for column in columns if forth else reversed(columns):
            wanted = {node: fmean(place[n] for n in neighbours[node]) for node in column if neighbours[node]}
            _sort(column, {node: wanted.get(node, place[node]) for node in column}, blocks)
            place |= {node: _share(i, column) for i, node in enumerate(column)}
    return [part for column in columns for part in _parts(column)]


def rows_of(columns: Sequence[Sequence[int]], edges: Sequence[Edge]) -> dict[int, float]:
    """How far down each node stands, in rows: near those that it is joined to, in the order of its column."""
    column_of = {node: i for i, column in enumerate(columns) for node in column}
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in edges:
        if column_of[source] < column_of[target]:
            before[target].append(source)
            after[source].append(target)
    rows = {node: float(i) for column in columns for i, node in enumerate(column)}
    for forth in (True, False, True):
        neighbours = before if forth else after
        for column in columns if forth else list(reversed(columns)):
            wanted = [fmean(rows[n] for n in neighbours[node]) if neighbours[node] else rows[node] for node in column]
            rows |= dict(zip(column, _apart(wanted), strict=True))
    top = min(rows.values(), default=0.0)
    return {node: row - top for node, row in rows.items()}


def _apart(wanted: Sequence[float]) -> list[float]:
    """The same order with a row between any two: half pushed down, half pushed up.

    >>> _apart([1.0, 1.0])
    [0.5, 1.5]
    """
    down: list[float] = []
    for row in wanted:
        down.append(max(row, down[-1] + 1) if down else row)
    up: list[float] = []
    for row in reversed(wanted):
        up.append(min(row, up[-1] - 1) if up else row)
    return [(one + other) / 2 for one, other in zip(down, reversed(up), strict=True)]


def _sort(column: list[int], wanted: Mapping[int, float], blocks: Sequence[str]) -> None:
    members: dict[str, list[float]] = defaultdict(list)
    for node in column:
        members[blocks[node]].append(wanted[node])
    middle = {block: fmean(places) for block, places in members.items()}
    column.sort(key=lambda node: (middle[blocks[node]], blocks[node], wanted[node]))


def _share(i: int, column: Sequence[int]) -> float:
    """How far down a node is: 0 is the top, 1 the bottom."""
    return (i + 0.5) / len(column)


def _parts(column: list[int]) -> list[list[int]]:
    count = -(-len(column) // TALLEST)
    size = -(-len(column) // count) if count else 1
    return [column[i : i + size] for i in range(0, len(column), size)]


def _layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """How many steps each node is from where everything begins; what is only read stands next to its first reader."""
    graph: rx.PyDiGraph[int, None] = rx.PyDiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from_no_data(list(edges))
    part_of = [0] * count
    parts = rx.strongly_connected_components(graph)
    for i, part in enumerate(parts):
        for node in part:
            part_of[node] = i
    joined = sorted({(part_of[a], part_of[b]) for a, b in edges if part_of[a] != part_of[b]})
    condensed: rx.PyDiGraph[int, None] = rx.PyDiGraph()
    condensed.add_nodes_from(range(len(parts)))
    condensed.add_edges_from_no_data(joined)
    order = list(rx.topological_sort(condensed))
    above, below = defaultdict(list), defaultdict(list)
    for a, b in joined:
        above[b].append(a)
        below[a].append(b)
    depth = [0] * len(parts)
    for at in order:
        depth[at] = max((depth[each] + 1 for each in above[at]), default=0)
    for at in order:
        if not above[at] and below[at]:
            depth[at] = min(depth[each] for each in below[at]) - 1
    return [depth[part_of[node]] for node in range(count)]
