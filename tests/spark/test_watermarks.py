"""Watermarks with real tables: in transactions, held-back reads, expired versions, columns from file metadata."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.tick import TickReport
from tests.spark.engines import assert_equals_query, values

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REPORT = "SELECT region, n, total FROM order_summary JOIN line_summary USING (region)"


def hour(number: int) -> datetime:
    return NOON + timedelta(hours=number)


class Clock:
    """Moments for ticks: each a minute after the one before."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.now = engine, datetime.now(UTC)

    def tick(self) -> TickReport:
        self.now += timedelta(minutes=1)
        return self.engine.tick(now=self.now)


def pipeline(engine: Engine) -> Clock:
    engine.sql(
        "CREATE TABLE orders (id INT, region STRING, at TIMESTAMP);"
        "CREATE TABLE lines (id INT, region STRING, amount INT, at TIMESTAMP);"
        "INSERT INTO orders VALUES (1, 'eu', TIMESTAMP '2026-03-01T12:30:00Z');"
        "INSERT INTO lines VALUES (1, 'eu', 10, TIMESTAMP '2026-03-01T12:40:00Z')"
    )
    engine.create_stream_table(
        "order_summary", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region", schedule="1s"
    )
    engine.create_stream_table(
        "line_summary", "SELECT region, SUM(amount) AS total FROM lines GROUP BY region", schedule="1s"
    )
    engine.create_stream_table("report", REPORT, schedule="1s")
    return Clock(engine)


def names(report: TickReport) -> list[str]:
    return [outcome.name for outcome in report.refreshed]


def test_a_watermark_is_visible_with_its_data_or_not_at_all(on_each_database: Engine) -> None:
    engine = on_each_database
    engine.sql("CREATE TABLE orders (id INT)")
    engine.gate_source("orders", auto_ungate_on_watermark=True)
    with pytest.raises(ZeroDivisionError), engine.transaction() as tx:
        tx.sql("INSERT INTO orders VALUES (1)")
        tx.advance_watermark("orders", hour(1))
        raise ZeroDivisionError
    assert engine.watermarks() == [] and engine.spark.table("orders").count() == 0
    with engine.transaction() as tx:
        tx.advance_watermark("orders", hour(1))
        tx.sql("INSERT INTO orders VALUES (1)")
        assert engine.watermarks() == []
    (row,) = engine.watermarks()
    here = engine.spark.sql("SELECT file FROM lake.default.orders.metadata_log_entries ORDER BY timestamp").collect()
    assert row.metadata_location == here[-1].file, "the version that this transaction wrote"
    assert not engine.source_gates()[0].gated, "opened in the same commit"
    # Backward: the data that comes with it is not published either.
    with pytest.raises(UserError, match="cannot move backward"), engine.transaction() as tx:
        tx.sql("INSERT INTO orders VALUES (2)")
        tx.sql("CALL trickle.advance_watermark('orders', '2026-03-01T12:00:00Z')")
    assert engine.spark.table("orders").count() == 1
    engine.sql("CALL trickle.advance_watermark('orders', '2026-03-01T14:00:00Z')")
    shown = engine.sql("CALL trickle.watermarks()").collect()
    assert [(each.source_table, each.watermark.astimezone(UTC)) for each in shown] == [("orders", hour(2))]


def test_held_back_stream_tables_are_of_one_moment_and_stay_differential(engine: Engine) -> None:
    clock = pipeline(engine)
    engine.sql("CALL trickle.create_watermark_group('g', array('orders', 'lines'), mode => 'hold_back')")
    for source in ("orders", "lines"):
        engine.advance_watermark(source, hour(1))
    engine.sql("INSERT INTO orders VALUES (2, 'eu', TIMESTAMP '2026-03-01T13:30:00Z')")
    engine.advance_watermark("orders", hour(2))
    engine.sql("INSERT INTO orders VALUES (3, 'eu', TIMESTAMP '2026-03-01T14:30:00Z')")
    assert names(clock.tick()) == [], "lines are complete until one only"
    assert values(engine, "SELECT n, total FROM report") == [(1, 10)]
    # Created while it is held back: at the same moment as the others.
    engine.create_stream_table("both", "SELECT o.id FROM orders o JOIN lines l USING (region)", schedule="1s")
    assert values(engine, "SELECT id FROM both") == [(1,)]
    with engine.transaction() as tx:
        tx.sql("INSERT INTO lines VALUES (2, 'eu', 5, TIMESTAMP '2026-03-01T13:40:00Z')")
        tx.advance_watermark("lines", hour(2))
    report = clock.tick()
    assert {outcome.action for outcome in report.refreshed} == {Action.DIFFERENTIAL}
    assert values(engine, "SELECT n, total FROM report") == [(2, 15)]
    assert all("the aligned watermark of 'g'" in (outcome.reason or "") for outcome in report.refreshed)
    for name in ("order_summary", "line_summary", "report", "both"):
        assert engine.verify(name).ok, name
    assert "watermark groups: g" in str(engine.explain("report"))
    assert "at 2026-03-01 14:00:00 UTC, the aligned watermark of 'g'" in str(engine.why("report"))
    # By hand: what is newest; then the scheduler waits until the watermarks get there.
    assert engine.refresh_stream_table("report", upstream=True).action is Action.DIFFERENTIAL
    assert values(engine, "SELECT n, total FROM report") == [(3, 15)]
    skipped = {each.name: each.reason for each in clock.tick().skipped}
    assert "past the aligned watermark" in skipped["report"] and values(engine, "SELECT n FROM report") == [(3,)]
    engine.drop_watermark_group("g")
    clock.tick()
    for name in ("report", "both"):
        assert_equals_query(engine, name)
    assert engine.explain("report").watermark_groups == ()


