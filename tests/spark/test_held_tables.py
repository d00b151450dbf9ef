"""Tiny tables are held in memory between refreshes: they are still what they are, whoever else writes meanwhile."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, opened

QUERIES = {
    "sums": "SELECT g, SUM(v) AS total FROM t GROUP BY g",
    "big": "SELECT g, MAX(v) AS top FROM t GROUP BY g HAVING COUNT(*) > 1",
    "rows_of_two": "SELECT t.g, t.v FROM t JOIN other.names ON t.g = names.g",
    "one": "SELECT SUM(v) / COUNT(*) AS mean FROM t",
    "below": "SELECT total, COUNT(*) AS n FROM sums GROUP BY total",
}


def prepared(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (g INT, v INT); INSERT INTO t VALUES (1, 1), (1, 2), (2, 3), (NULL, NULL), (NULL, 5)")
    engine.sql("CREATE NAMESPACE IF NOT EXISTS lake.other")
    engine.sql("CREATE TABLE other.names (g INT, name STRING)")
    engine.sql("INSERT INTO other.names VALUES (1, 'a'), (2, 'b'), (2, 'c')")
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)


def followed(engine: Engine) -> None:
    for outcome in engine.refresh_stream_tables(list(QUERIES)):
        assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
    for name in QUERIES:
        assert_equals_query(engine, name)


def test_tables_grow_past_what_is_held_and_shrink_again(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, held_table_rows=4) as engine:
        prepared(engine)
        for statement in (
            "INSERT INTO t VALUES (2, 3), (3, 1)",
            "INSERT INTO t SELECT CAST(id AS INT), CAST(id AS INT) FROM RANGE(10)",
            "UPDATE t SET v = v + 1 WHERE g > 4; DELETE FROM other.names WHERE g = 2",
            "INSERT INTO t VALUES (4, 4); INSERT INTO other.names VALUES (7, NULL)",
            "DELETE FROM t WHERE g > 2",
            "INSERT INTO t VALUES (1, 1), (NULL, 7); INSERT INTO other.names VALUES (2, 'd')",
            "DELETE FROM t WHERE TRUE",
            "INSERT INTO t VALUES (1, 9)",
        ):
            engine.sql(statement)
            followed(engine)


def test_two_engines_do_not_remember_for_each_other(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path) as one, opened(spark.newSession(), tmp_path) as other:
        prepared(one)
        for cycle in range(4):
            engine = (one, other)[cycle % 2]
            engine.sql(f"INSERT INTO t VALUES ({cycle}, {cycle}), (1, 2); DELETE FROM t WHERE v = {cycle - 1}")
            engine.sql(f"UPDATE other.names SET g = {cycle} WHERE name = 'c'")
            followed(engine)


def test_tiny_tables_are_not_read_again(spark: SparkSession, tmp_path: Path) -> None:
    jobs = {}
    for held in (0, 1000):
        with opened(spark, tmp_path / str(held), held_table_rows=held, local_query_rows=0) as engine:
            prepared(engine)
            for cycle in range(2):
                engine.sql(f"INSERT INTO t VALUES (1, {cycle}); DELETE FROM t WHERE v = {cycle - 1}")
                outcomes = {name: engine.refresh_stream_table(name) for name in QUERIES}
            jobs[held] = {name: outcome.jobs for name, outcome in outcomes.items()}
            for name in QUERIES:
                assert_equals_query(engine, name)
    assert sum(jobs[1000].values()) < sum(jobs[0].values()), jobs


def test_who_rebuilds_reads_the_tables_themselves(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path) as engine:
        prepared(engine)
        engine.sql("INSERT INTO t VALUES (1, 1)")
        followed(engine)
        engine.spark.sql("DELETE FROM lake.default.sums WHERE g = 1")
        engine.sql("INSERT INTO t VALUES (2, 2)")
        assert engine.refresh_stream_table("sums", mode="FULL").action in (Action.FULL, Action.REINITIALIZE)
        assert_equals_query(engine, "sums")
        engine.sql("INSERT INTO t VALUES (2, 2)")
        followed(engine)
