"""The scheduler over real tables: what a tick refreshes, at which cut, what it leaves alone, and what it says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle import connect
from spark_trickle.engine import Engine
from spark_trickle.events import Event, Step, StepReached
from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.model.stream_table import Status
from spark_trickle.model.tick import TickReport
from tests.spark.engines import assert_equals_query, opened, rows


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with opened(spark, tmp_path / "lake") as made:
        made.sql("CREATE TABLE orders (id INT, region STRING, amount INT)")
        made.sql("INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20)")
        yield made


def later(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def names(report: TickReport) -> list[str]:
    return [outcome.name for outcome in report.refreshed]


def test_a_tick_refreshes_what_moved_in_order_at_one_cut(engine: Engine) -> None:
    engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", "1s")
    engine.create_stream_table("large", "SELECT region FROM totals WHERE total > 15", "1s")
    engine.sql("CREATE TABLE other (id INT)")
    engine.create_stream_table("others", "SELECT id FROM other", "1s")
    assert engine.tick(later(60)).refreshed == ()

    engine.sql("INSERT INTO orders VALUES (3, 'north', 30)")
    report = engine.tick(later(120))

    assert names(report) == ["totals", "large"]
    assert (report.units, report.skipped, report.failed) == (3, (), ())
    assert {row.cut for row in engine.history(limit=2)} == {report.cut}
    assert {row.initiated_by for row in engine.history(limit=2)} == {"SCHEDULER"}
    assert_equals_query(engine, "totals")
    assert_equals_query(engine, "large")
    assert engine.tick(later(180)).idle


def test_a_change_that_changes_no_row_wakes_no_dependent(engine: Engine) -> None:
    engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", "1s")
    engine.create_stream_table("large", "SELECT region FROM totals WHERE total > 15", "1s")
    engine.sql("INSERT INTO orders VALUES (3, 'north', 0)")

    report = engine.tick(later(60))

    assert [(o.name, o.action) for o in report.refreshed] == [("totals", Action.NO_DATA)]
    assert engine.tick(later(120)).idle


def test_nothing_is_refreshed_before_it_is_due(engine: Engine) -> None:
    engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", "1h")
    engine.sql("INSERT INTO orders VALUES (3, 'north', 30)")
    assert engine.tick(later(60)).idle
    assert names(engine.tick(later(3700))) == ["totals"]


def test_what_is_written_during_a_tick_is_left_for_the_next(spark: SparkSession, tmp_path: Path) -> None:
    writer: list[Engine] = []

    def write_meanwhile(event: Event) -> None:
        if event == StepReached(Step.STAGED, "totals") and len(writer) == 1:
            writer.append(writer[0])
            writer[0].sql("INSERT INTO orders VALUES (4, 'west', 1)")

    with connect(str(tmp_path / "lake"), spark=spark.newSession(), observers=[write_meanwhile]) as engine:
        engine.sql("CREATE TABLE orders (id INT, region STRING, amount INT)")
        engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", "1s")
        engine.create_stream_table("counts", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region", "1s")
        engine.create_stream_table("both", "SELECT t.region, total, n FROM totals t JOIN counts c USING (region)", "1s")
        engine.create_stream_table("later", "SELECT region, id FROM orders WHERE amount > 0", "1s")
        engine.sql("INSERT INTO orders VALUES (3, 'north', 30)")
        writer.append(engine)

        first = engine.tick(later(60))

        assert sorted(names(first)) == ["both", "counts", "later", "totals"]
        assert len({row.frontier["orders"] for row in engine.history(limit=4) if "orders" in row.frontier}) == 1
        assert rows(engine, "SELECT region FROM later") == rows(engine, "SELECT 'north'")
        second = engine.tick(later(120))
        assert sorted(names(second)) == ["both", "counts", "later", "totals"]
        assert_equals_query(engine, "both")


def test_a_suspended_member_holds_its_group_and_the_skip_is_told_once(engine: Engine) -> None:
    engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", "1s")
    engine.create_stream_table("counts", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region", "1s")
    engine.create_stream_table("both", "SELECT t.region, total, n FROM totals t JOIN counts c USING (region)", "1s")
    engine.create_stream_table("alone", "SELECT id FROM orders", "1s")
    engine.suspend_stream_table("counts")
    engine.sql("INSERT INTO orders VALUES (3, 'north', 30)")

    reports = [engine.tick(later(60 * n)) for n in (1, 2, 3)]

    assert names(reports[0]) == ["alone"]
    assert [sorted(skip.name for skip in report.skipped) for report in reports] == [["both", "counts", "totals"]] * 3
    skips = [row for row in engine.history(limit=100) if row.status is Outcome.SKIPPED]
    assert sorted(row.name for row in skips) == ["both", "counts", "totals"]
    told = next(row for row in skips if row.name == "totals")
    assert told.reason is not None and "'counts' holds it: it is suspended" in told.reason

    engine.resume_stream_table("counts")
    assert names(engine.tick(later(240))) == ["counts", "totals", "both"]
    assert_equals_query(engine, "both")
    assert len({row.group for row in engine.history(limit=3)} - {None}) == 1


def test_independent_branches_run_side_by_side_in_fair_pools(spark: SparkSession, tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=60)
    pools: list[str | None] = []

    def meet(event: Event) -> None:
        if isinstance(event, StepReached) and event.step is Step.STAGED and armed.is_set():
            pools.append(spark.sparkContext.getLocalProperty("spark.scheduler.pool"))
            together.wait()

    armed = threading.Event()
    with connect(str(tmp_path / "lake"), spark=spark.newSession(), observers=[meet]) as engine:
        engine.sql("CREATE TABLE orders (id INT, region STRING, amount INT)")
        engine.create_stream_table("a", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", "1s")
        engine.create_stream_table("b", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region", "1s")
        engine.sql("INSERT INTO orders VALUES (1, 'north', 10)")
        armed.set()
        assert sorted(names(engine.tick(later(60)))) == ["a", "b"]
        armed.clear()
        assert len(set(pools)) == 2 and None not in pools
        assert_equals_query(engine, "a")
        assert_equals_query(engine, "b")


def test_the_loop_keeps_stream_tables_fresh_while_somebody_writes(spark: SparkSession, tmp_path: Path) -> None:
    with connect(str(tmp_path / "lake"), spark=spark.newSession(), scheduler_interval_ms=50) as engine:
        engine.sql("CREATE TABLE orders (id INT, region STRING, amount INT)")
        engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region")
        engine.create_stream_table("counts", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region")
        engine.create_stream_table("both", "SELECT t.region, total, n FROM totals t JOIN counts c USING (region)")
        reports: list[TickReport] = []
        loop = threading.Thread(target=lambda: engine.run(later(12), reports.append))
        loop.start()
        for i in range(5):
            engine.sql(f"INSERT INTO orders VALUES ({i}, 'north', 1), ({i}, 'south', 2)")
            with engine.snapshot(["both"]) as snap:
                assert all(row.total in (row.n, 2 * row.n) for row in snap.table("both").collect())
        loop.join(60)
        assert not loop.is_alive()
        assert sum(not report.idle for report in reports) >= 1
        assert all(not report.failed for report in reports)
        assert names(engine.tick(later(60))) in ([], ["counts", "totals", "both"])
        assert_equals_query(engine, "both")


def test_a_permanent_failure_is_an_error_that_others_survive_and_mending_it_brings_it_back(engine: Engine) -> None:
    engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", "1s")
    engine.create_stream_table("ids", "SELECT id FROM orders", "1s")
    engine.sql("ALTER TABLE orders RENAME COLUMN amount TO price")
    engine.sql("INSERT INTO orders VALUES (3, 'north', 30)")

    report = engine.tick(later(60))

    assert names(report) == ["ids"]
    assert [failed.name for failed in report.failed] == ["totals"]
    assert engine.status("totals").status is Status.ERROR
    assert engine.history("totals", limit=1)[0].status is Outcome.FAILED
    assert "is in error since" in str(engine.why("totals"))
    assert engine.sql("CALL trickle.tick()").count() == 1

    engine.sql("ALTER TABLE orders RENAME COLUMN price TO amount")
    engine.resume_stream_table("totals")
    assert "totals" in names(engine.tick(later(120)))
    assert_equals_query(engine, "totals")
