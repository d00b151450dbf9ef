"""Averages from a sum and a count that are themselves sums."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.upkeep import average
from spark_trickle.sql.operators import column


def test_an_average_is_divided_by_the_whole_merged_count() -> None:
    count = exp.Add(this=column("n"), expression=column("more"))
    assert "/ (`n` + `more`)" in average(column("s"), count, "double").sql(dialect="spark")
    assert "CAST(`n` + `more` AS DECIMAL(20, 0))" in average(column("s"), count, "decimal(14,6)").sql(dialect="spark")
