"""Random histories on Spark: whatever is inserted, updated and deleted, the contents equal the query, differentially.

`TRICKLE_TEST_CYCLES` and `TRICKLE_TEST_SEED` make it longer, or another one.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, bag, opened, rows

CYCLES = int(os.environ.get("TRICKLE_TEST_CYCLES", "5"))
SEED = int(os.environ.get("TRICKLE_TEST_SEED", "20240117"))

QUERIES = {
    "filtered": "SELECT a, c, a * 2 AS twice FROM r WHERE a > 1 OR c IS NULL",
    "joined": "SELECT r.a, r.c, s.d FROM r JOIN s ON r.a = s.b AND r.c <=> s.c WHERE s.d IS NOT NULL",
    "three_way": "SELECT x.a, y.d, z.c FROM r x JOIN s y ON x.a = y.b JOIN r z ON z.a = y.b",
    "grouped": (
        "SELECT c, COUNT(*) AS n, COUNT(a) AS known, SUM(a) AS total, MIN(a) AS low, MAX(m) AS high, AVG(a) AS mean "
        "FROM r GROUP BY c"
    ),
    "one_row": "SELECT COUNT(*) AS n, SUM(m) AS total, MAX(a) AS high FROM r",
    "group_of_join": (
        "SELECT s.d, SUM(r.m) AS total, COUNT(*) AS n FROM r JOIN s ON r.a = s.b GROUP BY s.d HAVING COUNT(*) > 1"
    ),
    "united": "SELECT a, c FROM r UNION ALL SELECT b, c FROM s",
    "distinct_ones": "SELECT DISTINCT c, a FROM r",
}


class History:
    """Random changes of two tables without keys, with NULLs and duplicates."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._engine = engine
        self._random = random.Random(seed)
        engine.sql("CREATE TABLE r (a INT, c STRING, m DECIMAL(10,2)); CREATE TABLE s (b INT, c STRING, d BIGINT)")
        self._insert("r", 12)
        self._insert("s", 8)

    def go_on(self) -> None:
        """One window: some statements on both tables."""
        for table in ("r", "s"):
            for _ in range(self._random.randint(1, 3)):
                self._random.choice([self._some, self._update, self._delete, self._copy])(table)

    def _some(self, table: str) -> None:
        self._insert(table, self._random.randint(1, 4))

    def _insert(self, table: str, count: int) -> None:
        pick = self._random
        third = ["NULL", "1.25", "-3", "0"] if table == "r" else ["NULL", "1", "2"]
        choices = (["NULL", "0", "1", "2", "3"], ["NULL", "'p'", "'q'"], third)
        made = [f"({', '.join(pick.choice(values) for values in choices)})" for _ in range(count)]
        self._engine.spark.sql(f"INSERT INTO {table} VALUES {', '.join(made)}")

    def _key(self, table: str) -> str:
        return f"{'a' if table == 'r' else 'b'} <=> {self._random.choice(['NULL', '0', '1', '2', '3'])}"

    def _update(self, table: str) -> None:
        change = self._random.choice(["c = 'q'", "c = NULL", f"{'a' if table == 'r' else 'b'} = 2"])
        self._engine.spark.sql(f"UPDATE {table} SET {change} WHERE {self._key(table)}")

    def _delete(self, table: str) -> None:
        self._engine.spark.sql(f"DELETE FROM {table} WHERE {self._key(table)} AND c <=> 'p'")

    def _copy(self, table: str) -> None:
        self._engine.spark.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE {self._key(table)} LIMIT 3")


WAYS = {
    "whole, from memory": {"lookup_table_rows": 0},
    "directly": {"rewrite_table_rows": 0, "lookup_table_rows": 0, "held_table_rows": 0},
    "by MERGE": {"rewrite_table_rows": 0, "small_change_rows": 0},
    "in two steps, as large tables are": {"broadcast_table_rows": 0, "small_change_rows": 0},
}
"""How tables of ours are written. Most other tests have tables so small that they are always written whole."""


