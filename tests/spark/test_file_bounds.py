"""How much of a table a key range leaves to read: what its files' bounds say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from spark_trickle.model.refresh import Action
from spark_trickle.names import TableName
from spark_trickle.storage.bounds import FileBounds
from tests.spark.engines import opened
from tests.spark.versions import Lab, Table


@pytest.fixture
def table(lab: Lab) -> Table:
    """Four files of a hundred rows: `id` goes on from file to file, `spread` is all over each of them."""
    made = lab.table("id BIGINT, spread INT, day DATE, name STRING, price DECIMAL(9, 2)")
    for first in range(0, 400, 100):
        made.run(
            "INSERT INTO {t} SELECT /*+ REPARTITION(1) */ id, CAST(id % 100 AS INT), "
            "DATE '2026-01-01' + CAST(id AS INT), concat('n', lpad(id, 3, '0')), 1.00 "
            f"FROM range({first}, {first + 100})"
        )
    return made


@pytest.mark.parametrize(
    ("column", "ranges", "share"),
    [
        ("id", [(0, 10)], 0.25),
        ("id", [(0, 10), (399, 500)], 0.5),
        ("ID", [(95, 105)], 0.5),
        ("id", [(1000, 2000)], 0.0),
        ("spread", [(3, 3), (50, 60)], 1.0),
        ("spread", [(-(10**12), 2), (10**11, 10**12)], 1.0),
        ("spread", [(10**11, 10**12)], 0.0),
        ("day", [(np.datetime64("2026-01-01"), np.datetime64("2026-02-01"))], 0.25),
        ("day", [(np.datetime64("12026-01-01", "D"), np.datetime64("999999-02-01", "D"))], 0.0),
        ("day", [(np.datetime64("-2026-01-01", "D"), np.datetime64("12026-01-01", "D"))], 1.0),
        ("name", [("n150", "n250")], 0.5),
    ],
)
def test_files_within_the_ranges_are_counted(
    table: Table, column: str, ranges: Sequence[tuple[Any, Any]], share: float
) -> None:
    assert FileBounds().share(table.spark, table.name, column, ranges) == share


def test_ranges_are_tried_where_nobody_can_tell(table: Table) -> None:
    bounds = FileBounds()
    assert bounds.share(table.spark, table.name, "price", [(1, 2)]) == 0
    assert bounds.share(table.spark, table.name, "name", [(1, 2)]) == 0
    assert bounds.share(table.spark, table.name, "nowhere", [(1, 2)]) == 0


def test_a_table_without_files_has_none_to_read(lab: Lab) -> None:
    empty = lab.table("id BIGINT")
    assert FileBounds().share(empty.spark, empty.name, "id", [(1, 2)]) == 0


def test_each_version_has_its_own_files(table: Table) -> None:
    bounds = FileBounds(most_files=7)
    assert bounds.share(table.spark, table.name, "id", [(0, 10)]) == 0.25
    table.run("INSERT INTO {t} SELECT /*+ REPARTITION(1) */ 5, 5, NULL, NULL, NULL FROM range(400)")
    assert bounds.share(table.spark, table.name, "id", [(0, 10)]) == 500 / 800


def test_a_large_table_of_groups_is_written_in_ranges_of_its_key(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, broadcast_table_rows=1000) as engine:
        engine.sql("CREATE TABLE t (k BIGINT, v BIGINT)")
        engine.sql("INSERT INTO t SELECT id * 7919 % 400000, id FROM range(400000)")
        engine.create_stream_table("sums", "SELECT k, SUM(v) AS v, COUNT(*) AS n FROM t GROUP BY k", strict=True)
        written = TableName.parse("lake.default.sums")
        assert FileBounds().share(engine.spark, written, "k", [(0, 10)]) < 1
        assert FileBounds().share(engine.spark, written, "v", [(0, 400000)]) == 1
        engine.sql("UPDATE t SET v = v + 1 WHERE k < 300")
        assert engine.refresh_stream_table("sums").action is Action.DIFFERENTIAL
        assert engine.verify("sums").ok
