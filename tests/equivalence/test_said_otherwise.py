"""Subqueries that DuckDB has not, or reads otherwise than Spark, against the same question asked in other words."""

from __future__ import annotations

from random import Random

import pytest

from tests.equivalence.test_shapes import SEED
from tests.support.scripts import keep_through, random_script

SAME = {
    "NOT IN of pairs with NULLs": (
        "SELECT o.id FROM orders o WHERE (cust, qty) NOT IN (SELECT id, tier FROM cust)",
        "SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM cust c WHERE COALESCE(o.cust = c.id, TRUE) AND "
        "COALESCE(o.qty = c.tier, TRUE))",
    ),
    "IN of pairs as a value, false where it is unknown": (
        "SELECT o.id, (cust, qty) IN (SELECT id, tier FROM cust) AS e FROM orders o",
        "SELECT o.id, EXISTS (SELECT 1 FROM cust c WHERE o.cust = c.id AND o.qty = c.tier) AS e FROM orders o",
    ),
    "NOT IN of pairs as a value": (
        "SELECT o.id, (cust, qty) NOT IN (SELECT id, tier FROM cust) AS e FROM orders o",
        "SELECT o.id, NOT EXISTS (SELECT 1 FROM cust c WHERE COALESCE(o.cust = c.id, TRUE) AND COALESCE(o.qty = "
        "c.tier, TRUE)) AS e FROM orders o",
    ),
    "IN as a value": (
        "SELECT o.id, cust IN (SELECT tier FROM cust) AS e, 1 IN (SELECT tier FROM cust) AS f FROM orders o",
        "SELECT o.id, COALESCE(cust IN (SELECT tier FROM cust), FALSE) AS e, COALESCE(1 IN (SELECT tier FROM cust), "
        "FALSE) AS f FROM orders o",
    ),
    "NOT IN as a value": (
        "SELECT o.id, cust NOT IN (SELECT tier FROM cust) AS e, NOT (1 IN (SELECT tier FROM cust)) AS f FROM orders o",
        "SELECT o.id, COALESCE(cust NOT IN (SELECT tier FROM cust), FALSE) AS e, COALESCE(1 NOT IN (SELECT tier FROM "
        "cust), FALSE) AS f FROM orders o",
    ),
    "correlated IN and NOT IN as values": (
        "SELECT o.id, cust IN (SELECT tier FROM cust c WHERE c.id = o.id) AS e, cust NOT IN (SELECT tier FROM cust c "
        "WHERE c.id = o.id) AS f FROM orders o",
        "SELECT o.id, COALESCE(cust IN (SELECT tier FROM cust c WHERE c.id = o.id), FALSE) AS e, COALESCE(cust NOT IN "
        "(SELECT tier FROM cust c WHERE c.id = o.id), FALSE) AS f FROM orders o",
    ),
    "IN inside CASE": (
        "SELECT o.id, CASE WHEN NOT (cust IN (SELECT tier FROM cust) OR qty = 1) THEN 1 ELSE 2 END AS e FROM orders o",
        "SELECT o.id, CASE WHEN NOT (cust IN (SELECT tier FROM cust) OR qty = 1) THEN 1 ELSE 2 END AS e FROM orders o",
    ),
    "an outer column in ON of an outer join": (
        "SELECT o.id, (SELECT COUNT(c.id) FROM items i LEFT JOIN cust c ON c.id = i.oid AND c.tier = o.qty WHERE i.oid "
        "= o.id) AS m FROM orders o",
        "SELECT o.id, (SELECT COUNT(*) FROM items i, cust c WHERE c.id = i.oid AND c.tier = o.qty AND i.oid = o.id) "
        "AS m FROM orders o",
    ),
    "outer columns on both sides of a full join": (
        "SELECT o.id, (SELECT COUNT(c.id) + 10 * COUNT(i.sku) FROM (SELECT * FROM items WHERE n < o.qty) i FULL JOIN "
        "(SELECT * FROM cust WHERE id = o.cust) c ON FALSE) AS m FROM orders o",
        "SELECT o.id, (SELECT COUNT(*) FROM cust c WHERE c.id = o.cust) + 10 * (SELECT COUNT(*) FROM items i WHERE i.n "
        "< o.qty) AS m FROM orders o",
    ),
    "an outer column in a generator": (
        "SELECT o.id, (SELECT SUM(x) FROM (SELECT explode(array(i.n, o.qty)) AS x FROM items i WHERE i.oid = o.id) t) "
        "AS s FROM orders o",
        "SELECT o.id, (SELECT SUM(x) FROM (SELECT i.n AS x FROM items i WHERE i.oid = o.id UNION ALL SELECT o.qty FROM "
        "items i WHERE i.oid = o.id) t) AS s FROM orders o",
    ),
    "IN in ON of an outer join": (
        "SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id AND o.id IN (SELECT oid FROM items)",
        "SELECT o.id, c.name FROM (SELECT *, EXISTS (SELECT 1 FROM items WHERE oid = p.id) AS e FROM orders p) o LEFT "
        "JOIN cust c ON o.cust = c.id AND o.e",
    ),
    "a subquery about the optional side in ON": (
        "SELECT o.id, c.name FROM orders o LEFT JOIN cust c ON o.cust = c.id AND EXISTS (SELECT 1 FROM items i WHERE "
        "i.oid = c.id)",
        "SELECT o.id, c.name FROM orders o LEFT JOIN (SELECT * FROM cust d WHERE EXISTS (SELECT 1 FROM items i WHERE "
        "i.oid = d.id)) c ON o.cust = c.id",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_subquery_means_what_its_other_words_mean(name: str) -> None:
    query, otherwise = SAME[name]
    keep_through(query, random_script(Random(SEED), windows=4), otherwise)
