"""The dependency graph: who reads whom, in which order to refresh. Pure; built from the stream tables' sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import rustworkx as rx

from spark_trickle.errors import CycleError
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
        """The given ones, sources before their readers."""
        wanted = set(tables)
        self.require_acyclic()
        in_order = rx.lexicographical_topological_sort(self._graph, key=lambda t: f"{t.namespace}\0{t.name}")
        known = tuple(name for name in in_order if name in wanted)
        return known + tuple(sorted(wanted - set(known)))

    def require_acyclic(self) -> None:
        """Raise a CycleError that names the path, if there is a cycle."""
        cycle = rx.digraph_find_cycle(self._graph)
        if cycle:
            path = [self._graph[source] for source, _ in cycle]
            raise CycleError([*path, path[0]])
