"""The TPC-H bench without Spark: its queries can be read, its changes have the size asked for, its targets judge."""

from __future__ import annotations

import pytest
from sqlglot import exp

from bench.tpch import queries
from bench.tpch.changes import Amounts
from bench.tpch.report import Query, Run, growth, show, targets
from bench.tpch.run import numbers
from spark_trickle.sql.parse import parse_query

LIMITS = {2: 100, 3: 10, 10: 20, 18: 100, 21: 100}


@pytest.mark.parametrize("number", queries.NUMBERS, ids=queries.stream_table)
def test_every_query_can_be_read_and_has_its_limit(number: int) -> None:
    query = parse_query(queries.text(number))
    limit = query.args.get("limit")
    assert (int(limit.expression.this) if limit else None) == LIMITS.get(number)


def test_together_the_queries_read_all_eight_tables() -> None:
    read = {table.name for number in queries.NUMBERS for table in parse_query(queries.text(number)).find_all(exp.Table)}
    assert read - {"revenue"} == {
        "region",
        "nation",
        "supplier",
        "customer",
        "part",
        "partsupp",
        "orders",
        "lineitem",
    }


def test_the_fraction_of_query_11_shrinks_with_the_scale() -> None:
    assert "* 0.0001000000" in queries.text(11)
    assert "* 0.0000100000" in queries.text(11, 10)


def test_a_cycle_changes_about_as_many_rows_as_asked() -> None:
    counts = {"lineitem": 6_001_215, "orders": 1_500_000, "partsupp": 800_000, "part": 200_000, "customer": 150_000}
    amounts = Amounts.of(8_661, counts)
    orders = 5 * (amounts.new_orders + amounts.deleted_orders)
    changed = orders + amounts.customers + amounts.parts + amounts.costs + amounts.prices
    assert changed == pytest.approx(8_661, rel=0.03)


def test_queries_are_chosen_by_numbers_and_ranges() -> None:
    assert numbers("6,1,3-5") == [1, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="23"):
        numbers("23")


def measured(scale: float, differential: float, full: float) -> Run:
    every = [Query(number, fulls_ms=[9e9, full], cycles_ms=[9e9, differential]) for number in queries.NUMBERS]
    return Run(scale, 1000, 1_000_000, every, together_ms=[22 * full / 4])


def test_targets_of_scale_1_are_met_by_a_fast_and_right_run() -> None:
    assert [target.met for target in targets(measured(1, 100, 200), small_change=True)] == [True, True, True]


def test_auto_counts_by_its_last_refreshes_and_by_its_worst_query() -> None:
    run = measured(1, 100, 200)
    for query in run.queries:
        query.autos_ms, query.auto_action = [9e9, 230, 200, 210], "FULL"
    auto = targets(run, small_change=True)[2]
    assert auto.met and auto.what.startswith("AUTO never over 1.2× of full: 1.05× for")
    run.queries[7].autos_ms.append(9e9)
    assert targets(run, small_change=True)[2].met, "one of three"
    run.queries[7].autos_ms.append(9e9)
    assert not targets(run, small_change=True)[2].met


def test_a_run_without_full_shows_times_and_no_ratios() -> None:
    run = Run(1, 8000, 8_000_000, [Query(6, cycles_ms=[900, 500])])
    run.together_ms.append(700)
    shown = show(run)
    assert "1 of 1 kept incrementally; one after the other: 500 ms; not run in full" in shown
    assert "in one call at one cut: 700 ms" in shown
    assert "×" not in shown


def test_a_wrong_query_misses_the_target_and_is_shown() -> None:
    run = measured(1, 100, 200)
    run.queries[4].wrong.append("q05 after cycle 1: 1 rows missing, 0 unexpected")
    assert not targets(run, small_change=True)[0].met
    assert "WRONG: q05 after cycle 1" in show(run)


def test_a_refused_query_is_shown_with_its_reason_and_misses_the_target() -> None:
    run = measured(1, 100, 200)
    run.queries[12] = Query(13, refused="refused: no rule", fulls_ms=[200])
    found = targets(run, small_change=True)
    assert [target.met for target in found] == [False, True, False]
    assert "refused: no rule" in show(run)


def test_slower_queries_miss_the_targets_of_scale_10() -> None:
    assert [target.met for target in targets(measured(10, 100, 90), small_change=True)] == [True, False, False, False]


def test_some_of_the_queries_have_no_targets() -> None:
    run = measured(1, 100, 200)
    run.queries = run.queries[:3]
    assert targets(run, small_change=True) == []


def test_growth_compares_the_same_queries_at_two_scales() -> None:
    grown = growth(measured(1, 100, 200), measured(10, 150, 2000))
    assert grown is not None and grown[1].met
    slower = growth(measured(1, 100, 200), measured(10, 250, 2000))
    assert slower is not None and not slower[1].met
