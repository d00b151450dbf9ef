"""Rows on their way from Spark to this process and back: none is lost, and none changes, whatever their batches, types
and time zones are. In between, their size is asked for.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as t

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.spark.execution.local import fetch, hand_back, travels
from spark_trickle.storage.newest import size_in_bytes
from tests.spark.engines import assert_equals_query, bag


@pytest.mark.parametrize("sizes", [[2, 0, 2], [0, 0, 1], [0, 0, 0], [], [0], [3], [1] * 40 + [0] * 3 + [2]])
def test_no_layout_of_batches_loses_rows(spark: SparkSession, sizes: list[int]) -> None:
    kind = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.struct([("at", pa.timestamp("us", tz="UTC"))])))])
    numbers = iter(range(sum(sizes)))
    batches = [
        pa.record_batch([pa.array([next(numbers) for _ in range(size)]), pa.nulls(size, kind.field(1).type)], kind)
        for size in sizes
    ]
    tags = t.ArrayType(t.StructType([t.StructField("at", t.TimestampType())]))
    schema = t.StructType([t.StructField("id", t.LongType()), t.StructField("tags", tags)])
    frame = hand_back(spark, pa.Table.from_batches(batches, kind), schema)
    assert sorted(row.id for row in frame.collect()) == list(range(sum(sizes)))
    assert frame.schema == schema


def test_instants_survive_sessions_with_other_time_zones(spark: SparkSession) -> None:
    east, west = spark.newSession(), spark.newSession()
    east.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    west.conf.set("spark.sql.session.timeZone", "America/New_York")
    # Two of them are the same hour of the clock in New York.
    moments = "'2024-11-03 05:30:00Z'), ('2024-11-03 06:30:00Z'), ('0001-01-01 00:00:00Z'), ('9999-12-31 23:59:59Z'"
    text = (
        "SELECT CAST(m AS TIMESTAMP) AS at, CAST(LEFT(m, 19) AS TIMESTAMP_NTZ) AS shown, "
        f"ARRAY(CAST(m AS TIMESTAMP)) AS many, CAST(LEFT(m, 10) AS DATE) AS day FROM VALUES ({moments}) AS v (m)"
    )
    there = east.sql(text)
    rows = fetch(there)
    assert rows.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert rows.schema.field("shown").type == pa.timestamp("us")
    back = hand_back(west, rows, there.schema)
    told = ("unix_micros(at)", "CAST(shown AS STRING)", "unix_micros(many[0])", "CAST(day AS STRING)")
    assert bag(back.selectExpr(*told)) == bag(there.selectExpr(*told)) == bag(west.sql(text).selectExpr(*told))


def test_nested_values_that_are_null_or_empty_travel(spark: SparkSession) -> None:
    kinds = ["ARRAY<ARRAY<INT>>", "ARRAY<ARRAY<ARRAY<TIMESTAMP>>>", "STRUCT<a: ARRAY<STRUCT<b: ARRAY<STRING>>>>"]
    for kind in kinds:
        for value in ("NULL", "ARRAY()", "ARRAY(NULL)", "ARRAY(ARRAY())"):
            if kind.startswith("STRUCT"):
                value = "NULL" if value == "ARRAY(ARRAY())" else f"NAMED_STRUCT('a', {value})"
            frame = spark.range(3).selectExpr("id", f"CAST({value} AS {kind}) AS v")
            rows = fetch(frame)
            assert travels(frame.schema)
            assert size_in_bytes(rows) > 0
            assert bag(hand_back(spark, rows, frame.schema)) == bag(frame), (kind, value)


def test_the_size_of_lists_without_offsets_is_told() -> None:
    # In a process of its own: what is wrong here ends the process.
    text = """
import pyarrow as pa
from pyspark.sql.types import StructType
from spark_trickle.spark.execution.on_driver import relation
from spark_trickle.storage.newest import size_in_bytes
kind = pa.list_(pa.int32())
inner = pa.Array.from_buffers(kind, 0, [None, None], children=[pa.array([], pa.int32())])
outer = pa.Array.from_buffers(pa.list_(kind), 2, [pa.py_buffer(bytes(1)), pa.py_buffer(bytes(12))], children=[inner])
assert outer.to_pylist() == [None, None]
assert relation(None, pa.table({"a": outer}), StructType().add("a", "string")) is None
print(size_in_bytes(pa.table({"a": outer})) > 0, size_in_bytes(outer) > 0)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["True", "True"]), done


def test_everything_goes_and_comes_again(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (id BIGINT, v STRING); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    engine.sql("CREATE TABLE a (id INT, k INT); INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL)")
    engine.sql("CREATE TABLE b (k INT, w INT, deep ARRAY<ARRAY<INT>>); INSERT INTO b VALUES (1, 5, NULL), (1, 6, NULL)")
    queries = {
        "newest": "SELECT v, COUNT(*) AS c, MAX(id) AS m FROM t GROUP BY v",
        "best": "SELECT a.id, l.m FROM a LEFT JOIN LATERAL (SELECT MAX(w) AS m FROM b WHERE b.k = a.k) AS l ON TRUE",
        "deep": "SELECT a.id, b.deep FROM a JOIN b ON a.k = b.k",
    }
    for name, query in queries.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
    for statement in (
        "DELETE FROM t WHERE TRUE; DELETE FROM a WHERE TRUE; DELETE FROM b WHERE TRUE",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (5, 'a'); INSERT INTO b VALUES (1, 1, ARRAY()), (2, 1, NULL)",
        "UPDATE t SET id = id + 1 WHERE v = 'a'; INSERT INTO a VALUES (1, 1), (2, 2), (3, 3)",
        "DELETE FROM t WHERE v = 'b'; UPDATE b SET w = w + 1; UPDATE a SET k = k + 1",
        "INSERT INTO t VALUES (7, 'b'), (7, 'b'); DELETE FROM b WHERE k = 1; INSERT INTO a VALUES (4, 2)",
    ):
        engine.sql(statement)
        actions = Counter(outcome.action for outcome in engine.refresh_stream_tables(list(queries)))
        assert set(actions) <= {Action.DIFFERENTIAL, Action.NO_DATA}, actions
        for name in queries:
            assert_equals_query(engine, name)
