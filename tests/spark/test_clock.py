"""Queries with the clock in them: seen wherever it hides, recomputed on their schedule, verified at their moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode
from tests.spark.engines import values


@pytest.fixture
def orders(engine: Engine) -> Engine:
    engine.sql("CREATE TABLE orders (id INT, at TIMESTAMP, current_date DATE)")
    engine.sql("INSERT INTO orders VALUES (1, TIMESTAMP '2024-05-01T10:00:00Z', DATE '2024-01-01')")
    engine.sql("CREATE VIEW recent AS SELECT id FROM orders WHERE at < current_timestamp()")
    engine.sql("CREATE VIEW later AS SELECT id FROM orders WHERE at < TIMESTAMP 'tomorrow'")
    engine.sql("CREATE TEMPORARY FUNCTION today_in_sql() RETURNS DATE RETURN DATE 'today'")
    engine.sql("CREATE TEMPORARY FUNCTION now_in_sql() RETURNS TIMESTAMP RETURN now()")
    return engine


CLOCKS = {
    "SELECT id FROM recent": True,
    "SELECT id FROM later": False,
    "SELECT id, today_in_sql() AS d FROM orders": False,
    "SELECT id, now_in_sql() AS d FROM orders": True,
    "SELECT id FROM orders WHERE at < DATE 'today'": False,
    "SELECT id FROM orders WHERE at < TIMESTAMP ' Now '": False,
    "SELECT id FROM orders WHERE at < CAST('now' AS TIMESTAMP)": True,
    "SELECT id FROM orders WHERE at < 'tomorrow'": True,
    "SELECT id FROM orders WHERE at < (SELECT MAX(current_timestamp()) FROM orders)": True,
    "SELECT id, unix_timestamp() AS u, current_date() AS d, localtimestamp() AS l FROM orders": True,
}
"""Queries with the clock, and whether the moment that they read can be known later."""


def test_the_clock_is_seen_wherever_it_hides(orders: Engine) -> None:
    for place, (query, known) in enumerate(CLOCKS.items()):
        explained = orders.explain_query(query)
        assert explained.mode is RefreshMode.FULL, query
        assert "reads the clock" in (explained.reason or ""), query
        with pytest.raises(UserError, match="clock"):
            orders.create_stream_table("strict", query, strict=True)
        made = orders.create_stream_table(f"c{place}", query)
        assert made.reads_clock
        # Nothing changed but the time.
        assert orders.refresh_stream_table(f"c{place}").action is Action.FULL, query
        if known:
            assert orders.verify(f"c{place}").ok, query
        else:
            with pytest.raises(UserError, match="cannot be verified"):
                orders.verify(f"c{place}")


def test_what_only_looks_like_the_clock_is_kept_incrementally(orders: Engine) -> None:
    for query in (
        "SELECT id, current_date FROM orders",
        "SELECT id, 'now' AS n FROM orders WHERE id <> 5",
        "SELECT id, DATE 'epoch' AS d FROM orders",
        "SELECT id, current_schema() AS s, current_timezone() AS z FROM orders",
    ):
        assert orders.explain_query(query).mode is RefreshMode.DIFFERENTIAL, query


def test_it_is_recomputed_on_its_schedule_and_verified_at_its_moment(orders: Engine) -> None:
    query = "SELECT id, current_timestamp() AS seen, current_date() AS day FROM orders"
    orders.create_stream_table("seen", query, schedule="10m")
    made = orders.status("seen").last_refresh_at
    assert made is not None
    assert orders.verify("seen").ok
    soon, due = made + timedelta(minutes=3), made + timedelta(minutes=11)
    assert orders.tick(soon).refreshed == ()
    assert "not due until" in str(orders.why("seen"))
    (outcome,) = orders.tick(due).refreshed
    assert (outcome.action, outcome.name) == (Action.FULL, "seen")
    assert "reads the clock" in (outcome.reason or "")
    shown = values(orders, "SELECT unix_micros(seen) FROM seen")
    assert shown == [(int((due - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)),)]
    assert orders.verify("seen").ok
    assert orders.tick(due + timedelta(minutes=3)).refreshed == ()


def test_an_immediate_table_that_was_written_past_is_caught_up_by_the_scheduler(orders: Engine) -> None:
    orders.create_stream_table("live", "SELECT COUNT(*) AS n FROM orders", refresh_mode="IMMEDIATE")
    assert orders.tick().refreshed == ()
    orders.spark.sql("INSERT INTO orders VALUES (2, NULL, NULL)")
    assert "'orders' was written, and not through engine.sql" in str(orders.why("live"))
    (outcome,) = orders.tick().refreshed
    assert outcome.action is Action.DIFFERENTIAL
    assert outcome.reason == "caught up: 'orders' was written, and not through engine.sql or engine.transaction()"
    assert values(orders, "SELECT * FROM live") == [(2,)]
    assert orders.tick().refreshed == ()
    orders.sql("INSERT INTO orders VALUES (3, NULL, NULL)")
    assert values(orders, "SELECT * FROM live") == [(3,)]
    assert orders.tick().refreshed == ()
