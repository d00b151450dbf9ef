"""What other tools do to a source: fields of structs that move, branches that become the table, versions that come
back, deletes by value as streaming writers make them. Over two sources, cycle after cycle, here and as jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from spark_trickle.model.refresh import Action
from spark_trickle.names import TableName
from spark_trickle.storage.iceberg import load
from tests.spark.engines import assert_equals_query, opened
from tests.support.equality_deletes import delete_equal

OVER_STRUCTS = {
    "whole": "SELECT * FROM t",
    "expanded": "SELECT id, s.* FROM t",
    "by_name": "SELECT s.a, COUNT(*) AS n, MAX(s.b) AS m FROM t GROUP BY s.a",
    "joined": "SELECT u.w, t.s FROM u LEFT JOIN t ON t.s.a = u.w",
    "distinct_structs": "SELECT DISTINCT s FROM t",
    "in_array": "SELECT id, transform(l, x -> x.a) AS a FROM t",
}
STRUCT_CHANGES = {
    "field moved": "ALTER TABLE t ALTER COLUMN s.b FIRST",
    "field added": "ALTER TABLE t ADD COLUMN s.z STRING",
    "field added first": "ALTER TABLE t ADD COLUMN s.z STRING FIRST",
    "field of an element moved": "ALTER TABLE t ALTER COLUMN l.element.b FIRST",
    "fields swapped": "; ".join(f"ALTER TABLE t RENAME COLUMN s.{a} TO {b}" for a, b in ("ac", "ba", "cb")),
    "field dropped and made again": "ALTER TABLE t DROP COLUMN s.b; ALTER TABLE t ADD COLUMN s.b STRING",
}
BESIDE = {
    "joined": "SELECT t.k, t.v, u.w FROM t JOIN u ON t.k = u.k",
    "outer_joined": "SELECT u.k, u.w, t.v FROM u LEFT JOIN t ON t.k = u.k",
    "grouped": "SELECT k, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m FROM t GROUP BY k",
    "ranked": "SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, w) AS place FROM t",
    "without": "SELECT k FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = u.k)",
}


@pytest.fixture(params=[0, 100_000], ids=["as jobs", "here"])
def lake(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with opened(spark, tmp_path, local_query_rows=request.param) as engine:
        yield engine


@pytest.fixture
def beside(lake: Engine) -> Engine:
    """Two tables, several duplicates and NULLs, and a stream table of each shape over them."""
    lake.sql("CREATE TABLE t (k INT, v INT, w INT); CREATE TABLE u (k INT, w STRING)")
    lake.sql("INSERT INTO t SELECT id % 7, id % 5, id FROM range(40); INSERT INTO t VALUES (NULL, 1, 1), (3, NULL, 2)")
    lake.sql("INSERT INTO u SELECT id % 9, concat('u', id) FROM range(12); INSERT INTO u VALUES (NULL, 'none')")
    for name, query in BESIDE.items():
        lake.create_stream_table(name, query, strict=True)
    return lake


def refreshed(engine: Engine, actions: Set[Action] = frozenset({Action.DIFFERENTIAL})) -> None:
    for name in BESIDE:
        outcome = engine.refresh_stream_table(name)
        assert outcome.action in actions, outcome
        assert_equals_query(engine, name)


@pytest.mark.parametrize("change", STRUCT_CHANGES)
def test_fields_of_structs_change_as_columns_do(engine: Engine, change: str) -> None:
    engine.sql(
        "CREATE TABLE u (w STRING);"
        "CREATE TABLE t (id INT, s STRUCT<a: STRING, b: STRING>, l ARRAY<STRUCT<a: INT, b: INT>>)"
    )
    row = "named_struct('a', '{0}', 'b', '{1}'), array(named_struct('a', {2}, 'b', 9))"
    engine.sql(f"INSERT INTO t SELECT 1, {row.format('x', 'y', 1)}; INSERT INTO t SELECT 2, {row.format('y', 'x', 2)}")
    engine.sql("INSERT INTO t VALUES (3, NULL, NULL); INSERT INTO u VALUES ('x'), ('q')")
    for name, query in OVER_STRUCTS.items():
        engine.create_stream_table(name, query)
        engine.create_stream_table(f"{name}_strictly", query, strict=True)
    engine.sql(STRUCT_CHANGES[change])
    for statement in (
        "INSERT INTO u VALUES ('y'); DELETE FROM t WHERE id = 1",
        "DELETE FROM u; INSERT INTO u VALUES ('x')",
    ):
        engine.sql(statement)
        engine.sql("INSERT INTO t SELECT * FROM t WHERE id = 2")
        for name in OVER_STRUCTS:
            engine.refresh_stream_table(name)
            assert_equals_query(engine, name)
            try:
                engine.refresh_stream_table(f"{name}_strictly")
            except StreamTableError as err:
                assert "column" in str(err), err
                assert not re.search(r"from (.+) to \1\.", str(err)), err
            else:
                assert_equals_query(engine, f"{name}_strictly")


def test_a_branch_is_of_no_concern_until_it_becomes_the_table(beside: Engine) -> None:
    beside.sql("ALTER TABLE t CREATE BRANCH work; INSERT INTO default.t.branch_work VALUES (1, 99, 99), (50, 1, 1)")
    beside.sql("DELETE FROM default.t.branch_work WHERE k = 2")
    refreshed(beside, {Action.NO_DATA})
    beside.sql("CALL lake.system.fast_forward('default.t', 'main', 'work'); DELETE FROM u WHERE k = 1")
    refreshed(beside, {Action.DIFFERENTIAL, Action.NO_DATA})
    beside.sql("INSERT INTO default.t.branch_work VALUES (3, 77, 1); INSERT INTO t VALUES (4, 78, 1)")
    refreshed(beside, {Action.DIFFERENTIAL, Action.NO_DATA})


def test_versions_that_come_back_and_single_ones_that_are_picked(beside: Engine) -> None:
    first = snapshot(beside)
    beside.sql("DELETE FROM t WHERE k IN (1, 2); INSERT INTO t VALUES (60, 6, 6)")
    refreshed(beside, {Action.DIFFERENTIAL, Action.NO_DATA})
    second = snapshot(beside)
    beside.sql("INSERT INTO t VALUES (61, 6, 6); UPDATE u SET w = 'new' WHERE k = 2")
    beside.sql(f"CALL lake.system.rollback_to_snapshot('default.t', {first})")
    refreshed(beside, {Action.DIFFERENTIAL, Action.NO_DATA})
    beside.sql(f"INSERT INTO u VALUES (61, 'far'); CALL lake.system.set_current_snapshot('default.t', {second})")
    refreshed(beside, {Action.DIFFERENTIAL, Action.NO_DATA})
    beside.sql("ALTER TABLE t CREATE BRANCH audit; ALTER TABLE t SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    beside.sql("INSERT INTO default.t.branch_audit VALUES (62, 6, 6)")
    picked = beside.spark.sql("SELECT snapshot_id FROM default.t.refs WHERE name = 'audit'").collect()[0][0]
    beside.sql(f"CALL lake.system.cherrypick_snapshot('default.t', {picked}); DELETE FROM u WHERE k = 61")
    refreshed(beside, {Action.DIFFERENTIAL, Action.NO_DATA})


def snapshot(engine: Engine) -> int:
    found: Any = engine.spark.sql("SELECT snapshot_id FROM default.t.refs WHERE name = 'main'").collect()[0][0]
    return int(found)


def test_rows_that_are_deleted_by_their_values(beside: Engine) -> None:
    for cycle, (keys, statement) in enumerate(
        [
            ([1, 99], "DELETE FROM u WHERE k = 2"),
            ([2, 3], "INSERT INTO t VALUES (2, 1, 1), (2, 1, 1), (1, 8, 8)"),
            ([0, 1, 2, 3, 4, 5, 6], "UPDATE u SET w = 'again'"),
            ([5], "INSERT INTO t SELECT id % 7, id % 5, id FROM range(30); INSERT INTO u VALUES (5, 'five')"),
        ]
    ):
        delete_equal(beside.spark, load(beside.spark, TableName.parse("t")), "k", keys)
        beside.sql(statement)
        if cycle % 2:
            delete_equal(beside.spark, load(beside.spark, TableName.parse("u")), "w", ["u4", "again"])
        refreshed(beside)
