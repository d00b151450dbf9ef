"""Columns that a source gained or changed since its last snapshot: what it held before is read with the columns that it
has now.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, opened

ALTERED = """
ALTER TABLE p ADD COLUMN z INT;
ALTER TABLE p ALTER COLUMN n TYPE BIGINT;
ALTER TABLE p RENAME COLUMN a TO c;
ALTER TABLE p RENAME COLUMN b TO a;
ALTER TABLE p RENAME COLUMN c TO b;
ALTER TABLE p ALTER COLUMN n FIRST
"""
"""`a` and `b` have changed their names."""

QUERIES = {
    "added": "SELECT p.id, p.z, q.w FROM p JOIN q ON p.id = q.id",
    "widened": "SELECT p.n + 9000000000 AS n, q.w FROM p LEFT JOIN q ON p.id = q.id",
    "swapped": "SELECT p.a, p.b, q.w FROM p JOIN q ON p.id = q.id",
    "summed": "SELECT q.w, SUM(p.n) AS n, MAX(p.a) AS a, COUNT(p.z) AS z FROM p JOIN q ON p.id = q.id GROUP BY q.w",
    "among": "SELECT z, a FROM p WHERE id IN (SELECT id FROM q)",
}


@pytest.mark.parametrize("held", [0, 1000])
def test_both_sides_of_a_join_change_after_a_column_did(spark: SparkSession, tmp_path: Path, held: int) -> None:
    with opened(spark, tmp_path, held_table_rows=held) as engine:
        engine.sql("CREATE TABLE p (id INT, n INT, a STRING, b STRING); CREATE TABLE q (id INT, w INT)")
        engine.sql("INSERT INTO p VALUES (1, 1, 'a', 'b'), (2, 2, 'a', 'b'); INSERT INTO q VALUES (1, 1), (3, 3)")
        engine.sql(ALTERED)
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
        for statement in (
            "INSERT INTO p VALUES (3000000000, 3, 'b', 'a', 7); INSERT INTO q VALUES (2, 2), (1, 5)",
            "UPDATE p SET z = id; DELETE FROM q WHERE w = 1",
            "DELETE FROM p WHERE id = 1; INSERT INTO q VALUES (2, 1), (1, 1)",
        ):
            engine.sql(statement)
            for outcome in engine.refresh_stream_tables(list(QUERIES)):
                assert outcome.action is Action.DIFFERENTIAL, outcome
            for name in QUERIES:
                assert_equals_query(engine, name)


def test_a_column_of_which_nobody_knew_is_read_of_older_versions(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, held_table_rows=0) as engine:
        engine.sql("CREATE TABLE p (id INT); CREATE TABLE q (id INT); INSERT INTO p VALUES (1), (2)")
        engine.sql("INSERT INTO q VALUES (1), (2)")
        query = "SELECT p.id FROM p JOIN q ON p.id = q.id"
        engine.create_stream_table("both", query, refresh_mode="DIFFERENTIAL", strict=True)
        engine.sql("ALTER TABLE p ADD COLUMN z INT; INSERT INTO p VALUES (1, 5); INSERT INTO q VALUES (1)")
        assert engine.refresh_stream_table("both").action is Action.DIFFERENTIAL
        assert_equals_query(engine, "both")


def test_a_source_may_gain_columns_with_names_of_ours(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (k INT, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    queries = {
        "sums": "SELECT k, SUM(v) AS s FROM t GROUP BY k",
        "keys": "SELECT DISTINCT k FROM t",
        "pairs": "SELECT a.k, b.v FROM t AS a LEFT JOIN t AS b ON a.k = b.v",
        "ranks": "SELECT k, RANK() OVER (ORDER BY v, k) AS r FROM t",
    }
    for name, query in queries.items():
        engine.create_stream_table(name, query, strict=True)
    for number, column in enumerate(("_weight", "_trickle_weight", "_change_type"), start=3):
        engine.sql(f"ALTER TABLE t ADD COLUMN {column} INT")
        engine.sql(f"INSERT INTO t (k, v, {column}) VALUES ({number}, {number}, -1), (1, 1, 9)")
        engine.sql(f"DELETE FROM t WHERE k = {number - 1}")
        for name in queries:
            assert engine.refresh_stream_table(name).action is Action.DIFFERENTIAL, (name, column)
            assert_equals_query(engine, name)
