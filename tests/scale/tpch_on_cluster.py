"""A driver of a real cluster that keeps the queries of TPC-H in an object store. Started as
`-m tests.scale.tpch_on_cluster MASTER WAREHOUSE CATALOG ENDPOINT FOLDER`; commands as in `tests/faults/on_cluster.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.tpch import data, queries
from bench.tpch.changes import Amounts, Shop
from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from tests.faults.on_cluster import CONF, obey, schedule

NAMES = [queries.stream_table(number) for number in queries.NUMBERS]
CHANGED = 0.001
"""The part of all rows that a cycle changes."""


def load(folder: Path, engine: Engine, thousandths: int) -> list[str]:
    """The tables at a scale, and a strict stream table for each query."""
    scale = thousandths / 1000
    data.generate(folder, scale)
    data.load(engine, folder)
    for number, name in zip(queries.NUMBERS, NAMES, strict=True):
        engine.create_stream_table(name, queries.text(number, scale), strict=True, schedule="1s")
    return NAMES


def change(engine: Engine) -> int:
    """One cycle of a shop's life; how many rows it changes, about."""
    counts = data.row_counts(engine)
    rows = round(sum(counts.values()) * CHANGED)
    Shop(lambda sql: engine.spark.sql(sql).collect(), Amounts.of(rows, counts), counts).cycle()
    return rows


def refresh(engine: Engine) -> dict[str, int] | dict[str, str]:
    """All at one cut: how many refreshes there were of each action."""
    try:
        actions = [str(outcome.action) for outcome in engine.refresh_stream_tables(NAMES)]
    except StreamTableError as err:
        return {"error": err.kind}
    return {action: actions.count(action) for action in sorted(set(actions))}


def verify(engine: Engine) -> list[str]:
    """Those that are not their query's answer at their frontier."""
    return [name for name in NAMES if not engine.verify(name).ok]


def behind(engine: Engine) -> list[str]:
    """Whose frontier is not where the tables are now."""
    now = {
        table: engine.spark.sql(f"SELECT snapshot_id FROM {data.NAMESPACE}.{table}.refs WHERE name = 'main'").first()
        for table in data.FILES_AT_SCALE_1
    }
    heads = {table: None if row is None else row.snapshot_id for table, row in now.items()}
    return [
        name
        for name in NAMES
        if any(heads.get(pin.table.name) != pin.snapshot_id for pin in engine.status(name).frontier.pins)
    ]


def main(master: str, warehouse: str, catalog: str, endpoint: str, folder: str) -> None:
    commands: dict[str, Callable[..., object]] = {
        "load": partial(load, Path(folder)),
        "change": change,
        "refresh": refresh,
        "verify": verify,
        "behind": behind,
        "schedule": schedule,
    }
    conf = {**CONF, "spark.executor.memory": "1g", "spark.sql.catalog.lake.s3.endpoint": endpoint}
    obey(commands, warehouse, catalog=catalog, spark_master=master, spark_conf=conf, spark_driver_memory="2g")


if __name__ == "__main__":
    main(*sys.argv[1:])
