"""Gates with real tables: in transactions, at creation, for IMMEDIATE stream tables, through SQL. No ticks here."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import Status
from tests.spark.engines import assert_equals_query, values


class Stop(Exception):
    """Ends a transaction from inside."""


@pytest.fixture
def engine(engine: Engine) -> Engine:
    with_orders(engine)
    return engine


@pytest.fixture
def on_each_database(on_each_database: Engine) -> Engine:
    with_orders(on_each_database)
    return on_each_database


def with_orders(engine: Engine) -> None:
    engine.sql("CREATE TABLE orders (id INT, region STRING, amount INT); INSERT INTO orders VALUES (1, 'eu', 10)")


def gated(engine: Engine) -> list[str]:
    return [gate.source_table for gate in engine.source_gates() if gate.gated]


def test_gate_transactional(on_each_database: Engine) -> None:
    """Ungate not visible until caller commits; rolled back, neither it nor the data is ever visible."""
    engine = on_each_database
    engine.gate_source("orders")
    with pytest.raises(Stop), engine.transaction() as tx:
        tx.sql("INSERT INTO orders VALUES (2, 'us', 20)")
        tx.ungate_source("orders")
        raise Stop
    assert (gated(engine), engine.spark.table("orders").count()) == (["orders"], 1)
    with engine.transaction() as tx:
        tx.ungate_source("orders")
        tx.sql("INSERT INTO orders VALUES (2, 'us', 20)")
        assert (gated(engine), engine.spark.table("orders").count()) == (["orders"], 1)
    assert (gated(engine), engine.spark.table("orders").count()) == ([], 2)
    # The other way around: closed together with the data that begins a load.
    with engine.transaction() as tx:
        tx.sql("TRUNCATE TABLE orders")
        tx.sql("CALL trickle.gate_sources(array('orders', 'lines'))")
        assert gated(engine) == []
    assert (gated(engine), engine.spark.table("orders").count()) == (["lines", "orders"], 0)


def test_a_transaction_that_only_moves_gates_moves_them(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx.gate_sources(["orders", "lines"], auto_ungate_on_watermark=True)
        tx.ungate_sources(["lines"])
    (closed, opened_again) = engine.source_gates()
    assert (closed.source_table, closed.auto_ungate_on_watermark) == ("orders", True)
    assert (opened_again.source_table, opened_again.gated) == ("lines", False)
    with pytest.raises(UserError, match="not open"):
        tx.gate_source("orders")


def test_of_our_own_statements_only_gates_can_be_in_a_transaction(engine: Engine) -> None:
    with engine.transaction() as tx, pytest.raises(UserError, match="part of a transaction"):
        tx.sql("SHOW STREAM TABLES")


def test_gate_create_st_auto_skip_init(engine: Engine) -> None:
    """ST created with gated source skips initialization, near or far; a manual refresh loads it all the same."""
    engine.gate_source("orders")
    near = engine.create_stream_table("by_region", "SELECT region, SUM(amount) AS s FROM orders GROUP BY region")
    assert (near.status, near.populated, near.frontier.pins) == (Status.INITIALIZING, False, ())
    (notice,) = near.notices
    assert notice.startswith("source 'orders' is gated: 'by_region' is left empty")
    far = engine.create_stream_table("regions", "SELECT COUNT(*) AS n FROM by_region")
    assert far.notices[0].startswith("source 'orders' is gated ('by_region' depends on it)")
    assert engine.history() == []
    assert values(engine, "SELECT * FROM by_region") == []
    assert engine.refresh_stream_table("regions", upstream=True).action is Action.FULL
    assert values(engine, "SELECT * FROM by_region") == [("eu", 10)]
    assert_equals_query(engine, "regions")
    # The notice was of its moment, and is not repeated for ever.
    assert engine.explain("by_region").notices == ()


def test_one_that_ignores_gates_is_loaded_at_creation(engine: Engine) -> None:
    engine.gate_source("orders")
    made = engine.create_stream_table("progress", "SELECT COUNT(*) AS n FROM orders", bootstrap_gating="ignore")
    assert (made.status, made.notices) == (Status.ACTIVE, ())
    assert values(engine, "SELECT * FROM progress") == [(1,)]


def test_a_view_in_between_does_not_hide_the_gate(engine: Engine) -> None:
    engine.sql("CREATE VIEW european AS SELECT id, amount FROM lake.default.orders WHERE region = 'eu'")
    engine.gate_source("orders")
    made = engine.create_stream_table("sums", "SELECT SUM(amount) AS s FROM european")
    assert not made.populated
    engine.ungate_source("orders")
    engine.gate_source("european")
    assert [row.affected_stream_tables for row in engine.bootstrap_gate_status()] == [("sums",), ("sums",)]


def test_what_changed_under_a_query_before_its_first_load_is_followed(engine: Engine) -> None:
    engine.sql("CREATE VIEW chosen AS SELECT * FROM lake.default.orders")
    engine.sql("CREATE TABLE others (id INT, amount INT); INSERT INTO others VALUES (1, 7)")
    engine.gate_source("orders")
    engine.create_stream_table("sums", "SELECT SUM(amount) AS s FROM chosen")
    engine.create_stream_table("copies", "SELECT * FROM orders")
    engine.sql("CREATE OR REPLACE VIEW chosen AS SELECT * FROM lake.default.others")
    engine.sql("ALTER TABLE orders ADD COLUMN note STRING; INSERT INTO orders VALUES (2, 'us', 20, 'new')")
    for name in ("sums", "copies"):
        assert engine.refresh_stream_table(name).action is Action.FULL
        assert_equals_query(engine, name)
    assert values(engine, "SELECT s FROM sums") == [(7,)]
    assert engine.status("sums").sources == ("others", "chosen")
    engine.sql("INSERT INTO others VALUES (2, 1)")
    assert engine.refresh_stream_table("sums").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "sums")


def test_a_new_query_over_a_gated_source_is_computed_and_told_to_be_partial(engine: Engine) -> None:
    engine.create_stream_table("sums", "SELECT SUM(amount) AS s FROM orders")
    engine.gate_source("orders")
    altered = engine.alter_stream_table("sums", query="SELECT MAX(amount) AS s FROM orders")
    assert altered.notices[-1] == "source 'orders' is gated: 'sums' holds the answer over what is loaded so far"
    assert_equals_query(engine, "sums")


def test_one_that_waits_for_its_first_load_goes_on_waiting_when_its_query_is_altered(engine: Engine) -> None:
    engine.gate_source("orders")
    engine.create_stream_table("sums", "SELECT SUM(amount) AS s FROM orders")
    altered = engine.create_or_replace_stream_table(
        "sums", "SELECT region, MAX(amount) AS m FROM orders GROUP BY region"
    )
    assert (altered.status, altered.populated) == (Status.INITIALIZING, False)
    assert "'sums' is left empty" in altered.notices[-1]
    assert engine.spark.table("sums").columns == ["region", "m"]
    assert values(engine, "SELECT * FROM sums") == []
    engine.ungate_source("orders")
    assert engine.refresh_stream_table("sums").action is Action.FULL
    assert_equals_query(engine, "sums")


def test_gate_with_immediate_mode(engine: Engine) -> None:
    """IMMEDIATE STs unaffected by source gates: created with contents, and maintained on every write."""
    engine.gate_source("orders")
    live = engine.create_stream_table("live", "SELECT COUNT(*) AS n FROM orders", refresh_mode="IMMEDIATE")
    assert (live.status, live.notices) == (Status.ACTIVE, ())
    engine.sql("INSERT INTO orders VALUES (2, 'us', 20)")
    assert values(engine, "SELECT * FROM live") == [(2,)]
    assert gated(engine) == ["orders"]
    assert engine.bootstrap_gate_status()[0].affected_stream_tables == ()


def test_gates_are_moved_and_listed_through_sql(engine: Engine) -> None:
    engine.create_stream_table("sums", "SELECT SUM(amount) AS s FROM orders")
    closed = engine.sql("CALL trickle.gate_source('orders', auto_ungate_on_watermark => true)").first()
    assert closed is not None and closed.gated and closed.auto_ungate_on_watermark
    row = engine.sql("CALL trickle.bootstrap_gate_status()").first()
    assert row is not None
    assert (row.source_table, row.affected_stream_tables) == ("orders", '["sums"]')
    assert 0 <= row.gate_duration.total_seconds() < 60
    engine.sql("CALL trickle.ungate_sources(array('orders'))")
    assert [row.gated for row in engine.sql("CALL trickle.source_gates()").collect()] == [False]
    assert engine.sql("CALL trickle.ungate_source('never')").collect() == []
