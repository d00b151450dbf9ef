"""Circles in the graph: which tables depend on each other, and the order when each circle is one node."""

from __future__ import annotations

from itertools import pairwise

import pytest
import rustworkx as rx
from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.errors import CycleError
from spark_trickle.graph.dag import Dag
from spark_trickle.names import TableName


def dag(text: str) -> Dag:
    """`b: a c` reads: b reads a and c."""
    reads = dict(line.split(":") for line in text.split(";"))
    return Dag({name(table): [name(source) for source in sources.split()] for table, sources in reads.items()})


def name(text: str) -> TableName:
    return TableName.parse(text.strip())


def shown(circles: tuple[tuple[TableName, ...], ...]) -> list[str]:
    return [" ".join(map(str, circle)) for circle in circles]


def test_scc_no_cycles() -> None:
    found = dag("b: a; c: b")
    assert shown(found.components()) == ["a", "b", "c"]
    assert found.circles() == ()
    found.require_acyclic()


def test_scc_simple_cycle() -> None:
    found = dag("a: b; b: a")
    assert shown(found.circles()) == ["a b"]
    assert found.circle_of(name("a")) == (name("a"), name("b"))
    with pytest.raises(CycleError, match=r"a -> b -> a.*allow_circular"):
        found.require_acyclic()


def test_scc_mixed() -> None:
    found = dag("a: b; b: a; c: b; d: c e; e: d")
    assert shown(found.components()) == ["a b", "c", "d e"]
    assert shown(found.circles()) == ["a b", "d e"]
    assert found.circle_of(name("c")) == ()
    assert found.ordered(map(name, "edcba")) == tuple(map(name, "abcde"))


def test_scc_self_loop() -> None:
    found = dag("a: a s")
    assert shown(found.circles()) == ["a"]
    assert found.way_round(found.circle_of(name("a"))) == (name("a"), name("a"))


def test_condensation_order_is_topological() -> None:
    found = dag("z: y; y: z; m: y; a: m b; b: a; q: b")
    place = {table: i for i, circle in enumerate(found.components()) for table in circle}
    for table in found.tables:
        for source in found.sources(table):
            assert place[source] <= place[table]
            assert place[source] < place[table] or table in found.circle_of(source)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_circles_are_the_tables_that_reach_themselves(edges: list[tuple[int, int]]) -> None:
    graph: rx.PyDiGraph[int, None] = rx.PyDiGraph()
    graph.add_nodes_from(range(8))
    graph.add_edges_from_no_data(edges)
    found = Dag({name(f"t{i}"): [name(f"t{s}") for s, t in edges if t == i] for i in range(8)})
    reach = {i: {j for s, j in edges if s == i for j in (j, *rx.descendants(graph, j))} for i in range(8)}
    alike = {i: {j for j in range(8) if j in reach[i] and i in reach[j]} for i in range(8) if i in reach[i]}
    assert {frozenset(map(str, circle)) for circle in found.circles()} == {
        frozenset(f"t{j}" for j in circle) for circle in alike.values()
    }
    for circle in found.circles():
        way = found.way_round(circle)
        assert way[0] == way[-1]
        assert all(source in found.sources(table) for source, table in pairwise(way))
