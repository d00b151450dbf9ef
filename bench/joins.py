"""A join of two tables with an aggregate: changes on either side."""

from __future__ import annotations

from bench.groups import CHANGED, PROPERTIES
from bench.measure import Line, against_full, median_full, median_refresh
from spark_trickle.engine import Engine

QUERY = (
    "SELECT c.segment, o.day, SUM(o.amount) AS revenue, COUNT(*) AS orders "
    "FROM bench_orders o JOIN bench_customers c ON o.customer = c.id GROUP BY c.segment, o.day"
)


def run(engine: Engine, rows: int, repeat: int) -> list[Line]:
    customers = max(rows // 100, 1000)
    spark = engine.spark
    spark.sql(f"CREATE TABLE bench_customers (id BIGINT, segment STRING, name STRING) USING iceberg {PROPERTIES}")
    spark.sql(
        "INSERT INTO bench_customers SELECT id, concat('segment ', id % 20), concat('customer ', id) "
        f"FROM range(0, {customers}, 1, 4)"
    )
    spark.sql(
        f"CREATE TABLE bench_orders (id BIGINT, customer BIGINT, day INT, amount BIGINT) USING iceberg {PROPERTIES}"
    )
    spark.sql(
        f"INSERT INTO bench_orders SELECT id, pmod(hash(id), {customers}), CAST(id * 1000 DIV {rows} AS INT), "
        f"id % 1000 FROM range(0, {rows}, 1, 8)"
    )
    engine.create_stream_table("bench_revenue", QUERY, strict=True)
    full = median_full(engine, QUERY, repeat)
    ids = [rows]

    def on_orders(_: int) -> None:
        first, half = ids[0], CHANGED // 2
        spark.sql(
            f"INSERT INTO bench_orders SELECT id, pmod(hash(id), {customers}), 999, id % 1000 "
            f"FROM range({first}, {first + half}, 1, 1)"
        )
        spark.sql(f"DELETE FROM bench_orders WHERE id >= {first - half} AND id < {first - half // 2}")
        ids[0] = first + half

    def on_customers(turn: int) -> None:
        start = (turn * 37) % (customers - 10)
        spark.sql(
            f"UPDATE bench_customers SET segment = concat('segment ', {turn % 20}) "
            f"WHERE id >= {start} AND id < {start + 10}"
        )

    label = f"join of {rows / 1e6:g} M orders and {customers:,} customers"
    orders, outcomes = median_refresh(engine, "bench_revenue", on_orders, repeat)
    lines = [against_full(f"{label}: orders changed", orders, outcomes, full, 3)]
    changed, outcomes = median_refresh(engine, "bench_revenue", on_customers, repeat)
    lines.append(against_full(f"{label}: customers changed", changed, outcomes, full, 3))
    return lines
