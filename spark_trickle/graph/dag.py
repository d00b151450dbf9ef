"""The dependency graph: who reads whom, in which order to refresh. Pure; built from the stream tables' sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import rustworkx as rx

from spark_trickle.errors import CycleError
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName


class Dag:
    """Edges from a source to what reads it. Deterministic: ties are broken by name."""

    def __init__(self, reads: Mapping[TableName, Iterable[TableName]]) -> None:
        self._reads = {table: tuple(sorted(set(sources))) for table, sources in reads.items()}
        self._graph: rx.PyDiGraph[TableName, None] = rx.PyDiGraph()
        names = sorted({*self._reads, *(source for sources in self._reads.values() for source in sources)})
        self._index = dict(zip(names, self._graph.add_nodes_from(names), strict=True))
        self._graph.add_edges_from_no_data(
            [(self._index[source], self._index[table]) for table, sources in self._reads.items() for source in sources]
        )

    @property
    def tables(self) -> tuple[TableName, ...]:
        """The nodes that read something or are kept: stream tables."""
        return tuple(sorted(self._reads))

    def sources(self, table: TableName) -> tuple[TableName, ...]:
        return self._reads.get(table, ())

    def readers(self, table: TableName) -> tuple[TableName, ...]:
        """Those that read the table directly."""
        if table not in self._index:
            return ()
        return tuple(sorted(self._graph.successors(self._index[table])))

    def upstream(self, table: TableName) -> frozenset[TableName]:
        """All that the table depends on, near and far."""
        if table not in self._index:
            return frozenset()
        return frozenset(self._graph[i] for i in rx.ancestors(self._graph, self._index[table]))

    def downstream(self, table: TableName) -> frozenset[TableName]:
        """All that depends on the table, near and far."""
        if table not in self._index:
            return frozenset()
        return frozenset(self._graph[i] for i in rx.descendants(self._graph, self._index[table]))

    def ordered(self, tables: Iterable[TableName]) -> tuple[TableName, ...]:
        """The given ones, sources before their readers; those of a circle side by side."""
        wanted = set(tables)
        known = tuple(name for circle in self.components() for name in circle if name in wanted)
        return known + tuple(sorted(wanted - set(known)))

    def components(self) -> tuple[tuple[TableName, ...], ...]:
        """Tables that depend on each other in a circle, together; all others alone. Sources before their readers."""
        if rx.is_directed_acyclic_graph(self._graph):
            return tuple((table,) for table in self._in_order(self._graph))
        circles = [tuple(sorted(self._graph[i] for i in c)) for c in rx.strongly_connected_components(self._graph)]
        condensed: rx.PyDiGraph[TableName, None] = rx.PyDiGraph()
        circles.sort()
        number: dict[TableName, int] = {}
        for circle in circles:
            number |= dict.fromkeys(circle, condensed.add_node(circle[0]))
        edges = {(number[s], number[t]) for t, sources in self._reads.items() for s in sources}
        condensed.add_edges_from_no_data(sorted(edge for edge in edges if edge[0] != edge[1]))
        of = {circle[0]: circle for circle in circles}
        return tuple(of[table] for table in self._in_order(condensed))

    def circles(self) -> tuple[tuple[TableName, ...], ...]:
        """Tables that depend on each other, or one on itself; sources before their readers."""
        return tuple(found for found in self.components() if len(found) > 1 or found[0] in self.sources(found[0]))

    def circle_of(self, table: TableName) -> tuple[TableName, ...]:
        """The circle that a table is in; none: it is in none."""
        return next((circle for circle in self.circles() if table in circle), ())

    def way_round(self, circle: Iterable[TableName]) -> tuple[TableName, ...]:
        """A way through a circle that ends where it began: each table is read by the one after it. Nothing, if it is
        none any more."""
        members = set(circle)
        graph: rx.PyDiGraph[TableName, None] = rx.PyDiGraph()
        index = dict(zip(sorted(members), graph.add_nodes_from(sorted(members)), strict=True))
        graph.add_edges_from_no_data(
            [
                (index[source], index[table])
                for table in sorted(members)
                for source in self.sources(table)
                if source in members
            ]
        )
        path = [graph[source] for source, _ in rx.digraph_find_cycle(graph)]
        return (*path, *path[:1])

    def levels(self) -> dict[TableName, int]:
        """How many steps each table is from what it depends on at the farthest; base tables are at 0."""
        found: dict[TableName, int] = {}
        for circle in self.components():
            sources = {source for table in circle for source in self.sources(table)} - set(circle)
            level = max((found[source] + 1 for source in sources), default=0)
            found |= dict.fromkeys(circle, level)
        return found

    @staticmethod
    def _in_order(graph: rx.PyDiGraph[TableName, None]) -> list[TableName]:
        return list(rx.lexicographical_topological_sort(graph, key=lambda t: f"{t.namespace}\0{t.name}"))

    def require_acyclic(self) -> None:
        """Raise a CycleError that names the path, if there is a circle."""
        for circle in self.circles():
            raise CycleError(self.way_round(circle))


def data_flow(tables: Iterable[StreamTable]) -> Dag:
    """The graph along which changes flow. Views are no nodes: they are inlined, and what they read is read directly."""
    return Dag({table.name: [s.table for s in table.sources if s.kind != "VIEW"] for table in tables})


def around(tables: Mapping[TableName, StreamTable], name: TableName) -> list[StreamTable]:
    """Those that depend on a table, itself included, and all that any of them depends on: which paths meet in them is
    told by these alone. Of very many tables they are few.
    """
    readers: dict[TableName, list[TableName]] = {}
    for table in tables.values():
        for source in table.sources:
            readers.setdefault(source.table, []).append(table.name)
    below = _closure([name], lambda each: readers.get(each, ()))
    found = _closure(below, lambda each: [s.table for s in tables[each].sources] if each in tables else ())
    return [tables[each] for each in sorted(found) if each in tables]


def _closure(start: Iterable[TableName], following: Callable[[TableName], Iterable[TableName]]) -> set[TableName]:
    found, pending = set(start), list(start)
    while pending:
        new = [each for each in following(pending.pop()) if each not in found]
        found.update(new)
        pending += new
    return found
