"""Tables, columns and functions of users that are called like something of ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import NotFoundError, UserError
from spark_trickle.model.publication import Publication
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode
from tests.spark.engines import assert_equals_query, opened
from tests.support.our_names import FIRST, KINDS, WINDOWS

NAMES = {
    "aggregates of joins": ("groups", "delta", "public"),
    "outer join": ("target", "recomputed", "shared_1"),
    "window": ("before.groups", "after.target", "step.groups"),
    "distinct": ("trickle_t", "trickle_s", "trickle_d"),
    "limit": ("transitions", "trickle_changes_0", "changes.delta"),
    "common table expressions": ("state_1f", "q1", "key_range"),
}
SMALLEST: dict[str, Any] = {
    "held_table_rows": 0,
    "rewrite_table_rows": 0,
    "broadcast_table_rows": 1,
    "lookup_table_rows": 1,
}
"""Every way of large tables is taken."""


@pytest.mark.parametrize("settings", [{}, SMALLEST], ids=["as it is", "as if all were large"])
def test_tables_with_names_of_ours_are_tables_like_others(
    spark: SparkSession, tmp_path: Path, settings: dict[str, Any]
) -> None:
    with opened(spark, tmp_path / "lake", **settings) as engine:
        for namespace in ("before", "after", "step", "changes"):
            engine.sql(f"CREATE NAMESPACE {namespace}")
        kept = dict(zip(NAMES, ("kept", "public_2", "step.kept", "trickle_x", "changes.public", "q2"), strict=True))
        for kind, names in NAMES.items():
            for name, rows in zip(names, FIRST.values(), strict=True):
                engine.sql(f"CREATE TABLE {name} (id BIGINT, v INT)")
                engine.sql(f"INSERT INTO {name} VALUES {', '.join(map(str, rows))}")
            engine.create_stream_table(kept[kind], said(KINDS[kind], names), refresh_mode="DIFFERENTIAL", strict=True)
        for window in WINDOWS[:3]:
            for names in NAMES.values():
                for statement in window:
                    engine.sql(said(statement, names))
            for outcome in engine.refresh_stream_tables(list(kept.values())):
                assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
            for name in kept.values():
                assert_equals_query(engine, name)


WORDS = ("current_timestamp", "current_date", "current_user", "user", "session_user", "current_time")


def test_columns_called_like_functions_without_parentheses_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Inside EXISTS Spark takes such a word for the function before it looks at the rows outside."""
    columns = ", ".join(f"`{word}` BIGINT" for word in WORDS)
    with opened(spark, tmp_path / "lake") as engine:
        engine.sql(f"CREATE TABLE a ({columns})")
        engine.sql(f"CREATE TABLE b (seed BIGINT, {columns})")
        engine.sql("INSERT INTO a VALUES (1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2), (NULL, 3, 3, 3, 3, 3)")
        engine.sql("INSERT INTO b VALUES (1, 1, 1, 1, 1, 1, 1)")
        joins = {"outer": "LEFT JOIN b ON a.{0} = b.seed", "anti": "LEFT ANTI JOIN b ON b.seed = a.{0}"}
        texts = {
            f"{kind}_{number}": f"SELECT a.`{word}` AS x FROM a {join.format(f'`{word}`')}"
            for number, word in enumerate(WORDS)
            for kind, join in joins.items()
        }
        texts["both"] = "SELECT a.`user` AS x, b.`user` AS y FROM a FULL JOIN b ON a.`user` = b.`user`"
        texts["within"] = "SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.seed = a.`current_date`) OR `user` = 3"
        for name, text in texts.items():
            engine.create_stream_table(name, text, refresh_mode="DIFFERENTIAL", strict=True)
        for statement in (
            "INSERT INTO b VALUES (2, 2, 2, 2, 2, 2, 2), (NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
            "DELETE FROM b",
            "INSERT INTO b VALUES (3, 3, 3, 3, 3, 3, 3)",
        ):
            engine.sql(statement)
            engine.sql("INSERT INTO a SELECT * FROM a WHERE `user` = 2")
            for outcome in engine.refresh_stream_tables(list(texts)):
                assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
            for name in texts:
                assert_equals_query(engine, name)


def said(text: str, names: tuple[str, ...]) -> str:
    return text.format_map(dict(zip("abc", names, strict=True)))


COLUMNS = ("_weight", "trickle_file", "trickle_t", "grouping_set", "_trickle_side", "_trickle_w", "_trickle_row", "q1")


