"""TPC-H in DuckDB: the plans and changes of all 22 queries, on small tables that change a lot, without Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from bench.tpch import data, queries
from bench.tpch.changes import Amounts, Shop
from tests.support.duck import Kept, Lake, Table

SCALE = 0.01
CHANGED_ROWS = 16_000


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if data.generator() is None and os.environ.get("CI") != "true":
        pytest.skip("tpchgen-cli is not installed: make setup does it")
    folder = tmp_path_factory.mktemp("tpch")
    data.generate(folder, SCALE)
    return folder


def loaded(folder: Path) -> Lake:
    lake = Lake(())
    tables = []
    for name in data.FILES_AT_SCALE_1:
        files = f"'{folder / name}/*.parquet'"
        columns = ", ".join(f"{column} {kind}" for column, kind, *_ in lake.run(f"DESCRIBE FROM {files}"))
        tables.append(Table(name, columns))
    lake = Lake(tables)
    for table in tables:
        lake.run(f"INSERT INTO after.{table.name} FROM '{folder / table.name}/*.parquet'")
    return lake


def shop_of(lake: Lake) -> Shop:
    """Changes as the bench makes them, said to DuckDB."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        tree = sqlglot.parse_one(sql, dialect="spark")
        for table in tree.find_all(exp.Table):
            table.set("db", exp.to_identifier("after"))
        return lake.run(tree.sql(dialect="duckdb"))

    counts = {name: lake.run(f"SELECT COUNT(*) FROM after.{name}")[0][0] for name in data.FILES_AT_SCALE_1}
    return Shop(run, Amounts.of(CHANGED_ROWS, counts), counts)


@pytest.mark.parametrize("number", queries.NUMBERS, ids=queries.stream_table)
def test_a_query_is_kept_through_cycles_of_changes(number: int, generated: Path) -> None:
    lake = loaded(generated)
    shop = shop_of(lake)
    kept = Kept(lake, queries.text(number, SCALE))
    kept.check()
    for _ in range(2):
        shop.cycle()
        kept.step()
    assert kept.written > 0
