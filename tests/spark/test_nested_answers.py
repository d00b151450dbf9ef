"""Answers with maps, structs and arrays: their rows come and go like others, whatever is inside of them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_trickle.model.refresh import Action
from tests.spark.engines import opened
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
