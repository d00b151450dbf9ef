"""Our statements through `engine.sql`: the same calls as in Python, with answers as frames."""

from __future__ import annotations

import json

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import HasDependentsError, NotFoundError, SqlError, UserError
from spark_trickle.model.stream_table import RefreshMode
from tests.spark.engines import assert_equals_query, values


def test_every_statement_does_what_its_python_call_does(engine: Engine) -> None:
    engine.sql(
        """
        -- several statements in one text; the last one's answer is returned
        CREATE TABLE orders (region STRING, amount DECIMAL(12,2));
        INSERT INTO orders VALUES ('north; east', 10), ('south', 20);
        CREATE STREAM TABLE order_totals
          SCHEDULE '1m' REFRESH MODE DIFFERENTIAL
          WITH (diamond_consistency = 'none', initialize = false)
        AS SELECT region, SUM(amount) AS total FROM orders GROUP BY region;
        """
    )
    made = engine.stream_tables()[0]
    assert (made.options.schedule, made.options.refresh_mode) == ("1m", RefreshMode.DIFFERENTIAL)
    assert (made.options.diamond_consistency, made.populated) == ("none", False)

    outcome = engine.sql("REFRESH STREAM TABLE order_totals").first()
    assert outcome is not None
    assert (outcome.name, outcome.action, outcome.status, outcome.rows_inserted) == (
        "order_totals",
        "FULL",
        "COMPLETED",
        2,
    )
    assert "orders" in json.loads(outcome.frontier)
    assert_equals_query(engine, "order_totals")

    engine.sql("CREATE STREAM TABLE IF NOT EXISTS order_totals AS SELECT 1 AS one")
    engine.sql("CREATE OR REPLACE STREAM TABLE large AS SELECT region FROM order_totals WHERE total > 15")
    engine.sql("ALTER STREAM TABLE order_totals SET (schedule = '5m', fuse = on, fuse_ceiling = 10)")
    assert (engine.status("order_totals").schedule, engine.stream_tables()[1].options.fuse_ceiling) == ("5m", 10)
    engine.sql("ALTER STREAM TABLE large AS SELECT region FROM order_totals WHERE total > 5")
    assert values(engine, "SELECT * FROM large") == [("north; east",), ("south",)]

    engine.sql("INSERT INTO orders VALUES ('west', 50)")
    both = engine.sql("REFRESH STREAM TABLE large, order_totals").collect()
    assert [(row.name, row.action) for row in both] == [("order_totals", "DIFFERENTIAL"), ("large", "DIFFERENTIAL")]
    explained = engine.sql("EXPLAIN STREAM TABLE order_totals").first()
    assert explained is not None and "DIFFERENTIAL" in explained[0] and "Aggregate" in explained[0]
    shown = engine.sql("SHOW STREAM TABLES").orderBy("name").collect()
    assert [(row.name, row.status, row.effective_mode) for row in shown] == [
        ("large", "ACTIVE", "DIFFERENTIAL"),
        ("order_totals", "ACTIVE", "DIFFERENTIAL"),
    ]

    with pytest.raises(HasDependentsError):
        engine.sql("DROP STREAM TABLE order_totals")
    dropped = engine.sql("DROP STREAM TABLE order_totals CASCADE").collect()
    assert [row[0] for row in dropped] == ["order_totals", "large"]
    assert engine.sql("DROP STREAM TABLE IF EXISTS order_totals").count() == 0
    with pytest.raises(NotFoundError):
        engine.sql("DROP STREAM TABLE order_totals")
    assert engine.sql("SHOW STREAM TABLES").count() == 0


