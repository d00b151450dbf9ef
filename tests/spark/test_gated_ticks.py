"""Gates and the scheduler: what ticks leave alone while a gate is closed, and do once it is open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.events import Event, Noticed, Step, StepReached
from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.model.tick import TickReport
from tests.spark.engines import assert_equals_query, values


@pytest.fixture
def engine(engine: Engine) -> Engine:
    with_two_loads(engine)
    return engine


@pytest.fixture
def on_each_database(on_each_database: Engine) -> Engine:
    with_two_loads(on_each_database)
    return on_each_database


def with_two_loads(engine: Engine) -> None:
    """The example: two loads, each with a summary, and a report over both."""
    engine.sql(
        "CREATE TABLE orders (id INT, region STRING); CREATE TABLE lines (id INT, region STRING, amount INT);"
        "INSERT INTO orders VALUES (1, 'eu'); INSERT INTO lines VALUES (1, 'eu', 10)"
    )
    create = engine.create_stream_table
    create("order_summary", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region", "1s")
    create("line_summary", "SELECT region, SUM(amount) AS s FROM lines GROUP BY region", "1s")
    create("report", "SELECT region, n, s FROM order_summary JOIN line_summary USING (region)", "1s")


class Ticks:
    """Ticks a minute apart, so that everything is due at each."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._minutes = 0

    def __call__(self) -> TickReport:
        self._minutes += 1
        return self._engine.tick(datetime.now(UTC) + timedelta(minutes=self._minutes))


def refreshed(report: TickReport) -> list[str]:
    return [outcome.name for outcome in report.refreshed]


def skipped(report: TickReport) -> dict[str, str]:
    return {skip.name: skip.reason for skip in report.skipped}


def test_gate_source_blocks_downstream(on_each_database: Engine) -> None:
    """Gated source prevents all downstream ST refresh, at every tick; that it does is written down once."""
    engine, tick = on_each_database, Ticks(on_each_database)
    engine.gate_source("orders")
    for number in range(2, 5):
        engine.sql(f"INSERT INTO orders VALUES ({number}, 'us')")
        report = tick()
        assert refreshed(report) == []
        assert skipped(report) == {
            "order_summary": "source 'orders' is gated",
            "report": "source 'orders' is gated ('order_summary' depends on it)",
        }
    assert values(engine, "SELECT * FROM report") == [("eu", 1, 10)]
    for name in ("order_summary", "report"):
        assert [row.status for row in engine.history(name)] == [Outcome.SKIPPED, Outcome.COMPLETED]


def test_ungate_source_allows_refresh(on_each_database: Engine) -> None:
    """Ungating triggers refresh on next tick: exactly one of each affected ST, which brings it up to date."""
    engine, tick = on_each_database, Ticks(on_each_database)
    engine.gate_source("orders")
    engine.sql("INSERT INTO orders VALUES (2, 'eu')")
    tick()
    engine.sql("INSERT INTO orders VALUES (3, 'eu')")
    engine.ungate_source("orders")
    report = tick()
    assert (refreshed(report), skipped(report)) == (["order_summary", "report"], {})
    assert {outcome.action for outcome in report.refreshed} == {Action.DIFFERENTIAL}
    assert values(engine, "SELECT * FROM report") == [("eu", 3, 10)]
    assert_equals_query(engine, "report")
    assert refreshed(tick()) == []
    # Closed once more, the skip is news once more.
    engine.gate_source("orders")
    engine.sql("INSERT INTO orders VALUES (4, 'eu')")
    tick()
    assert [row.status for row in engine.history("report", limit=3)] == [
        Outcome.SKIPPED,
        Outcome.COMPLETED,
        Outcome.SKIPPED,
    ]


def test_gate_multiple_sources_all_must_ungate(engine: Engine) -> None:
    """ST with two gated sources waits for both."""
    tick = Ticks(engine)
    engine.gate_sources(["orders", "lines"])
    engine.sql("INSERT INTO orders VALUES (2, 'eu'); INSERT INTO lines VALUES (2, 'eu', 20)")
    assert refreshed(tick()) == []
    engine.ungate_source("orders")
    report = tick()
    assert refreshed(report) == ["order_summary"]
    assert skipped(report)["report"] == "source 'lines' is gated ('line_summary' depends on it)"
    assert values(engine, "SELECT * FROM report") == [("eu", 1, 10)]
    engine.ungate_source("lines")
    assert refreshed(tick()) == ["line_summary", "report"]
    assert values(engine, "SELECT * FROM report") == [("eu", 2, 30)]


def test_gate_partial_dag(engine: Engine) -> None:
    """Only STs depending on gated source are blocked."""
    tick = Ticks(engine)
    engine.create_stream_table("dashboard", "SELECT MAX(n) AS n FROM order_summary", "1s")
    engine.gate_source("lines")
    engine.sql("INSERT INTO orders VALUES (2, 'eu'); INSERT INTO lines VALUES (2, 'eu', 20)")
    report = tick()
    assert refreshed(report) == ["order_summary", "dashboard"]
    assert sorted(skipped(report)) == ["line_summary", "report"]
    assert values(engine, "SELECT * FROM dashboard") == [(2,)]


def test_a_stream_table_that_was_created_behind_a_gate_is_loaded_by_the_tick_after_it_opens(engine: Engine) -> None:
    tick = Ticks(engine)
    engine.gate_source("orders")
    assert not engine.create_stream_table("ids", "SELECT id FROM orders", "1h").populated
    assert refreshed(tick()) == []
    with engine.transaction() as tx:
        tx.sql("INSERT INTO orders VALUES (2, 'us')")
        tx.ungate_source("orders")
    assert sorted(refreshed(tick())) == ["ids", "order_summary", "report"]
    assert values(engine, "SELECT id FROM ids") == [(1,), (2,)]
    assert refreshed(tick()) == []


