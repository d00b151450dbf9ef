"""The graph as it is drawn: sources to the left, groups together, a thousand tables folded, one table and its own."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.engine import Engine
from spark_trickle.errors import NotFoundError
from spark_trickle.graph.layout import TALLEST, columns_of, rows_of
from spark_trickle.names import TableName
from spark_trickle.serve.graph_view import GraphView, Node, Wanted, graph_view
from spark_trickle.watching import Watch
from tests.support.catalog_values import stream_table
from tests.support.page_lake import HOSTILE
from tests.support.scheduling import DEFAULT, StoppedClock, Yard, yard

T = TableName.parse


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        yield made


def node(view: GraphView, name: str) -> Node:
    return next(each for each in view.nodes if each.id == name)


def test_who_is_read_stands_to_the_left_and_says_how_it_is(engine: Engine) -> None:
    view = graph_view(engine.watch.moment(), Wanted())
    for line in view.lines:
        source, target = view.nodes[line.source], view.nodes[line.target]
        assert source.x < target.x or (source.circle and target.circle)
    assert len({(each.x, each.y) for each in view.nodes}) == len(view.nodes)
    assert node(view, "exec_summary").convergence and node(view, "reachable").circle
    assert node(view, "returns").gated and node(view, "returns").state is None
    assert node(view, "returns_report").held_by == ("returns",)
    assert node(view, HOSTILE).label == "<img src=x onerror=alert(1)>"
    hulls = {hull.origin.value: hull for hull in view.hulls}
    assert set(hulls) == {"diamond", "circle"}
    inside = [
        each.id
        for each in view.nodes
        if hulls["diamond"].x <= each.x <= hulls["diamond"].x + hulls["diamond"].width
        and hulls["diamond"].y <= each.y <= hulls["diamond"].y + hulls["diamond"].height
    ]
    assert sorted(inside) == ["exec_summary", "revenue_by_product", "revenue_by_region"]


def test_a_namespace_is_folded_into_one_box_that_is_as_bad_as_its_worst(engine: Engine) -> None:
    moment = engine.watch.moment()
    view = graph_view(moment, Wanted(fold=True, open=frozenset({"raw"})))
    assert sorted(each.id for each in view.nodes) == ["default", "mart", "raw.devices", "raw.events"]
    folded = node(view, "default")
    assert (folded.kind, folded.tables, folded.state) == ("NAMESPACE", 20, "failed")
    assert folded.because.startswith("1 failed, 4 held")
    assert [(each.name, each.open) for each in view.namespaces] == [("default", False), ("mart", False), ("raw", True)]
    assert {(view.nodes[line.source].id, view.nodes[line.target].id) for line in view.lines} == {
        ("raw.devices", "mart"),
        ("raw.events", "mart"),
    }


def test_one_table_is_seen_with_all_that_it_depends_on_and_all_that_depends_on_it(engine: Engine) -> None:
    view = graph_view(engine.watch.moment(), Wanted(focus=T("revenue_by_region")))
    assert sorted(each.id for each in view.nodes) == ["exec_summary", "regions", "revenue_by_region", "sales"]
    assert (view.focus, view.tables) == ("revenue_by_region", 24)
    with pytest.raises(NotFoundError):
        graph_view(engine.watch.moment(), Wanted(focus=T("nope")))


def test_a_thousand_stream_tables_are_drawn_quickly_and_folded_by_themselves(empty: Yard) -> None:
    tables = [
        stream_table(f"ns{i % 20}.t{i}", (f"ns{(i * 7) % 20}.t{i // 2}" if i > 40 else f"raw.base{i}",))
        for i in range(1000)
    ]
    with empty.catalog.write() as conn:
        for each in tables:
            empty.catalog.insert(replace(each, data_timestamp=empty.now), conn)
    moment = Watch(empty.catalog, StoppedClock(empty), DEFAULT, timedelta()).moment()
    assert len(moment.conditions) == 1000
    began = time.process_time()
    view = graph_view(moment, Wanted())
    whole = graph_view(moment, Wanted(fold=False))
    assert time.process_time() - began < 3
    assert len(view.nodes) == 21
    assert len(whole.nodes) > 1000
    assert max(sum(each.x == x for each in whole.nodes) for x in {each.x for each in whole.nodes}) <= TALLEST


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
            st.lists(st.sampled_from("abc"), min_size=n, max_size=n),
        )
    )
)
def test_any_graph_has_a_place_for_each_node_and_no_two_at_one(
    given_graph: tuple[int, list[tuple[int, int]], list[str]],
) -> None:
    count, edges, blocks = given_graph
    columns = columns_of([str(i) for i in range(count)], edges, blocks)
    assert sorted(each for column in columns for each in column) == list(range(count))
    rows = rows_of(columns, edges)
    for column in columns:
        assert all(rows[b] - rows[a] > 0.999 for a, b in itertools.pairwise(column))
        assert len([1 for a, b in itertools.pairwise(column) if blocks[a] != blocks[b]]) < len(
            {blocks[each] for each in column}
        )
