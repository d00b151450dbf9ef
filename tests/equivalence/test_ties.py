"""Queries whose text leaves several answers open: the stream table holds one of them, says which, and keeps to it."""

from __future__ import annotations

from random import Random

import pytest

from spark_trickle.sql.build import build
from spark_trickle.sql.render import render
from tests.support.duck import Kept, Lake, multiset
from tests.support.duck_dialect import duck_sql
from tests.support.scripts import TABLES, perform, random_script
from tests.support.seeds import first_seed

SEED = first_seed("TRICKLE_SEED")

OPEN = (
    "SELECT id, qty, ROW_NUMBER() OVER (PARTITION BY region ORDER BY qty) AS r FROM orders",
    "SELECT cust, NTILE(3) OVER (ORDER BY cust) AS r, LAG(qty, 1) OVER (ORDER BY cust) AS l FROM orders",
    "SELECT qty, ROW_NUMBER() OVER (ORDER BY qty) AS up, ROW_NUMBER() OVER (ORDER BY region) AS down FROM orders",
    "SELECT id, FIRST_VALUE(qty) OVER (PARTITION BY cust ORDER BY region) AS f FROM orders",
    "SELECT id, LAST_VALUE(qty) OVER (PARTITION BY cust ORDER BY region) AS l FROM orders",
    "SELECT id, NTH_VALUE(qty, 2) OVER (PARTITION BY cust ORDER BY region) AS l FROM orders",
    "SELECT id, LAST_VALUE(qty) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS l "
    "FROM orders JOIN items ON oid = id",
    "SELECT id, FIRST(qty) OVER (PARTITION BY cust) AS f, ANY_VALUE(region) OVER (PARTITION BY cust) AS a FROM orders",
    "SELECT id, SUM(qty) OVER (PARTITION BY cust ORDER BY region ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s "
    "FROM orders",
    "SELECT id, ARRAY_AGG(id) OVER (PARTITION BY cust ORDER BY qty ROWS UNBOUNDED PRECEDING) AS c FROM orders",
    "SELECT id, qty FROM orders ORDER BY region LIMIT 3",
    "SELECT id FROM orders ORDER BY qty DESC LIMIT 2 OFFSET 1",
    "SELECT cust FROM orders GROUP BY cust ORDER BY COUNT(*) LIMIT 2",
    "SELECT region, r FROM (SELECT region, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY qty) AS r FROM orders) "
    "WHERE r <= 2 ORDER BY r LIMIT 4",
)


@pytest.mark.parametrize("query", OPEN)
def test_the_completed_query_is_kept_through_random_histories(query: str) -> None:
    completions: list[str] = []
    lake = Lake(TABLES)
    lake.answers[query] = duck_sql(render(build(query, lake, completions=completions)))
    assert completions
    script = random_script(Random(SEED), windows=4)
    perform(lake, script[0])
    kept = Kept(lake, query)
    kept.check()
    for window in script[1:]:
        perform(lake, window)
        kept.step()


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (OPEN[0], "ROW_NUMBER() OVER (ORDER BY qty) does not decide ties: rows are further ordered by id"),
        (OPEN[7], "FIRST_VALUE(qty) OVER () depends on the order of rows: rows are further ordered by id, region, qty"),
        (OPEN[10], "ORDER BY region does not decide ties before LIMIT: rows are further ordered by id, qty"),
    ],
)
def test_what_was_decided_is_said(query: str, sentence: str) -> None:
    completions: list[str] = []
    build(query, Lake(TABLES), completions=completions)
    assert sentence in completions


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, RANK() OVER (ORDER BY qty) AS r, SUM(qty) OVER (PARTITION BY cust ORDER BY region) AS s "
        "FROM orders",
        "SELECT cust, ROW_NUMBER() OVER (ORDER BY cust) AS r FROM orders GROUP BY cust",
        "SELECT cust, SUM(qty) AS s FROM orders GROUP BY cust ORDER BY s, cust LIMIT 2",
        "SELECT DISTINCT region, qty FROM orders ORDER BY qty, region LIMIT 3",
        "SELECT qty FROM orders ORDER BY qty LIMIT 3",
    ],
)
def test_nothing_is_said_where_nothing_is_open(query: str) -> None:
    completions: list[str] = []
    build(query, Lake(TABLES), completions=completions)
    assert completions == []


def test_the_last_of_peers_is_the_same_for_all_of_them_and_one_of_theirs() -> None:
    lake = Lake(TABLES)
    lake.insert("items", [(1, "p", 1), (1, "p", 2), (1, "q", 0), (1, "q", 2), (1, "q", 1)])
    query = "SELECT sku, n, LAST_VALUE(n) OVER (PARTITION BY oid ORDER BY sku) AS l FROM items"
    rows = multiset(lake.run(duck_sql(render(build(query, lake)))))
    assert rows == {("p", 1.0, 2.0): 1, ("p", 2.0, 2.0): 1, ("q", 0.0, 2.0): 1, ("q", 1.0, 2.0): 1, ("q", 2.0, 2.0): 1}
