"""Read models: status, explanation, why, trees, graphs, JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from spark_trickle.errors import UserError
from spark_trickle.marks import marks
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.fuse import Blown, Diverged, FuseState
from spark_trickle.model.gate import Gate
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome
from spark_trickle.model.stream_table import Fuse, Options, RefreshMode, Source, Status, StreamTable
from spark_trickle.model.watermark import WatermarkGroup
from spark_trickle.names import TableName
from spark_trickle.views import (
    Explanation,
    GraphNode,
    as_json,
    dependency_tree,
    explanation_of,
    graph,
    nodes_of,
    status_of,
)

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def pin(name: str, snapshot: int | None) -> Pin:
    return Pin(TableName.parse(name), "u", snapshot, 0, f"{name}-{snapshot}.json")


def stream_table(name: str, *sources: str, **changes: object) -> StreamTable:
    table = StreamTable(
        name=TableName.parse(name),
        query="SELECT 1",
        normalized_query="SELECT 1",
        options=Options(),
        status=Status.ACTIVE,
        effective_mode=RefreshMode.DIFFERENTIAL,
        sources=tuple(Source(table=TableName.parse(s), kind="TABLE") for s in sources),
        created_at=NOW - timedelta(hours=1),
    )
    return replace(table, **changes)  # type: ignore[arg-type]


DIAMOND = (
    GraphNode("by_product", "STREAM_TABLE", ("sales",)),
    GraphNode("by_region", "STREAM_TABLE", ("sales",)),
    GraphNode("sales", "TABLE"),
    GraphNode("summary", "STREAM_TABLE", ("by_region", "by_product")),
)


def test_status_tells_how_long_ago_the_last_refresh_was() -> None:
    status = status_of(stream_table("t", "a", last_refresh_at=NOW - timedelta(seconds=90)), NOW)
    assert (status.name, status.staleness_seconds, status.sources) == ("t", 90.0, ("a",))
    assert status_of(stream_table("t"), NOW).staleness_seconds is None


def test_a_clock_that_went_back_does_not_make_staleness_negative() -> None:
    assert status_of(stream_table("t", last_refresh_at=NOW + timedelta(seconds=1)), NOW).staleness_seconds == 0.0


def test_an_explanation_reads_as_text_and_leaves_out_what_is_empty() -> None:
    table = stream_table(
        "t",
        "sales",
        frontier=Frontier((pin("sales", 7),)),
        explanation="Aggregate\n  Scan sales",
        notices=("creates a diamond",),
    )
    text = str(explanation_of(table, diamond_group=(TableName.parse("t"), TableName.parse("u"))))
    assert text.splitlines() == [
        "stream table 't' is kept incrementally (DIFFERENTIAL)",
        "reads: sales",
        "frontier: sales@7",
        "diamond group: t, u (published together)",
        "meaning: names in lake.default; ansi.enabled = true, caseSensitive = false, session.timeZone = UTC",
        "notice: creates a diamond",
        "",
        "query:",
        "  SELECT 1",
        "",
        "plan:",
        "  Aggregate",
        "    Scan sales",
    ]


def test_an_explanation_of_a_full_query_says_why_and_what_would_be_better() -> None:
    text = str(
        Explanation(
            name=None, query="SELECT RAND()", mode=RefreshMode.FULL, reason="RAND() changes", suggestion="remove it"
        )
    )
    assert text.startswith(
        "this query is recomputed whole at each refresh (FULL): RAND() changes\nsuggestion: remove it"
    )


def test_nodes_are_stream_tables_and_what_they_read() -> None:
    tables = [
        stream_table("summary", "by_region"),
        stream_table("by_region", "sales"),
    ]
    assert nodes_of(tables) == (
        GraphNode("by_region", "STREAM_TABLE", ("sales",)),
        GraphNode("sales", "TABLE"),
        GraphNode("summary", "STREAM_TABLE", ("by_region",)),
    )


def test_a_tree_draws_what_a_table_reads() -> None:
    assert dependency_tree(DIAMOND).splitlines() == [
        "summary",
        "├─ by_region",
        "│  └─ sales (table)",
        "└─ by_product",
        "   └─ sales (table)",
    ]
    assert dependency_tree(DIAMOND, "by_region").splitlines() == ["by_region", "└─ sales (table)"]


def test_a_part_that_two_tables_share_is_drawn_once() -> None:
    nodes = [
        GraphNode("a", "STREAM_TABLE", ("s",)),
        GraphNode("b", "STREAM_TABLE", ("a",)),
        GraphNode("c", "STREAM_TABLE", ("a",)),
    ]
    assert dependency_tree(nodes).splitlines() == [
        "b",
        "└─ a",
        "   └─ s (table)",
        "c",
        "└─ a (drawn above)",
    ]


def test_cycles_and_long_chains_can_be_drawn() -> None:
    ring = [GraphNode("a", "STREAM_TABLE", ("b",)), GraphNode("b", "STREAM_TABLE", ("a",))]
    assert dependency_tree(ring).splitlines() == ["a", "└─ b", "   └─ a (drawn above)"]
    chain = [GraphNode(f"t{i}", "STREAM_TABLE", (f"t{i + 1}",)) for i in range(3000)]
    assert dependency_tree(chain, "t0").count("\n") == 3000


def test_a_ladder_of_diamonds_is_drawn_in_linear_size() -> None:
    ladder = [GraphNode("t0", "TABLE")]
    for i in range(40):
        ladder += [
            GraphNode(f"l{i}", "STREAM_TABLE", (f"t{i}",)),
            GraphNode(f"r{i}", "STREAM_TABLE", (f"t{i}",)),
            GraphNode(f"t{i + 1}", "STREAM_TABLE", (f"l{i}", f"r{i}")),
        ]
    assert len(dependency_tree(ladder).splitlines()) < 200


def test_the_graph_is_written_as_mermaid_and_as_dot() -> None:
    mermaid = graph(DIAMOND, "mermaid").splitlines()
    assert mermaid[0] == "flowchart TD"
    assert '  n2[("sales")]' in mermaid
    assert "  n2 --> n1" in mermaid
    dot = graph((GraphNode('o"dd', "STREAM_TABLE", ("s",)), GraphNode("s", "TABLE")), "dot").splitlines()
    assert '  "s" -> "o\\"dd";' in dot
    assert '  "s" [shape=cylinder];' in dot


def test_the_graph_says_in_each_format_what_is_held_and_why() -> None:
    blown = Blown(reason="too much", at=NOW, pending=())
    tables = [
        stream_table("a", "orders", "b", options=Options(fuse=Fuse.ON), fuse=FuseState(blown=blown)),
        stream_table("b", "a", diverged=Diverged(since=NOW, by="me", what="skipped")),
        stream_table("c", "lines", status=Status.SUSPENDED),
    ]
    orders, lines = TableName.parse("orders"), TableName.parse("lines")
    gates = [
        Gate(source=orders, gated=True, gated_at=NOW, gated_by="etl"),
        Gate(source=lines, gated=False, gated_at=NOW, gated_by="etl"),
    ]
    group = WatermarkGroup(name="books", sources=(orders, lines), created_at=NOW)
    nodes = nodes_of(tables, marks(tables, gates, [group]))
    assert {node.name: node.marks for node in nodes} == {
        "a": ("circle 1", "fuse blown"),
        "b": ("circle 1", "diverged"),
        "c": ("suspended",),
        "lines": ("watermark group books",),
        "orders": ("gated", "watermark group books"),
    }
    assert "├─ orders (table, gated, watermark group books)" in dependency_tree(nodes)
    assert "(circle 1, diverged)" in graph(nodes)
    assert '["a<br/>circle 1<br/>fuse blown"]' in graph(nodes, "mermaid")
    assert '"a" [shape=box, label="a\\ncircle 1\\nfuse blown"];' in graph(nodes, "dot")
    assert ">circle 1, fuse blown</text>" in graph(nodes, "svg")


def test_an_unknown_graph_format_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="text, mermaid, dot"):
        graph(DIAMOND, "png")


def test_values_become_plain_json() -> None:
    outcome = RefreshOutcome(
        name="t",
        action=Action.DIFFERENTIAL,
        status=Outcome.COMPLETED,
        mode="DIFFERENTIAL",
        frontier=Frontier((pin("sales.orders", 5), pin("empty", None))),
    )
    plain = json.loads(json.dumps(as_json([outcome])))[0]
    assert plain["action"] == "DIFFERENTIAL"
    assert plain["frontier"] == {"sales.orders": 5, "empty": None}
    assert plain["reason"] is None


def test_times_decimals_bytes_and_names_keep_their_value_in_json() -> None:
    value = {
        "at": NOW,
        "sum": Decimal("10.10"),
        "raw": b"\x01",
        "name": TableName("s", "t"),
        "for": timedelta(minutes=1),
    }
    assert as_json(value) == {
        "at": "2026-07-01T12:00:00+00:00",
        "sum": "10.10",
        "raw": "01",
        "name": "s.t",
        "for": 60.0,
    }