def test_one_that_ignores_gates_is_refreshed_while_the_others_wait(engine: Engine) -> None:
    tick = Ticks(engine)
    engine.create_stream_table("progress", "SELECT COUNT(*) AS n FROM orders", "1s", bootstrap_gating="ignore")
    engine.create_stream_table("behind", "SELECT n FROM progress", "1s")
    engine.gate_source("orders")
    engine.sql("INSERT INTO orders VALUES (2, 'us')")
    report = tick()
    assert refreshed(report) == ["progress"]
    assert skipped(report)["behind"] == "source 'orders' is gated ('progress' depends on it)"
    assert values(engine, "SELECT n FROM progress") == [(2,)]


def test_a_manual_refresh_goes_through_a_closed_gate_and_the_scheduler_still_does_not(engine: Engine) -> None:
    tick = Ticks(engine)
    engine.gate_source("orders")
    engine.sql("INSERT INTO orders VALUES (2, 'eu')")
    assert engine.refresh_stream_table("order_summary").action is Action.DIFFERENTIAL
    report = tick()
    assert refreshed(report) == []
    assert "report" in skipped(report)


def test_a_gated_member_holds_the_whole_diamond(engine: Engine) -> None:
    """Its siblings do not depend on the gated source; to publish them alone would split the group."""
    tick = Ticks(engine)
    engine.sql("CREATE TABLE rates (region STRING, rate INT); INSERT INTO rates VALUES ('eu', 2)")
    create = engine.create_stream_table
    create("left_path", "SELECT region, COUNT(*) AS n FROM lines GROUP BY region", "1s")
    create(
        "right_path",
        "SELECT region, SUM(amount * rate) AS s FROM lines JOIN rates USING (region) GROUP BY region",
        "1s",
    )
    create("both_paths", "SELECT region, n, s FROM left_path JOIN right_path USING (region)", "1s")
    engine.gate_source("rates")
    engine.sql("INSERT INTO lines VALUES (2, 'eu', 5)")
    report = tick()
    assert sorted(refreshed(report)) == ["line_summary", "report"]
    assert "'right_path' holds it: source 'rates' is gated" in skipped(report)["left_path"]
    engine.ungate_source("rates")
    assert sorted(refreshed(tick())) == ["both_paths", "left_path", "right_path"]
    assert_equals_query(engine, "both_paths")


def test_a_view_that_comes_to_read_a_gated_source_holds_its_readers(engine: Engine) -> None:
    """What a view reads is seen only when it is read; the tick that sees it stops there, and the next one knows."""
    tick = Ticks(engine)
    engine.sql("CREATE VIEW chosen AS SELECT amount FROM lake.default.lines")
    engine.create_stream_table("sums", "SELECT SUM(amount) AS s FROM chosen", "1s")
    engine.create_stream_table("above", "SELECT s FROM sums", "1s")
    engine.sql("CREATE TABLE others (amount INT); INSERT INTO others VALUES (500)")
    engine.gate_source("others")
    engine.sql("CREATE OR REPLACE VIEW chosen AS SELECT amount FROM lake.default.others")
    first, second = tick(), tick()
    assert refreshed(first) == refreshed(second) == []
    assert skipped(first) == {"sums": "source 'others' is gated"}
    assert skipped(second) == {
        "sums": "source 'others' is gated",
        "above": "source 'others' is gated ('sums' depends on it)",
    }
    assert values(engine, "SELECT s FROM sums") == [(10,)]
    assert engine.verify("sums").ok
    assert "source 'others' is gated" in str(engine.why("above"))
    engine.ungate_source("others")
    assert refreshed(tick()) == ["sums", "above"]
    assert_equals_query(engine, "above")


@pytest.mark.parametrize("one_cut", [True, False])
def test_a_gate_that_closes_during_a_tick_lets_through_only_what_was_there_before(
    spark: SparkSession, tmp_path: Path, one_cut: bool
) -> None:
    """At the cut of the tick the gate was open; where units read newer versions, they see the newer gate as well."""
    engines: list[Engine] = []

    def close_meanwhile(event: Event) -> None:
        if event == StepReached(Step.PUBLISHED) and engines:
            with engines.pop().transaction() as tx:
                tx.gate_source("orders")
                tx.sql("TRUNCATE TABLE orders")

    with spark_trickle.connect(
        str(tmp_path), spark=spark.newSession(), observers=[close_meanwhile], tick_watermark_enabled=one_cut
    ) as engine:
        with_two_loads(engine)
        engine.sql("INSERT INTO orders VALUES (2, 'eu')")
        tick = Ticks(engine)
        engines.append(engine)
        report = tick()
        assert engine.spark.table("orders").count() == 0
        assert refreshed(report) == (["order_summary", "report"] if one_cut else ["order_summary"])
        assert ("report" in skipped(report)) is not one_cut
        assert refreshed(tick()) == []
        assert values(engine, "SELECT n FROM order_summary") == [(2,)]
        assert values(engine, "SELECT n FROM report") == ([(2,)] if one_cut else [(1,)])


def test_a_gate_that_was_forgotten_is_warned_about_by_a_tick_and_once(spark: SparkSession, tmp_path: Path) -> None:
    told: list[Event] = []
    with spark_trickle.connect(
        str(tmp_path), spark=spark.newSession(), observers=[told.append], gate_stale_warning_seconds=90
    ) as engine:
        engine.sql("CREATE TABLE orders (id INT)")
        engine.gate_source("orders")
        tick = Ticks(engine)
        for _ in range(4):
            tick()
    warnings = [event for event in told if isinstance(event, Noticed)]
    assert len(warnings) == 1
    assert "source 'orders' has been gated for 2m" in warnings[0].notice
