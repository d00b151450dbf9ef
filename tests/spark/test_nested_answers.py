"""Answers with maps, structs and arrays: their rows come and go like others, whatever is inside of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, opened
from tests.support.printed import printed

QUERIES = {
    "maps": "SELECT id, m FROM t",
    "maps_twice": "SELECT m FROM t UNION ALL SELECT m FROM t",
    "maps_in_lists": "SELECT l FROM t",
    "maps_in_structs": "SELECT id, s FROM t",
    "largest": "SELECT id % 2 AS p, MAX(named_struct('a b', id)) AS s, COUNT(*) AS n FROM t GROUP BY id % 2",
    "odd_fields": "SELECT id, named_struct('a b', id, 'select', 'x', '`', 1) AS s FROM t",
    "odd_fields_in_lists": "SELECT array(named_struct('a-b', id)) AS s FROM t",
}
STORY = (
    "DELETE FROM t WHERE id = 2",
    "DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (6, map('d', 1, 'c', 2), array(map('b', '1', 'a', '2')), NULL)",
    "INSERT INTO t SELECT * FROM t",
    "UPDATE t SET id = id + 10",
    "DELETE FROM t",
)


@pytest.mark.parametrize("small", [0, 250_000])
def test_rows_with_maps_and_structs_come_and_go(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, small: int
) -> None:
    with opened(spark, tmp_path_factory.mktemp("lake"), small_change_rows=small) as engine:
        engine.sql(
            "CREATE TABLE t (id INT, m MAP<STRING, INT>, l ARRAY<MAP<STRING, STRING>>, s STRUCT<m: MAP<STRING, INT>>)"
        )
        engine.sql(
            "INSERT INTO t VALUES "
            "(1, map('b', 1, 'a', 2), array(map('a', 'null')), named_struct('m', map('b', 1, 'a', 2))), "
            "(2, map('x', 1), array(map('a', CAST(NULL AS STRING))), named_struct('m', map('x', 1))), "
            "(3, map('z', 1, 'y', 2), array(map('a', 'b, c -> d')), NULL), "
            "(4, map(), array(map('a', 'b', 'c', 'd')), NULL)"
        )
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
        for statement in STORY:
            engine.sql(statement)
            for outcome in engine.refresh_stream_tables(list(QUERIES)):
                assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
            for name, query in QUERIES.items():
                assert printed(engine.spark.sql(f"SELECT * FROM {name}")) == printed(engine.spark.sql(query)), statement


@pytest.mark.parametrize(("here", "cache"), [(0, 0), (0, 1 << 30), (100_000, 0)])
def test_rows_meet_by_a_field_of_a_struct(spark: SparkSession, tmp_path: Path, here: int, cache: int) -> None:
    """Spark forgets the field where several EXISTS ask for it, as they do of rows that may come to have no partner."""
    with opened(spark, tmp_path, local_query_rows=here, row_cache_bytes=cache) as engine:
        engine.sql("CREATE TABLE u (w STRING); CREATE TABLE t (id INT, s STRUCT<a: STRING, b: STRING>)")
        engine.sql("INSERT INTO t VALUES (1, named_struct('a', 'x', 'b', 'y')), (2, named_struct('a', 'y', 'b', 'x'))")
        engine.sql("INSERT INTO t VALUES (3, NULL); INSERT INTO u VALUES ('x'), ('q'), (NULL)")
        engine.create_stream_table("outer", "SELECT u.w, t.s FROM u LEFT JOIN t ON t.s.a = u.w", strict=True)
        engine.create_stream_table("whole", "SELECT u.w, t.s FROM u FULL JOIN t ON t.s.a = u.w", strict=True)
        for statement in (
            "INSERT INTO u VALUES ('y'); DELETE FROM t WHERE id = 1",
            "DELETE FROM u",
            "INSERT INTO t SELECT * FROM t WHERE id = 2; INSERT INTO u VALUES ('x'), ('y')",
            "UPDATE t SET s = named_struct('a', 'x', 'b', 'z') WHERE id = 2",
        ):
            engine.sql(statement)
            for name in ("outer", "whole"):
                assert engine.refresh_stream_table(name).action is Action.DIFFERENTIAL
                assert_equals_query(engine, name)