@pytest.mark.parametrize("way", WAYS)
def test_random_changes_are_followed_differentially(spark: SparkSession, tmp_path: Path, way: str) -> None:
    limits = WAYS[way]
    format_version = "2" if "small_change_rows" in limits else "3"
    with opened(spark, tmp_path, **limits) as engine:
        engine.spark.conf.set("spark.sql.catalog.lake.table-default.format-version", format_version)
        history = History(engine, SEED + int(format_version))
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
        for cycle in range(CYCLES if format_version == "3" else max(1, CYCLES // 2)):
            before = {name: rows(engine, f"SELECT * FROM {name}") for name in QUERIES}
            history.go_on()
            for outcome in engine.refresh_stream_tables(list(QUERIES)):
                where = f"seed {SEED}, cycle {cycle}: {outcome}"
                after = rows(engine, f"SELECT * FROM {outcome.name}")
                assert after == rows(engine, QUERIES[outcome.name]), where
                assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), where
                assert (outcome.action is Action.NO_DATA) == (after == before[outcome.name]), where
        for name in QUERIES:
            assert_equals_query(engine, name)


TYPED = (
    "k INT, dec DECIMAL(38,10), dbl DOUBLE, flt FLOAT, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, raw BINARY,"
    " flag BOOLEAN, big BIGINT, st STRUCT<x: INT, y: STRING>, arr ARRAY<DOUBLE>, mp MAP<STRING, INT>"
)
VALUES = (
    "(1, 12345678901234567890.0123456789BD, DOUBLE('NaN'), FLOAT('-Infinity'), DATE'0001-01-01',"
    " TIMESTAMP'1969-12-31 23:59:59.999999', TIMESTAMP_NTZ'2024-03-31 02:30:00.123456', X'00FF', true,"
    " -9223372036854775807, NAMED_STRUCT('x', 1, 'y', 'ü'),"
    " ARRAY(0.0D, -0.0D, DOUBLE('NaN'), NULL), MAP('a', 1, 'b', NULL))",
    "(2, -0.0000000001BD, -0.0D, FLOAT('-0.0'), DATE'9999-12-31', TIMESTAMP'2024-10-27 01:30:00',"
    " TIMESTAMP_NTZ'1970-01-01 00:00:00', X'', false, 0,"
    " NAMED_STRUCT('x', CAST(NULL AS INT), 'y', ''), ARRAY(), MAP())",
    "(2, 0.0BD, 0.0D, FLOAT('0.0'), DATE'2024-02-29', TIMESTAMP'2024-10-27 01:30:00',"
    " TIMESTAMP_NTZ'1970-01-01 00:00:00', X'00', NULL, 1, NAMED_STRUCT('x', 2, 'y', NULL), ARRAY(-0.0D), MAP('z', 0))",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
)


def test_values_of_every_type_pass_exactly(engine: Engine) -> None:
    engine.sql(f"CREATE TABLE t ({TYPED}) TBLPROPERTIES ('format-version' = '3'); INSERT INTO t VALUES {VALUES[0]}")
    engine.sql(
        "CREATE TABLE keys (k INT, note STRING); INSERT INTO keys VALUES (1, 'one'), (2, 'two'), (2, 'two'), (3, NULL)"
    )
    everything = "k, dec, dbl, flt, day, at, local, raw, flag, big, st, arr, mp"
    queries = {
        "kept": f"SELECT {everything} FROM t WHERE k < 3",
        "joined": "SELECT t.*, keys.note FROM t JOIN keys ON t.k = keys.k",
        "parts": "SELECT k, st.x AS x, GET(arr, 0) AS first, mp['a'] AS a, CAST(day AS STRING) AS d FROM t",
    }
    for name, query in queries.items():
        engine.create_stream_table(name, query, strict=True)
    for statement in (
        f"INSERT INTO t VALUES {', '.join(VALUES[1:])}",
        f"INSERT INTO t VALUES {VALUES[0]}, {VALUES[1]}, {VALUES[3]}",
        "DELETE FROM t WHERE k = 2 AND big = 0",
        "UPDATE t SET dbl = 0.0D WHERE k = 1",
        "DELETE FROM keys WHERE k = 2",
        "UPDATE t SET dbl = -0.0D, arr = ARRAY(0.0D) WHERE k = 2",
        "DELETE FROM t WHERE k IN (1, 3)",
    ):
        engine.sql(statement)
        for outcome in engine.refresh_stream_tables(list(queries)):
            assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), (statement, outcome)
            found: Counter[str] = bag(engine.spark.table(outcome.name))
            assert found == rows(engine, queries[outcome.name]), (statement, outcome.name)
    for name in queries:
        assert engine.verify(name)
