"""An altered query takes over the internal state that the old one kept, brought up to date; what is new is made."""

from __future__ import annotations

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import StreamTable
from tests.spark.engines import assert_equals_query

AVERAGES = "SELECT region, AVG(qty) AS average FROM orders GROUP BY region"


def with_averages(engine: Engine) -> StreamTable:
    engine.sql("CREATE TABLE orders (region STRING, qty INT)")
    engine.sql("INSERT INTO orders VALUES ('a', 1), ('a', 2), ('b', 5), (NULL, 7)")
    return engine.create_stream_table("averages", AVERAGES, strict=True)


def state(table: StreamTable) -> dict[str, str]:
    """Internal tables and who they are: a table that is made anew under the same name has another identity."""
    return {str(pin.table): pin.uuid for pin in table.published if pin.table != table.name}


def test_a_column_more_leaves_the_state_of_an_aggregate_and_takes_in_what_changed(engine: Engine) -> None:
    before = with_averages(engine)
    assert len(state(before)) == 1
    engine.sql("INSERT INTO orders VALUES ('c', 3); DELETE FROM orders WHERE region = 'b'")
    altered = engine.alter_stream_table(
        "averages", query="SELECT region, AVG(qty) AS average, AVG(qty) * 2 AS twice FROM orders GROUP BY region"
    )
    assert state(altered) == state(before)
    assert "was kept" in str(engine.history("averages")[0].reason)
    assert_equals_query(engine, "averages")
    engine.sql("UPDATE orders SET qty = qty + 1 WHERE region = 'a'; INSERT INTO orders VALUES (NULL, NULL)")
    assert engine.refresh_stream_table("averages").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "averages")


def test_other_groups_are_other_state_and_the_old_one_goes(engine: Engine) -> None:
    before = with_averages(engine)
    altered = engine.alter_stream_table("averages", query="SELECT AVG(qty) AS average FROM orders")
    assert not set(state(altered)) & set(state(before))
    assert "was kept" not in str(engine.history("averages")[0].reason)
    assert_equals_query(engine, "averages")


def test_state_that_somebody_wrote_to_is_not_taken_over(engine: Engine) -> None:
    before = with_averages(engine)
    (internal,) = (pin.table for pin in before.published if pin.table != before.name)
    engine.spark.sql(f"DELETE FROM {internal.sql} WHERE region = 'a'")
    engine.alter_stream_table(
        "averages", query="SELECT region, AVG(qty) AS average, 1 AS one FROM orders GROUP BY region"
    )
    assert "was kept" not in str(engine.history("averages")[0].reason)
    assert_equals_query(engine, "averages")
