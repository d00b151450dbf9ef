"""The graph room at its largest: ten thousand stream tables, thirty thousand edges, planned into units. No Spark."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from datetime import UTC, datetime

from bench.measure import Line, timed
from spark_trickle.graph.units import plan_units
from spark_trickle.model.stream_table import Options, RefreshMode, Source, Status, StreamTable
from spark_trickle.names import TableName

TABLES = 10_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run(repeat: int) -> list[Line]:
    lines = []
    for what, make in SHAPES.items():
        tables = make()
        edges = sum(len(table.sources) for table in tables.values())
        times = [timed(lambda tables=tables: plan_units(tables)) for _ in range(repeat)]  # type: ignore[misc]
        units = plan_units(tables)
        text = f"plan {len(tables):,} stream tables, {edges:,} edges: {what} ({len(units.groups):,} groups), s"
        worst = max(times) / 1000
        lines.append(Line(text, statistics.median(times) / 1000, None, "< 2 s", worst < 2))
    return lines


def small_diamonds() -> dict[TableName, StreamTable]:
    """Thousands of departments: each a base table, three branches, and one that joins them and the table itself."""
    reads: dict[str, list[str]] = {}
    for i in range(TABLES // 5):
        branches = [f"branch{i}_{j}" for j in range(3)]
        reads |= {branch: [f"base{i}", f"shared{i % 50}"] for branch in branches}
        reads[f"joined{i}"] = [*branches, f"base{i}"]
        reads[f"report{i}"] = [f"joined{i}", *(f"other{i % 50}_{k}" for k in range(4))]
    return _tables(reads)


def layers() -> dict[TableName, StreamTable]:
    """A warehouse: ten layers, each table reads three of the layer below, near to it."""
    dice = random.Random(1)
    width = TABLES // 10
    return _tables(
        {
            f"l{layer}_{i}": [f"l{layer - 1}_{(i + dice.randint(-20, 20)) % width}" for _ in range(3)]
            for layer in range(1, 11)
            for i in range(width)
        }
    )


def tangle() -> dict[TableName, StreamTable]:
    """Each reads three of all before it: everything meets everything."""
    dice = random.Random(2)
    names = [*(f"base{i}" for i in range(100)), *(f"t{i:05}" for i in range(TABLES))]
    return _tables({names[i]: dice.sample(names[max(0, i - 2000) : i], 3) for i in range(100, len(names))})


def ladder() -> dict[TableName, StreamTable]:
    """Diamond below diamond, six thousand levels deep, each step also reading its base table."""
    reads: dict[str, list[str]] = {}
    for i in range(TABLES // 3):
        above = [f"step{i - 1:05}"] if i else ["start"]
        reads |= {f"left{i:05}": [*above, f"base{i % 40}"], f"right{i:05}": [*above, f"base{i % 40}", "start"]}
        reads[f"step{i:05}"] = [f"left{i:05}", f"right{i:05}", *above, f"base{i % 40}"]
    return _tables(reads)


SHAPES: dict[str, Callable[[], dict[TableName, StreamTable]]] = {
    "small diamonds": small_diamonds,
    "ten layers": layers,
    "a tangle": tangle,
    "a ladder": ladder,
}


def _tables(reads: dict[str, list[str]]) -> dict[TableName, StreamTable]:
    tables = (
        StreamTable(
            name=TableName("default", name),
            query="",
            normalized_query="",
            options=Options(),
            status=Status.ACTIVE,
            effective_mode=RefreshMode.DIFFERENTIAL,
            sources=tuple(Source(table=TableName("default", s), kind="TABLE") for s in sorted(set(sources))),
            created_at=NOW,
        )
        for name, sources in reads.items()
    )
    return {table.name: table for table in tables}