def test_columns_with_names_of_ours_are_columns_like_others(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path / "lake", **SMALLEST) as engine:
        listed = ", ".join(f"{name} INT" for name in COLUMNS)
        engine.sql(f"CREATE TABLE odd (id BIGINT, {listed}, _trickle_weight INT)")
        engine.sql(f"CREATE TABLE other (id BIGINT, {listed})")
        engine.sql("INSERT INTO odd VALUES (1, 1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 1, 2, 3, 4, 5, 6, 7, 8, 9)")
        engine.sql("INSERT INTO other VALUES (1, 1, 1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 2, 2, 2)")
        named = "o._weight, o.trickle_file, o.trickle_t, o._trickle_side AS side, o._trickle_row AS row, o.q1"
        queries = {
            "joined": f"SELECT {named}, x._weight AS w FROM odd o JOIN other x ON o.id = x.id AND x.q1 <= o.q1",
            "grouped": "SELECT _weight, q1, SUM(_trickle_w) AS trickle_file, MAX(_trickle_row) AS grouping_set "
            "FROM odd GROUP BY ROLLUP (_weight, q1)",
            "unlike": f"SELECT {named}, x.grouping_set FROM odd o LEFT JOIN other x ON o.trickle_t = x._weight",
        }
        for name, query in queries.items():
            engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
        full = engine.create_stream_table("full", "SELECT id AS _trickle_w, _weight FROM odd")
        assert full.effective_mode is RefreshMode.FULL
        assert full.mode_reason is not None and "a column called _trickle_w" in full.mode_reason
        for statements in (
            ["INSERT INTO odd VALUES (2, 2, 2, 2, 2, 2, 2, 2, 2, 2)", "UPDATE other SET _weight = 3 WHERE id = 2"],
            ["DELETE FROM odd WHERE id = 2", "ALTER TABLE other ADD COLUMN _trickle_weight INT"],
            ["UPDATE odd SET id = 2, _weight = 5", "INSERT INTO other VALUES (2, 3, 3, 3, 3, 3, 3, 3, 3, 3)"],
        ):
            for statement in statements:
                engine.sql(statement)
            for outcome in engine.refresh_stream_tables(list(queries)):
                assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
            engine.refresh_stream_table("full")
            for name in (*queries, "full"):
                assert_equals_query(engine, name)
        with pytest.raises(UserError, match="called '_pos', a name that Iceberg has for itself"):
            engine.create_stream_table("unreadable", "SELECT id AS _pos FROM odd")


def test_stream_tables_of_similar_names_do_not_share_anything(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (k INT, v INT)")
    engine.sql("INSERT INTO t VALUES (1, 1), (2, 5)")
    for namespace in ("a", "a__b"):
        engine.sql(f"CREATE NAMESPACE {namespace}")
    names = ["a.b__c", "a__b.c", "a.`d.é'\"x`", "a." + "l" * 150]
    for name in names:
        engine.create_stream_table(name, "SELECT k, AVG(v) AS m FROM t GROUP BY k", refresh_mode="DIFFERENTIAL")
    for value in (7, 9):
        engine.sql(f"INSERT INTO t VALUES (1, {value})")
        assert {engine.refresh_stream_table(name).action for name in names} == {Action.DIFFERENTIAL}
    for table in engine.stream_tables():
        assert engine.verify(str(table.name)).ok
    with pytest.raises(NotFoundError, match=r"There is 'a\.b__c'"):
        engine.refresh_stream_table("a.B__C")
    with pytest.raises(
        UserError, match=r"'a\.B__c' differs from 'a\.b__c', which exists, by upper and lower case only"
    ):
        engine.create_stream_table("a.B__c", "SELECT k FROM t")
    with pytest.raises(UserError, match="namespace trickle_internal, which holds internal state"):
        engine.create_stream_table("trickle_internal.x", "SELECT k FROM t")
    state = engine.stream_tables()[0].internal_tables[0]
    with pytest.raises(UserError, match="which holds internal state of a stream table"):
        engine.create_stream_table("x", f"SELECT * FROM {state}")
    assert len(engine.stream_tables()) == len(names)


def test_a_definition_that_is_planned_in_another_way_than_before_is_loaded_again_and_says_so(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (k INT, v INT)")
    engine.sql("INSERT INTO t VALUES (1, 1), (2, 5)")
    table = engine.create_stream_table("kept", "SELECT k, AVG(v) AS m FROM t GROUP BY k")
    # As if an earlier version had kept other state for it.
    otherwise = replace(table, query="SELECT k, AVG(v + 0) AS m FROM t GROUP BY k")
    engine._parts.catalog.publish(Publication(updated=(otherwise,)))
    engine.sql("INSERT INTO t VALUES (1, 4)")
    outcome = engine.refresh_stream_table("kept")
    assert outcome.action is Action.REINITIALIZE
    assert outcome.reason == "its query is planned in another way, with other internal state"
    engine.sql("INSERT INTO t VALUES (1, 9)")
    assert engine.refresh_stream_table("kept").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "kept")
    assert set(engine.stream_tables()[0].internal_tables).isdisjoint(table.internal_tables)
