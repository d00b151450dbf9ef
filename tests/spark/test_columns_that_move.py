"""Columns that are moved, added and renamed under a query: what it reads by `*` or by position is followed, with a
reason, or refused where it is strict; what it reads by name goes on as it was."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import NotDifferentialError
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, values

BY_POSITION = {
    "starred": "SELECT * FROM t UNION SELECT * FROM u",
    "renamed": "SELECT p, COUNT(q) AS n, MAX(r) AS m FROM t AS x(p, q, r) GROUP BY p",
    "listed": "WITH c(p, q, r) AS (SELECT * FROM t) SELECT p + q AS s, r FROM c",
    "beside": "SELECT u.k, l.p, l.q FROM u JOIN LATERAL (SELECT * FROM t WHERE t.k = u.k) AS l(p, q, r) ON true",
    "all_of_it": "SELECT * FROM t",
}
BY_NAME = {
    "named": "SELECT k, SUM(v) AS s FROM t GROUP BY k",
    "joined": "SELECT t.k, t.v, u.w FROM t JOIN u ON t.k = u.k",
    "counted": "SELECT COUNT(*) AS n FROM t LEFT JOIN u ON t.k = u.k",
}


@pytest.fixture
def tables(engine: Engine) -> Engine:
    engine.sql("CREATE TABLE t (k INT, v INT, w INT); CREATE TABLE u (k INT, v INT, w INT)")
    engine.sql("INSERT INTO t VALUES (1, 10, 100), (2, 20, 200); INSERT INTO u VALUES (1, 11, 101), (2, 20, 200)")
    return engine


def change(engine: Engine, number: int) -> None:
    engine.sql(f"INSERT INTO t (k, v, w) VALUES (1, {number}, 5); DELETE FROM u WHERE k = {number}")
    engine.sql(f"INSERT INTO u (k, v, w) VALUES ({number}, 2, {number})")


def test_a_column_that_moves_is_a_change_of_schema_for_what_reads_by_position(tables: Engine) -> None:
    for name, query in {**BY_POSITION, **BY_NAME}.items():
        tables.create_stream_table(name, query)
    tables.create_stream_table("strict", BY_POSITION["starred"], strict=True)
    tables.create_stream_table("full", BY_POSITION["starred"], refresh_mode="FULL")
    tables.sql("ALTER TABLE t ALTER COLUMN w FIRST")
    for name in (*BY_POSITION, "full"):
        outcome = tables.refresh_stream_table(name)
        assert outcome.action is Action.REINITIALIZE, name
        assert "the columns of 't' were changed" in (outcome.reason or ""), name
        assert_equals_query(tables, name)
    with pytest.raises(NotDifferentialError, match="the columns of 't' were changed"):
        tables.refresh_stream_table("strict")
    for number in (3, 4):
        change(tables, number)
        for name in (*BY_POSITION, "named", "counted"):
            assert tables.refresh_stream_table(name).action is Action.DIFFERENTIAL, name
            assert_equals_query(tables, name)
        assert tables.refresh_stream_table("joined").action in (Action.DIFFERENTIAL, Action.REINITIALIZE)
        assert_equals_query(tables, "joined")
    assert tables.refresh_stream_table("strict", mode="FULL").action is Action.FULL
    assert_equals_query(tables, "strict")


def test_a_column_that_nobody_reads_is_of_no_concern(tables: Engine) -> None:
    tables.sql("CREATE TABLE z (k INT, extra INT, n INT); INSERT INTO z VALUES (1, 2, 3)")
    for name, query in BY_NAME.items():
        tables.create_stream_table(name, query, strict=True)
    tables.create_stream_table(
        "three", "SELECT t.k, z.extra, MAX(z.n) AS n FROM t JOIN z ON t.k = z.k GROUP BY t.k, z.extra", strict=True
    )
    tables.sql("ALTER TABLE t ADD COLUMN extra STRING; ALTER TABLE t ADD COLUMN n INT; ALTER TABLE t DROP COLUMN w")
    for number in (3, 4):
        tables.sql(
            f"INSERT INTO t (k, v, extra, n) VALUES (1, {number}, 'x', 7); INSERT INTO z VALUES (1, 2, {number}0)"
        )
        for name in (*BY_NAME, "three"):
            assert tables.refresh_stream_table(name).action is Action.DIFFERENTIAL, name
            assert_equals_query(tables, name)


def test_a_view_has_as_many_columns_as_it_was_made_with(tables: Engine) -> None:
    tables.sql("CREATE VIEW every AS SELECT * FROM t; CREATE VIEW both (a, b, c) AS SELECT * FROM u")
    tables.create_stream_table("of_view", "SELECT * FROM every")
    tables.create_stream_table("of_both", "SELECT a, SUM(b) AS b, MAX(c) AS c FROM both GROUP BY a")
    tables.sql(
        "ALTER TABLE t ADD COLUMN x INT FIRST; ALTER TABLE u ALTER COLUMN w FIRST; ALTER TABLE u ADD COLUMN x INT"
    )
    tables.sql("INSERT INTO t (k, v, w, x) VALUES (7, 8, 9, 10); INSERT INTO u (k, v, w) VALUES (1, 2, 3)")
    for number in (3, 4, 5):
        for name in ("of_view", "of_both"):
            assert tables.refresh_stream_table(name).action in (
                Action.DIFFERENTIAL,
                Action.REINITIALIZE,
                Action.NO_DATA,
            )
            assert_equals_query(tables, name)
        if number < 5:
            change(tables, number)
    assert tables.explain_query("SELECT * FROM every").mode == "DIFFERENTIAL"
    assert [name for name, _ in tables.spark.table("of_view").dtypes] == ["k", "v", "w"]
    assert values(tables, "SELECT * FROM of_view") == values(tables, "SELECT * FROM every")
