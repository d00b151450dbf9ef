"""Types that Iceberg cannot hold, and keys that Spark cannot compare: said at creation, or kept."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode
from tests.spark.engines import assert_equals_query


@pytest.fixture
def filled(engine: Engine) -> Engine:
    engine.sql("CREATE TABLE t (id INT, d DATE, name STRING, tags MAP<STRING, INT>)")
    engine.sql("INSERT INTO t VALUES (1, DATE '2024-01-01', 'a', MAP('x', 1)), (2, NULL, 'A', MAP('x', 2))")
    return engine


UNHELD = {
    "SELECT id, d - DATE '2020-01-01' AS since FROM t": "column 'since' has the type INTERVAL DAY",
    "SELECT id, INTERVAL '1' MONTH AS i FROM t": "column 'i' has the type INTERVAL MONTH",
    "SELECT id, TIME '10:00:00' AS at FROM t": "column 'at' has the type TIME",
    "SELECT NULL AS n, COUNT(*) AS c FROM t GROUP BY NULL": "column 'n' has no type",
    "SELECT id, ARRAY() AS none FROM t": "column 'none' has the type ARRAY<VOID>",
    "SELECT id, name COLLATE UTF8_LCASE AS name FROM t": "column 'name' has the collation UTF8_LCASE",
}


def test_columns_that_iceberg_cannot_hold_are_refused_with_what_to_write(filled: Engine) -> None:
    for mode in ("AUTO", "FULL"):
        for query, message in UNHELD.items():
            with pytest.raises(UserError, match=message) as told:
                filled.create_stream_table("x", query, refresh_mode=mode)
            assert told.value.hint and told.value.hint.startswith("Write "), query
    assert not filled.stream_tables()
    assert [row.tableName for row in filled.spark.sql("SHOW TABLES").collect()] == ["t"]


def test_integers_that_become_longer_are_told(filled: Engine) -> None:
    query = "SELECT CAST(id AS SMALLINT) AS small, CAST(id AS TINYINT) AS tiny, id FROM t"
    table = filled.create_stream_table("x", query)
    assert [notice for notice in table.notices if "Iceberg has no shorter integers" in notice] == [
        "column 'small' is SMALLINT in the query and INT in the table: Iceberg has no shorter integers",
        "column 'tiny' is TINYINT in the query and INT in the table: Iceberg has no shorter integers",
    ]


KEYS_OF_NO_TYPE = {
    "grouped": "SELECT c FROM (SELECT NULL AS n, COUNT(*) AS c FROM t GROUP BY NULL)",
    "grouped_more": "SELECT name, c FROM (SELECT NULL AS n, name, COUNT(*) AS c FROM t GROUP BY NULL, name)",
    "different": "SELECT COUNT(*) AS c FROM (SELECT DISTINCT NULL AS n, name FROM t)",
    "numbered": "SELECT id, ROW_NUMBER() OVER (PARTITION BY NULL ORDER BY id) AS r FROM t",
    "first": "SELECT id FROM (SELECT DISTINCT id, NULL AS n FROM t) ORDER BY n, id LIMIT 1",
}


def test_a_null_without_a_type_may_be_a_key(filled: Engine) -> None:
    for name, query in KEYS_OF_NO_TYPE.items():
        filled.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
    for statement in (
        "INSERT INTO t (id, name) VALUES (0, 'a'), (4, NULL)",
        "DELETE FROM t WHERE TRUE",
        "INSERT INTO t (id, name) VALUES (3, 'a'), (4, 'a')",
    ):
        filled.sql(statement)
        for outcome in filled.refresh_stream_tables(list(KEYS_OF_NO_TYPE)):
            assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
        for name in KEYS_OF_NO_TYPE:
            assert_equals_query(filled, name)


IN_FULL = {
    "SELECT COUNT(*) AS c FROM t GROUP BY tags": "a map",
    "SELECT TO_JSON(tags) AS j, COUNT(*) AS c FROM t GROUP BY tags": "a map",
    "SELECT COUNT(*) AS c FROM t GROUP BY name COLLATE UTF8_LCASE": "a collated text",
    "SELECT COUNT(*) AS c FROM (SELECT DISTINCT name COLLATE UTF8_LCASE AS n FROM t)": "a collated text",
    "SELECT COUNT(*) AS c FROM (SELECT DISTINCT d - DATE '2020-01-01' AS i FROM t)": "INTERVAL DAY",
    "SELECT id, COUNT(*) OVER (PARTITION BY name COLLATE UTF8_LCASE) AS c FROM t": "a collated text",
}


def test_keys_that_cannot_be_compared_are_kept_in_full_with_the_reason(filled: Engine) -> None:
    for number, (query, reason) in enumerate(IN_FULL.items()):
        name = f"x{number}"
        table = filled.create_stream_table(name, query)
        assert table.effective_mode is RefreshMode.FULL, query
        assert reason in (table.mode_reason or ""), (query, table.mode_reason)
        filled.sql(f"INSERT INTO t (id, name, tags) VALUES ({number + 5}, 'b', MAP('y', 3))")
        assert filled.refresh_stream_table(name).action is Action.FULL
        assert_equals_query(filled, name)


KEPT = {
    "among": "SELECT id FROM t WHERE name COLLATE UTF8_LCASE IN (SELECT o.name FROM o)",
    "joined": "SELECT t.id, o.k FROM t JOIN o ON t.name COLLATE UTF8_LCASE = o.name COLLATE UTF8_LCASE",
    "filtered": "SELECT id, name FROM t WHERE name COLLATE UTF8_LCASE = 'a'",
    "without": "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.name COLLATE UTF8_LCASE = t.name)",
}


def test_collated_texts_are_compared_in_conditions(filled: Engine) -> None:
    filled.sql("CREATE TABLE o (k INT, name STRING); INSERT INTO o VALUES (1, 'A'), (2, 'b')")
    for name, query in KEPT.items():
        filled.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
    for statement in (
        "INSERT INTO t (id, name) VALUES (3, 'B'), (4, NULL); INSERT INTO o VALUES (3, 'a'), (4, NULL)",
        "DELETE FROM o WHERE name = 'A'; UPDATE t SET name = UPPER(name)",
        "DELETE FROM o WHERE TRUE; INSERT INTO t (id, name) VALUES (7, 'a')",
    ):
        filled.sql(statement)
        for outcome in filled.refresh_stream_tables(list(KEPT)):
            assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
        for name in KEPT:
            assert_equals_query(filled, name)
