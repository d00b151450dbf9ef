"""A circle: the transitive closure of a forest, against the same circle computed from empty."""

from __future__ import annotations

import statistics

from bench.measure import Line, against_full, median_refresh, timed
from spark_trickle.engine import Engine

COMPONENT = 20
"""Edges of one tree: each node hangs below the half of its number."""
CHANGED = 20
QUERIES = {
    "bench_far": "SELECT DISTINCT e.src, n.dst FROM bench_edges e JOIN bench_near n ON e.dst = n.src",
    "bench_near": "SELECT src, dst FROM bench_edges UNION "
    "SELECT f.src, e.dst FROM bench_far f JOIN bench_edges e ON f.dst = e.src",
}


def run(engine: Engine, edges: int, repeat: int) -> list[Line]:
    """20 edges come or go, each in another tree."""
    spark = engine.spark
    size = COMPONENT + 1
    spark.sql("CREATE TABLE bench_edges (src BIGINT, dst BIGINT) USING iceberg")
    spark.sql(
        f"INSERT INTO bench_edges SELECT tree * {size} + (n DIV 2), tree * {size} + n "
        f"FROM (SELECT id DIV {COMPONENT} AS tree, id % {COMPONENT} + 1 AS n FROM range(0, {edges}, 1, 4))"
    )
    engine.create_stream_tables(QUERIES)
    full = statistics.median(
        timed(lambda: engine.refresh_stream_table("bench_near", mode="FULL")) for _ in range(max(2, repeat // 2))
    )
    trees = edges // COMPONENT

    def roots(turn: int) -> list[int]:
        return [(turn * 1009 + place * 499) % trees * size for place in range(CHANGED)]

    def added(turn: int) -> None:
        rows = ", ".join(f"({root + 3}, {edges * 2 + turn * 100 + place})" for place, root in enumerate(roots(turn)))
        spark.sql(f"INSERT INTO bench_edges VALUES {rows}")

    def removed(turn: int) -> None:
        gone = ", ".join(str(root + 5) for root in roots(turn))
        spark.sql(f"DELETE FROM bench_edges WHERE dst IN ({gone})")

    label = f"closure of a forest of {edges:,} edges"
    lines = []
    for what, change, target in ((f"{CHANGED} added", added, 5), (f"{CHANGED} removed", removed, 3)):
        took, outcomes = median_refresh(engine, "bench_near", change, repeat)
        lines.append(against_full(f"{label}: {what}", took, outcomes, full, target))
    return lines
