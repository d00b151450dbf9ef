"""Queries that DuckDB writes otherwise than Spark: each is kept, and compared with the same question in its words."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.duck import Kept, Lake
from tests.support.scripts import TABLES, perform, random_script
from tests.support.seeds import first_seed

SEED = first_seed("TRICKLE_SEED")
NARROW = "(SELECT region, cust, qty FROM orders)"
PAIRS = {
    "SELECT id, explode(array(qty, cust)) AS x, x + 1 AS y FROM orders WHERE qty > 0": (
        "SELECT id, x, x + 1 FROM (SELECT id, UNNEST([qty, cust]) AS x FROM after.orders WHERE qty > 0)"
    ),
    "SELECT region, explode(sequence(1, COUNT(*))) AS x FROM orders GROUP BY region": (
        "SELECT region, UNNEST(range(1, COUNT(*) + 1)) FROM after.orders GROUP BY region"
    ),
    "SELECT o.id, v FROM orders o, LATERAL explode(array(o.qty, o.cust)) AS x(v) WHERE v > 1": (
        "SELECT id, v FROM (SELECT id, UNNEST([qty, cust]) AS v FROM after.orders) WHERE v > 1"
    ),
    "SELECT v, SUM(id) AS s FROM orders o JOIN LATERAL explode(array(qty, cust)) AS x(v) ON v > o.id GROUP BY v": (
        "SELECT v, SUM(id) FROM (SELECT id, UNNEST([qty, cust]) AS v FROM after.orders) WHERE v > id GROUP BY v"
    ),
    "SELECT e.v, COUNT(*) AS n FROM explode(array(1, 2, 2)) AS e(v), orders WHERE v = qty GROUP BY e.v": (
        "SELECT v, COUNT(*) FROM (SELECT UNNEST([1, 2, 2]) AS v), after.orders WHERE v = qty GROUP BY v"
    ),
    "SELECT r.id, COUNT(*) AS n FROM range(1, 4) r JOIN orders o ON r.id = o.qty GROUP BY r.id": (
        "SELECT qty, COUNT(*) FROM after.orders WHERE qty BETWEEN 1 AND 3 GROUP BY qty"
    ),
    f"SELECT * FROM {NARROW} PIVOT (SUM(qty) FOR region IN ('a', 'b' AS bee))": (
        "SELECT cust, SUM(qty) FILTER (WHERE region = 'a'), SUM(qty) FILTER (WHERE region = 'b') "
        "FROM after.orders GROUP BY cust"
    ),
    f"SELECT * FROM {NARROW} PIVOT (COUNT(qty) AS n, MAX(qty) FOR region IN ('a', NULL))": (
        "SELECT cust, CASE WHEN BOOL_OR(region = 'a') THEN COUNT(qty) FILTER (WHERE region = 'a') END, "
        "MAX(qty) FILTER (WHERE region = 'a'), "
        "CASE WHEN BOOL_OR(region IS NULL) THEN COUNT(qty) FILTER (WHERE region IS NULL) END, "
        "MAX(qty) FILTER (WHERE region IS NULL) FROM after.orders GROUP BY cust"
    ),
    f"SELECT * FROM {NARROW} PIVOT (COUNT(qty), MAX(region) FOR cust IN (1, 2))": (
        "SELECT COUNT(qty) FILTER (WHERE cust = 1), MAX(region) FILTER (WHERE cust = 1), "
        "COUNT(qty) FILTER (WHERE cust = 2), MAX(region) FILTER (WHERE cust = 2) FROM after.orders"
    ),
    f"SELECT y, COUNT(*) AS n FROM {NARROW} PIVOT (SUM(qty) + MIN(qty) FOR (region, cust) IN (('a', 1) AS x, ('b', 2) "
    "AS y)) GROUP BY y": (
        "SELECT SUM(qty) FILTER (WHERE region = 'b' AND cust = 2) + MIN(qty) FILTER (WHERE region = 'b' AND cust = 2), "
        "1 FROM after.orders"
    ),
    "SELECT * FROM (SELECT id, cust, qty FROM orders) UNPIVOT (v FOR k IN (cust AS c, qty))": (
        "SELECT id, 'c', cust FROM after.orders WHERE cust IS NOT NULL UNION ALL "
        "SELECT id, 'qty', qty FROM after.orders WHERE qty IS NOT NULL"
    ),
    "SELECT * FROM (SELECT cust AS g, cust AS k, qty FROM orders) PIVOT (SUM(qty) FOR k IN (1, 2 AS two))": (
        "SELECT cust, SUM(qty) FILTER (WHERE cust = 1), SUM(qty) FILTER (WHERE cust = 2) "
        "FROM after.orders GROUP BY cust"
    ),
    "SELECT g, k, COUNT(*) AS n FROM (SELECT cust AS g, cust AS k FROM orders) GROUP BY CUBE (g, k)": (
        "SELECT g, k, COUNT(*) FROM (SELECT cust AS g, cust AS k FROM after.orders) GROUP BY CUBE (g, k) "
        "HAVING COUNT(*) > 0"
    ),
    "SELECT * FROM (SELECT id, qty AS q, qty FROM orders) UNPIVOT (v FOR k IN (qty))": (
        "SELECT id, qty, 'qty', qty FROM after.orders WHERE qty IS NOT NULL"
    ),
    "SELECT u.k, COUNT(u.v) AS v, SUM(w) AS w FROM orders UNPIVOT INCLUDE NULLS ((v, w) FOR k IN ((cust, qty) AS x, "
    "(qty, tier))) AS u GROUP BY u.k".replace("tier", "cust"): (
        "SELECT k, COUNT(v), SUM(w) FROM (SELECT 'x' AS k, cust AS v, qty AS w FROM after.orders UNION ALL "
        "SELECT 'qty_cust', qty, cust FROM after.orders) GROUP BY k"
    ),
    "SELECT region, first(qty) AS f, any_value(cust) IGNORE NULLS AS a, last(id) FILTER (WHERE qty > 1) AS l "
    "FROM orders GROUP BY region": (
        "SELECT region, MIN(qty), MIN(cust), MIN(id) FILTER (WHERE qty > 1) FROM after.orders GROUP BY region"
    ),
    "SELECT region, any(qty > 1) AS a, every(qty > 1) AS e, some(qty > 1) FILTER (WHERE cust = 1) AS s FROM orders "
    "GROUP BY region": (
        "SELECT region, BOOL_OR(qty > 1), BOOL_AND(qty > 1), BOOL_OR(qty > 1) FILTER (WHERE cust = 1) "
        "FROM after.orders GROUP BY region"
    ),
    "SELECT 1 AS one FROM cust GROUP BY ROLLUP (tier)": (
        "SELECT 1 FROM after.cust GROUP BY tier UNION ALL SELECT 1 WHERE EXISTS (SELECT 1 FROM after.cust)"
    ),
    "SELECT tier, tier + 1 AS t, SUM(tier) AS s FROM cust GROUP BY tier, id WITH ROLLUP": (
        "SELECT tier, tier + 1, SUM(tier) FROM after.cust GROUP BY ROLLUP (tier, id) HAVING COUNT(*) > 0"
    ),
}


@pytest.mark.parametrize("query", PAIRS)
def test_a_stream_table_equals_the_same_question_in_other_words(query: str) -> None:
    for seed in range(SEED, SEED + 3):
        script = random_script(Random(seed), windows=4)
        lake = Lake(TABLES)
        lake.answers[query] = PAIRS[query]
        perform(lake, script[0])
        kept = Kept(lake, query)
        kept.check()
        for window in script[1:]:
            perform(lake, window)
            try:
                kept.step()
            except AssertionError as err:
                raise AssertionError(f"seed {seed}: {err}") from err
