"""Changes that are too large to be brought to the driver are computed once and held by Spark until they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_trickle.model.refresh import Action
from spark_trickle.spark.execution import apply
from spark_trickle.storage import netting
from tests.spark.engines import assert_equals_query, opened
from tests.spark.versions import MERGE_ON_READ


def test_what_is_held_is_not_computed_again_after_the_table_it_was_read_from_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    with opened(spark, tmp_path, small_change_rows=0, rewrite_table_rows=0) as engine:
        engine.sql("CREATE TABLE t (a INT, c STRING); INSERT INTO t VALUES (1, 'p'), (1, 'p'), (2, NULL)")
        engine.create_stream_table("ones", "SELECT DISTINCT c, a FROM t", refresh_mode="DIFFERENTIAL", strict=True)
        for statement in (
            "INSERT INTO t VALUES (3, 'q'), (2, NULL), (4, NULL)",
            "DELETE FROM t WHERE a = 1",
            "UPDATE t SET c = 'r' WHERE a = 2",
        ):
            engine.sql(statement)
            outcome = engine.refresh_stream_table("ones")
            assert outcome.action is Action.DIFFERENTIAL, statement
            assert_equals_query(engine, "ones")


def test_rows_that_only_seem_to_go_and_come_are_left_out_before_they_meet_another_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows are compared with a mean that changed, and few of them fall on its other side."""
    netted: list[int] = []

    def net(frame: DataFrame) -> DataFrame:
        found = netting.net(frame)
        netted.append(found.count())
        return found

    monkeypatch.setattr(apply, "net", net)
    with opened(spark, tmp_path, small_change_rows=100) as engine:
        modes = ", ".join(f"'{key}' = '{value}'" for key, value in {"format-version": "3", **MERGE_ON_READ}.items())
        engine.sql(f"CREATE TABLE t (id BIGINT, v BIGINT) TBLPROPERTIES ({modes})")
        engine.sql("INSERT INTO t SELECT id, id FROM range(2000)")
        engine.sql("CREATE TABLE notes (id BIGINT); INSERT INTO notes SELECT id * 3 FROM range(700)")
        engine.create_stream_table(
            "above",
            "SELECT v % 7 AS k, COUNT(*) AS n FROM t WHERE v > (SELECT AVG(v) FROM t) "
            "AND NOT EXISTS (SELECT 1 FROM notes WHERE notes.id = t.id) GROUP BY v % 7",
            strict=True,
        )
        for statement in (
            "UPDATE t SET v = v + 5000 WHERE id < 5",
            "DELETE FROM t WHERE id BETWEEN 1100 AND 1110",
            "UPDATE t SET v = v - 5000 WHERE id < 5",
        ):
            engine.sql(statement)
            assert engine.refresh_stream_table("above").action is Action.DIFFERENTIAL, statement
            assert_equals_query(engine, "above")
    assert netted and max(netted) < 100, netted
