"""TPC-H: every query kept incrementally through cycles of changes, and right after each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.tpch import data, queries
from bench.tpch.changes import Amounts, Shop
from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import opened

SCALE = 0.01
CHANGED_ROWS = 500
INCREMENTAL = (Action.DIFFERENTIAL, Action.NO_DATA)
"""On tables as small as these, a change may leave a result as it is."""


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Shop]]:
    """The eight tables, and who changes them."""
    if data.generator() is None and os.environ.get("CI") != "true":
        pytest.skip("tpchgen-cli is not installed: make setup does it")
    folder: Path = tmp_path_factory.mktemp("tpch")
    data.generate(folder, SCALE)
    with opened(spark, folder / "lake") as engine:
        data.load(engine, folder)
        counts = data.row_counts(engine)
        yield engine, Shop(lambda sql: engine.spark.sql(sql).collect(), Amounts.of(CHANGED_ROWS, counts), counts)


def test_all_queries_are_kept_through_changes_one_by_one_and_together(shop: tuple[Engine, Shop]) -> None:
    engine, changes = shop
    names = [queries.stream_table(number) for number in queries.NUMBERS]
    for number, name in zip(queries.NUMBERS, names, strict=True):
        engine.create_stream_table(name, queries.text(number, SCALE), strict=True)
    changes.cycle()
    alone = {name: engine.refresh_stream_table(name).action for name in names}
    assert [name for name, action in alone.items() if action not in INCREMENTAL] == []
    assert [name for name in names if not engine.verify(name)] == []
    changes.cycle()
    together = {outcome.name: outcome.action for outcome in engine.refresh_stream_tables(names)}
    assert [name for name, action in together.items() if action not in INCREMENTAL] == []
    assert Action.DIFFERENTIAL in together.values()
    assert [name for name in names if not engine.verify(name)] == []
