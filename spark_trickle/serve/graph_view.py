"""The graph as it is drawn: which nodes, in which state and where; namespaces folded, or what is around one table.

Pure: from a moment of the lake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spark_trickle.conditions import State
from spark_trickle.graph.dag import data_flow
from spark_trickle.graph.layout import columns_of, rows_of
from spark_trickle.model.groups import Group, GroupOrigin
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.watching import Moment

WIDTH, HEIGHT = 190, 34
ACROSS, DOWN = 270, 48
"""From one column, and one node of a column, to the next."""
MANY = 150
"""Nodes from which on namespaces are folded unless somebody wants them otherwise."""
WORST_FIRST = (
    State.FAILED,
    State.LATE,
    State.HELD,
    State.EMPTY,
    State.REFRESHING,
    State.DUE,
    State.FRESH,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One box."""

    id: str
    label: str
    kind: str
    """TABLE, STREAM_TABLE, VIEW or NAMESPACE."""
    namespace: str
    state: State | None = None
    """Of a stream table, or the worst of a namespace; None: it is not one of ours."""
    because: str = ""
    held_by: tuple[str, ...] = ()
    gated: bool = False
    group: str | None = None
    circle: bool = False
    convergence: bool = False
    """Whether the paths of a diamond meet here."""
    tables: int = 1
    """How many tables it stands for."""
    x: int = 0
    y: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """From a source to who reads it, by their places in the list of nodes."""

    source: int
    target: int
    together: bool
    """Whether both are published together."""


