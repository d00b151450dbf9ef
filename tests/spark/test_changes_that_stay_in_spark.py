"""Changes that are too large to be brought to the driver are computed once and held by Spark until they are written."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, opened


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