def test_calls_take_positional_and_named_arguments_and_give_frames(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (1), (2)")
    made = engine.sql(
        "CALL trickle.create_stream_table('counted', query => 'SELECT a, COUNT(*) AS n FROM t GROUP BY a')"
    )
    assert made.first() is not None and made.first()["effective_mode"] == "DIFFERENTIAL"  # type: ignore[index]
    engine.sql("CALL trickle.create_stream_table('plain', 'SELECT a FROM t', '10m', strict => true)")
    assert engine.stream_tables()[1].options.strict
    engine.sql("INSERT INTO t VALUES (3)")
    refreshed = engine.sql("CALL trickle.refresh_stream_tables(array('counted', 'plain'))").collect()
    assert [(row.name, row.rows_inserted) for row in refreshed] == [("counted", 1), ("plain", 1)]
    one = engine.sql("CALL trickle.refresh_stream_table('plain', mode => 'FULL')").first()
    assert one is not None and one.reason == "mode FULL was asked for"

    verified = engine.sql("CALL trickle.verify('counted')").first()
    assert verified is not None and (verified.ok, verified.missing_rows) == (True, 0)
    history = engine.sql("CALL trickle.history('plain', limit => 2)")
    assert history.count() == 2 and {"action", "reason", "frontier", "cut", "epoch", "jobs"} <= set(history.columns)
    status = engine.sql("CALL trickle.status('counted')").first()
    assert status is not None and (status.populated, status.consecutive_errors) == (True, 0)
    engine.sql("CALL trickle.suspend_stream_table('counted')")
    why = engine.sql("CALL trickle.why('counted')").first()
    assert why is not None and why.refreshing is False and "suspended" in why.reasons
    engine.sql("CALL trickle.resume_stream_table('counted')")
    cannot = engine.sql("CALL trickle.explain_query('SELECT a FROM t LIMIT 1')").first()
    assert cannot is not None and cannot["mode"] == "FULL" and cannot.suggestion
    tree = engine.sql("CALL trickle.dependency_tree('counted')").first()
    assert tree is not None and tree[0].splitlines()[0] == "counted"
    assert "digraph" in engine.sql("CALL trickle.graph('dot')").collect()[0][0]
    engine.sql("CALL trickle.alter_stream_table('plain', schedule => '1m')")
    assert engine.status("plain").schedule == "1m"
    engine.sql("CALL trickle.drop_stream_table('plain', cascade => true)")
    assert [each.name for each in engine.status()] == ["counted"]

    with pytest.raises(NotFoundError, match=r"trickle\.nothing.*There are: .*refresh_stream_table"):
        engine.sql("CALL trickle.nothing()")
    with pytest.raises(UserError, match="Its arguments are: name, mode, upstream"):
        engine.sql("CALL trickle.refresh_stream_table('counted', colour => 'red')")


def test_a_wrong_statement_says_where_and_nothing_happens(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT)")
    for statement, message in (
        ("CREATE STREAM TABLE x REFRESH MODE SOMETIMES AS SELECT a FROM t", r"line 1, column 36"),
        ("CREATE STREAM TABLE x WITH (colour = 'red') AS SELECT a FROM t", r"an option \(schedule"),
        ("CREATE STREAM TABLE x", "AS and a query"),
        ("ALTER STREAM TABLE x RENAME TO y", "SET"),
        ("SELECT b FROM t", "`b`"),
        ("INSERT INTO nowhere VALUES (1)", "nowhere"),
        ("SELEKT 1", "SELEKT"),
    ):
        with pytest.raises(SqlError, match=message):
            engine.sql(statement)
    with pytest.raises(UserError, match="no statement"):
        engine.sql("  -- nothing\n")
    assert engine.stream_tables() == ()


def test_a_recursion_whose_step_has_another_type_is_an_error_of_the_query(engine: Engine) -> None:
    engine.sql("CREATE TABLE edges (a INT, b BIGINT)")
    step = "SELECT e.b FROM r JOIN edges e ON e.a = r.a"
    query = f"WITH RECURSIVE r AS (SELECT a FROM edges UNION ALL {step}) SELECT a FROM r"
    with pytest.raises(SqlError, match=r"is not valid: \[CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE\]") as found:
        engine.create_stream_table("reached", query)
    assert "\n" not in str(found.value)