@dataclass(frozen=True, slots=True)
class Hull:
    """A frame around what is published together, where nothing else stands between."""

    group: str
    origin: GroupOrigin
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class NamespaceFold:
    name: str
    tables: int
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    generation: int
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    hulls: tuple[Hull, ...]
    width: int
    height: int
    node_width: int
    node_height: int
    tables: int
    """How many there are in all."""
    focus: str | None
    namespaces: tuple[NamespaceFold, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants to see."""

    focus: TableName | None = None
    fold: bool | None = None
    """None: if there are many."""
    open: frozenset[str] = frozenset()
    """Namespaces that are not folded though the others are."""


def graph_view(moment: Moment, wanted: Wanted) -> GraphView:
    nodes, edges = _nodes(moment), _edges(moment)
    total = len(nodes)
    if wanted.focus is not None:
        if wanted.focus not in nodes:
            raise no_stream_table(wanted.focus, moment.tables)
        near = _around(wanted.focus, edges)
        nodes = {name: node for name, node in nodes.items() if name in near}
        edges = {edge for edge in edges if near.issuperset(edge)}
    counted = Counter(name.schema for name in nodes)
    fold = wanted.fold
    if fold is None:
        fold = wanted.focus is None and len(nodes) > MANY and len(counted) > 1
    closed = {each for each in counted if fold and each not in wanted.open}
    shown, lines = _folded(nodes, edges, closed)
    placed, width, height = _placed(shown, lines)
    return GraphView(
        generation=moment.known.cut.generation,
        nodes=placed,
        lines=tuple(
            Line(a, b, placed[a].group is not None and placed[a].group == placed[b].group) for a, b in sorted(lines)
        ),
        hulls=tuple(_hulls(placed, [unit.group for unit in moment.board.units if unit.group is not None])),
        width=width,
        height=height,
        node_width=WIDTH,
        node_height=HEIGHT,
        tables=total,
        focus=None if wanted.focus is None else str(wanted.focus),
        namespaces=tuple(NamespaceFold(name, counted[name], name not in closed) for name in sorted(counted)),
    )


def _nodes(moment: Moment) -> dict[TableName, Node]:
    """Stream tables, and all that they read."""
    conditions, gates = moment.conditions, moment.known.cut.gates
    circles = {name for circle in data_flow(moment.tables.values()).circles() for name in circle}
    found: dict[TableName, Node] = {}
    for name, table in moment.tables.items():
        group = moment.board.units[moment.board.unit_of[name]].group
        found[name] = Node(
            id=str(name),
            label=name.name,
            kind="STREAM_TABLE",
            namespace=name.schema,
            state=conditions[name].state,
            because=conditions[name].because,
            held_by=conditions[name].causes if conditions[name].state is State.HELD else (),
            gated=name in gates,
            group=None if group is None else group.id,
            circle=name in circles,
            convergence=group is not None and name in group.convergence_points,
        )
        for source in table.sources:
            if source.table not in moment.tables and source.table not in found:
                found[source.table] = Node(
                    id=str(source.table),
                    label=source.table.name,
                    kind=source.kind,
                    namespace=source.table.schema,
                    because="it is gated: a load is going on" if source.table in gates else "",
                    gated=source.table in gates,
                )
    return dict(sorted(found.items()))


def _edges(moment: Moment) -> set[tuple[TableName, TableName]]:
    return {(source.table, name) for name, table in moment.tables.items() for source in table.sources}


def _around(name: TableName, edges: Iterable[tuple[TableName, TableName]]) -> set[TableName]:
    """Itself, all that it depends on, and all that depends on it."""
    above: dict[TableName, list[TableName]] = {}
    below: dict[TableName, list[TableName]] = {}
    for source, target in edges:
        above.setdefault(target, []).append(source)
        below.setdefault(source, []).append(target)
    found = {name}
    for steps in (above, below):
        pending = [name]
        seen = {name}
        while pending:
            for each in steps.get(pending.pop(), ()):
                if each not in seen:
                    seen.add(each)
                    pending.append(each)
        found |= seen
    return found


def _folded(
    nodes: Mapping[TableName, Node], edges: Iterable[tuple[TableName, TableName]], closed: set[str]
) -> tuple[list[Node], set[tuple[int, int]]]:
    """The boxes, with one for each closed namespace, and the lines between them by their numbers."""
    boxes: dict[str, list[Node]] = {}
    box_of: dict[TableName, str] = {}
    for name, node in nodes.items():
        # No table is called so: a shown name is quoted where it has anything odd in it.
        box_of[name] = f"namespace {name.schema}" if name.schema in closed else f"table {node.id}"
        boxes.setdefault(box_of[name], []).append(node)
    number = {key: i for i, key in enumerate(boxes)}
    lines = {
        (number[box_of[source]], number[box_of[target]]) for source, target in edges if box_of[source] != box_of[target]
    }
    loops = {(number[box_of[a]], number[box_of[b]]) for a, b in edges if a == b and a.schema not in closed}
    shown = [of_it[0] if key.startswith("table ") else _of_namespace(of_it) for key, of_it in boxes.items()]
    return shown, lines | loops


def _of_namespace(members: Sequence[Node]) -> Node:
    states = Counter(node.state for node in members if node.state is not None)
    worst = next((state for state in WORST_FIRST if states.get(state)), None)
    told = ", ".join(f"{states[state]} {state.value}" for state in WORST_FIRST if states.get(state))
    namespace = members[0].namespace
    return Node(
        id=namespace,
        label=namespace,
        kind="NAMESPACE",
        namespace=namespace,
        state=worst,
        because=told or "no stream tables",
        gated=any(node.gated for node in members),
        tables=len(members),
    )


def _placed(nodes: Sequence[Node], lines: Iterable[tuple[int, int]]) -> tuple[tuple[Node, ...], int, int]:
    # Members of a group stand together where nothing else decides.
    keys = [f"{node.namespace}\0{node.group or ''}\0{node.label}" for node in nodes]
    blocks = [f"group {node.group}" if node.group else f"node {node.id}" for node in nodes]
    joined = sorted(lines)
    columns = columns_of(keys, joined, blocks)
    rows = rows_of(columns, joined)
    across = {node: i for i, column in enumerate(columns) for node in column}
    placed = tuple(replace(node, x=across[i] * ACROSS, y=round(rows[i] * DOWN)) for i, node in enumerate(nodes))
    return placed, max(0, len(columns) - 1) * ACROSS + WIDTH, max((node.y for node in placed), default=0) + HEIGHT


def _hulls(nodes: Sequence[Node], groups: Iterable[Group]) -> Iterable[Hull]:
    for group in groups:
        members = [node for node in nodes if node.group == group.id]
        if len(members) < 2:
            continue
        left, top = min(node.x for node in members), min(node.y for node in members)
        right, bottom = max(node.x for node in members), max(node.y for node in members)
        inside = [node for node in nodes if left <= node.x <= right and top <= node.y <= bottom]
        if len(inside) == len(members):
            yield Hull(
                group.id, group.origin, left - 12, top - 8, right - left + WIDTH + 24, bottom - top + HEIGHT + 16
            )
