"""FULL, DIFFERENTIAL, AUTO and strict: what is refused with its place, and what falls back with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import NotDifferentialError, UserError
from spark_trickle.model.publication import Publication
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome
from spark_trickle.model.stream_table import Costs, RefreshMode
from spark_trickle.refresh import choose
from tests.spark.engines import assert_equals_query

LIMITED = "SELECT k, v\nFROM items\nORDER BY k, v LIMIT length('ab')"


def with_items(engine: Engine) -> None:
    engine.sql("CREATE TABLE items (k INT, v STRING); INSERT INTO items VALUES (1, 'a'), (2, 'b'), (3, 'c')")


def test_a_query_without_a_rule_is_full_in_auto_and_says_why_each_time(engine: Engine) -> None:
    with_items(engine)
    made = engine.create_stream_table("t", LIMITED)
    assert made.effective_mode is RefreshMode.FULL
    assert "LIMIT" in str(made.mode_reason) and "line 3" in str(made.mode_reason)
    assert "FULL" in made.notices[0] and str(made.mode_reason) in made.notices[0]
    assert engine.refresh_stream_table("t").action is Action.NO_DATA
    engine.sql("INSERT INTO items VALUES (0, 'z')")
    outcome = engine.refresh_stream_table("t")
    assert (outcome.action, outcome.mode, outcome.reason) == (Action.FULL, "FULL", made.mode_reason)
    assert engine.history("t")[0].reason == made.mode_reason
    assert (outcome.rows_inserted, outcome.rows_deleted) == (2, 2)
    assert_equals_query(engine, "t")
    engine.sql("INSERT INTO items VALUES (-1, 'y')")
    with pytest.raises(NotDifferentialError, match="LIMIT"):
        engine.refresh_stream_table("t", mode="DIFFERENTIAL")


@pytest.mark.parametrize("options", [{"refresh_mode": "DIFFERENTIAL"}, {"refresh_mode": "IMMEDIATE"}, {"strict": True}])
def test_what_cannot_be_differential_is_refused_with_construct_place_and_remedy(
    engine: Engine, options: dict[str, object]
) -> None:
    with_items(engine)
    with pytest.raises(UserError, match=r"LIMIT .*line 3, column 15") as refused:
        engine.create_stream_table("t", LIMITED, **options)  # type: ignore[arg-type]
    assert "refresh_mode = 'FULL'" in str(refused.value)
    with pytest.raises(UserError, match=r"rand\(\) at line 2, column 3 is not deterministic") as refused:
        engine.create_stream_table("t", "SELECT k,\n  rand() AS r FROM items", **options)  # type: ignore[arg-type]
    assert "Remove the function" in str(refused.value)
    assert engine.stream_tables() == ()


def test_a_function_that_is_not_deterministic_is_not_kept_in_any_mode_but_full(engine: Engine) -> None:
    with_items(engine)
    made = engine.create_stream_table("t", "SELECT k, current_timestamp() AS at FROM items")
    assert made.effective_mode is RefreshMode.FULL
    assert "current_timestamp() at line 1, column 11 is not deterministic" in str(made.mode_reason)


def test_one_refresh_can_be_asked_to_be_full_or_differential(engine: Engine) -> None:
    with_items(engine)
    engine.create_stream_table("t", "SELECT v, COUNT(*) AS n FROM items GROUP BY v", strict=True)
    asked = engine.refresh_stream_table("t", mode="full")
    assert (asked.action, asked.reason) == (Action.FULL, "mode FULL was asked for")
    engine.sql("INSERT INTO items VALUES (4, 'a')")
    assert engine.refresh_stream_table("t", mode="DIFFERENTIAL").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "t")
    for wrong in ("IMMEDIATE", "quick"):
        with pytest.raises(UserError, match="FULL"):
            engine.refresh_stream_table("t", mode=wrong)


def test_auto_recomputes_when_much_changed_and_strict_never_does(engine: Engine) -> None:
    engine.sql("CREATE TABLE big AS SELECT id, id % 7 AS g FROM range(30000)")
    query = "SELECT g, COUNT(*) AS n, SUM(id) AS s FROM big GROUP BY g"
    engine.create_stream_table("auto", query)
    engine.create_stream_table("wary", query, strict=True)
    engine.sql("UPDATE big SET g = 9 WHERE id < 20000")
    auto, wary = engine.refresh_stream_tables(["auto", "wary"])
    assert auto.action is Action.FULL and "differential_max_change_ratio" in str(auto.reason)
    assert (wary.action, wary.reason) == (Action.DIFFERENTIAL, None)
    assert_equals_query(engine, "auto")
    assert_equals_query(engine, "wary")


def test_a_query_that_fails_while_running_publishes_nothing(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
    engine.create_stream_table("inverse", "SELECT a, 10 DIV a AS tenth FROM t")
    engine.sql("INSERT INTO t VALUES (0)")
    with pytest.raises(Exception, match=r"(?i)divi.* by zero") as failed:
        engine.refresh_stream_table("inverse")
    assert type(failed.value).__name__ == "ComputeError"
    row = engine.history("inverse")[0]
    assert (row.action, row.status) == (Action.SKIP, Outcome.FAILED) and "ComputeError" in str(row.error)
    assert engine.spark.table("inverse").count() == 2
    assert engine.verify("inverse"), "it still is the answer at its frontier"
    engine.sql("DELETE FROM t WHERE a = 0")
    engine.refresh_stream_table("inverse")
    assert_equals_query(engine, "inverse")


def test_auto_recomputes_where_that_was_faster_leaves_state_behind_and_comes_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "LARGE_ROWS", 1)  # in place of a table of a million rows
    with_items(engine)
    engine.create_stream_table(
        "t", "SELECT n, COUNT(*) AS groups FROM (SELECT v, COUNT(*) AS n FROM items GROUP BY v) GROUP BY n"
    )
    assert engine._parts.catalog.stream_tables()[0].internal_tables, "there is state that can be left behind"

    def refresh_with(costs: Costs, key: int) -> RefreshOutcome:
        catalog = engine._parts.catalog
        (table,) = catalog.stream_tables()
        catalog.publish(Publication(updated=(replace(table, costs=costs),)))
        engine.sql(f"INSERT INTO items VALUES ({key}, 'v{key}')")
        outcome = engine.refresh_stream_table("t")
        assert_equals_query(engine, "t")
        return outcome

    slow = Costs(recent_ms=(9e9,), recompute_ms=1.0, rebuild_ms=1.0, rows=9)
    for key in (10, 11):
        outcome = refresh_with(slow, key)
        assert outcome.action is Action.FULL and str(outcome.reason).startswith("AUTO: the whole query took 0.0 s")
        assert outcome.commits == 1, "the public table alone"
    assert engine.refresh_stream_table("t").action is Action.NO_DATA
    fast = Costs(recent_ms=(1.0,), recompute_ms=9e9, rebuild_ms=9e9, rows=9)
    outcome = refresh_with(fast, 12)
    assert outcome.action is Action.REINITIALIZE and "left behind" in str(outcome.reason)
    assert refresh_with(fast, 13).action is Action.DIFFERENTIAL
    assert refresh_with(fast, 14).action is Action.DIFFERENTIAL