def test_a_version_that_its_owner_expired_holds_with_that_reason(engine: Engine) -> None:
    clock = pipeline(engine)
    engine.create_watermark_group("g", ["orders", "lines"], mode="hold_back")
    engine.sql("INSERT INTO orders VALUES (2, 'eu', NULL)")
    for source in ("orders", "lines"):
        engine.advance_watermark(source, hour(1))
    engine.sql("INSERT INTO orders VALUES (3, 'eu', NULL)")
    engine.sql(
        "CALL lake.system.expire_snapshots(table => 'default.orders', older_than => TIMESTAMP '2100-01-01', "
        "retain_last => 1)"
    )
    reasons = {each.name: each.reason for each in clock.tick().skipped}
    assert "its snapshot" in reasons["order_summary"] and "has expired" in reasons["order_summary"]
    assert values(engine, "SELECT n FROM report") == [(1,)]
    assert "order_summary" in {each.name for each in clock.tick().skipped}
    assert "has expired" in (engine.history("order_summary")[0].reason or "")
    assert "has expired" in (engine.status("order_summary").held or "")
    for source in ("orders", "lines"):
        engine.advance_watermark(source, hour(2))
    clock.tick()
    assert values(engine, "SELECT n FROM report") == [(3,)]


def test_a_column_advances_the_watermark_from_file_metadata(engine: Engine) -> None:
    clock = pipeline(engine)
    engine.create_watermark_group("g", ["orders", "lines"], tolerance="10m")
    for wrong in ("region", "nowhere"):
        with pytest.raises(UserError, match=f"'{wrong}'.*A watermark column is of type timestamp"):
            engine.set_watermark_column("orders", wrong)
    engine.set_watermark_column("orders", "at", delay="5m")
    engine.set_watermark_column("lines", "at")
    clock.tick()
    found = {row.source_table: row for row in engine.watermarks()}
    assert found["orders"].watermark == NOON + timedelta(minutes=25)
    assert found["lines"].watermark == NOON + timedelta(minutes=40)
    assert found["orders"].advanced_by == "column at"
    engine.sql("INSERT INTO orders VALUES (2, 'eu', TIMESTAMP '2026-03-01T12:45:00Z'), (3, 'us', NULL)")
    report = clock.tick()
    assert "report" in names(report), "aligned at the cut in which the value was found"
    assert values(engine, "SELECT region, n FROM report") == [("eu", 2)]
    # Rows without a value, deletes, rewritten files: nothing goes back, and nothing is guessed.
    engine.sql("INSERT INTO orders VALUES (4, 'eu', NULL); DELETE FROM orders WHERE id = 2")
    clock.tick()
    assert {row.source_table: row.watermark for row in engine.watermarks()}["orders"] == NOON + timedelta(minutes=40)
    engine.sql("ALTER TABLE orders SET TBLPROPERTIES ('write.metadata.metrics.column.at' = 'none')")
    engine.sql("INSERT INTO orders VALUES (5, 'eu', TIMESTAMP '2026-03-01T15:00:00Z')")
    clock.tick()
    assert {row.source_table: row.watermark for row in engine.watermarks()}["orders"] == NOON + timedelta(minutes=40)
    assert engine.set_watermark_column("orders", None) is not None
    assert {row.source_table: row.column for row in engine.watermarks()} == {"orders": None, "lines": "at"}
