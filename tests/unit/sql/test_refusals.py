"""The table of refusals: each entry is reached by some golden case, says what to write instead, and that is kept."""

from __future__ import annotations

import pytest

from spark_trickle.errors import StreamTableError, UnsupportedSqlError
from spark_trickle.sql.build import build
from spark_trickle.sql.refusals import Refused
from tests.support.cases import cases
from tests.test_architecture import OURS, named
from tests.unit.sql.test_build import Catalog

TOLD_BY_SPARK = {
    Refused.USER_AGGREGATE: "only Spark's analysis tells that a function is one",
    Refused.SETTING: "the text is the same with and without the setting",
    Refused.STATE_TYPE: "only Spark's analysis tells types of expressions",
    Refused.MAP_KEY: "only Spark's analysis tells types of expressions",
    Refused.COLLATED_KEY: "only Spark's analysis tells types of expressions",
    Refused.OTHER_TYPE: "a guard against plans that would give other types than Spark's; no such plan is known",
}
"""Entries that no text alone can reach."""

REWRITTEN = {
    Refused.STAR_REPLACE: "SELECT 1 AS id, cust FROM orders",
    Refused.FIELD_LEFT_OUT: "SELECT * EXCEPT (info), named_struct('b', info.b) AS info FROM nested",
    Refused.UNKNOWN_FIELDS: "SELECT s.a FROM (SELECT from_json(name, 'a int') AS s FROM cust)",
    Refused.STAR_IN_EXPRESSION: "SELECT id + qty AS x FROM orders",
    Refused.PARAMETER: "SELECT id FROM orders WHERE id = 3",
    Refused.ALL_SUBQUERY: "SELECT id FROM orders WHERE qty > (SELECT max(n) FROM items)",
    Refused.TRANSFORM: "SELECT upper(region) AS r FROM orders",
    Refused.SETTING: "SELECT id FROM orders",
    Refused.OTHER_TYPE: "SELECT CAST(qty AS bigint) AS q FROM orders",
    Refused.STATE_TYPE: "SELECT DISTINCT CAST(make_interval(qty) AS STRING) AS i FROM orders",
    Refused.MAP_KEY: "SELECT to_json(tags) AS t, count(*) AS n FROM labels GROUP BY to_json(tags)",
    Refused.COLLATED_KEY: "SELECT lower(region) AS r, count(*) AS n FROM orders GROUP BY lower(region)",
    Refused.SAMPLE: "SELECT id FROM orders WHERE pmod(hash(id), 10) = 0",
    Refused.TIME_TRAVEL: "SELECT id FROM orders",
    Refused.JOIN_KIND: "SELECT c.id FROM cust c ANTI JOIN orders o ON o.cust = c.id",
    Refused.SUBQUERY_ABOUT_PAIRS: "SELECT o.id FROM orders o LEFT JOIN (SELECT c.id, (SELECT max(n) FROM items"
    " WHERE oid = c.id) AS m FROM cust c) x ON o.cust = x.id AND o.qty < x.m",
    Refused.LATERAL_JOIN: "SELECT o.id FROM orders o LEFT JOIN LATERAL (SELECT c.tier FROM cust c"
    " WHERE c.id = o.cust) x ON true",
    Refused.LATERAL_SUBQUERY_IN_ON: "SELECT o.id FROM orders o LEFT JOIN LATERAL (SELECT c.id AS cid FROM cust c"
    " WHERE c.id = o.cust AND EXISTS (SELECT 1 FROM items WHERE oid = c.id)) x ON true",
    Refused.UNNEST: "SELECT o.id, x FROM orders o, LATERAL explode(array(1)) AS u(x)",
    Refused.FROM_ENTRY: "SELECT id FROM explode(array(1)) AS t(id)",
    Refused.QUERY_FORM: "SELECT * FROM orders",
    Refused.CLAUSE: "SELECT id FROM orders",
    Refused.RESERVED_NAME: "SELECT id AS trickle_n FROM orders",
    Refused.TABLE_FUNCTION: "SELECT id FROM range(3)",
    Refused.GENERATOR_NAMES: "SELECT inline(from_json(name, 'array<struct<x:int,y:int>>')) AS (a, b) FROM cust",
    Refused.GENERATOR_CONDITION: "SELECT o.id, v FROM orders o LEFT JOIN LATERAL"
    " explode(filter(array(o.qty), q -> q > 1)) AS x(v) ON true",
    Refused.GENERATOR_WITHOUT_ON: "SELECT id, v FROM orders LATERAL VIEW OUTER explode(array(qty)) x AS v",
    Refused.RANGE_BOUNDS: "SELECT id FROM range(1, 3)",
    Refused.RANGE_SIZE: "SELECT id FROM items JOIN orders ON oid = id",
    Refused.SESSIONS: "SELECT region, 1 AS n FROM orders GROUP BY region, window(to_timestamp(region), '1 hour')",
    Refused.TIME_WINDOW_PLACE: "SELECT w.start FROM (SELECT window(to_timestamp(region), '1 hour') AS w FROM orders)",
    Refused.PIVOT_FORM: "SELECT * FROM (SELECT region, qty, cust FROM orders) PIVOT"
    " (SUM(qty) FOR (region, cust) IN (('a', 1)))",
    Refused.PIVOT_TYPE: "SELECT cust, max(tier) FILTER (WHERE region = 'eu') AS eu FROM orders"
    " JOIN cust ON cust = cust.id GROUP BY ALL",
    Refused.PIVOT_AFTER_JOINS: "SELECT * FROM (SELECT sku, name, tier FROM items CROSS JOIN cust) PIVOT"
    " (SUM(tier) FOR name IN ('a'))",
    Refused.LIMIT_WITHOUT_ORDER: "SELECT id FROM orders ORDER BY id LIMIT 3",
    Refused.LIMIT_OF_PARTS: "SELECT id FROM orders ORDER BY id LIMIT 3",
    Refused.LIMIT_VALUE: "SELECT id FROM orders ORDER BY id LIMIT 3",
    Refused.FETCH: "SELECT id FROM orders ORDER BY id LIMIT 3",
    Refused.ORDER_SUBQUERY: "SELECT DISTINCT id, m FROM (SELECT id, (SELECT max(id) FROM cust) AS m FROM orders)"
    " ORDER BY m, id LIMIT 1",
    Refused.TIES_WITHOUT_ORDER: "SELECT id, to_json(tags) AS t FROM labels ORDER BY id LIMIT 2",
    Refused.UNORDERED_VALUE: "SELECT first(to_json(tags)) AS t FROM labels",
    Refused.VALUE_OF_NOTHING: "SELECT o.id, s FROM orders o LEFT JOIN (SELECT oid, hll_sketch_agg(n) AS s FROM items"
    " GROUP BY oid) i ON i.oid = o.id",
    Refused.USER_AGGREGATE: "SELECT aggregate(collect_list(qty), 0, (a, b) -> a + b) AS t FROM orders",
    Refused.WINDOW_FUNCTION: "SELECT rank() OVER (ORDER BY qty) AS r FROM orders",
    Refused.WINDOW_PEERS: "SELECT nth_value(region, 2) OVER (PARTITION BY cust ORDER BY qty"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS x FROM orders",
    Refused.RECURSIVE_UNION: "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5)"
    " SELECT DISTINCT n FROM t",
    Refused.RECURSIVE_CUT: "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 9)"
    " SELECT n FROM t ORDER BY n LIMIT 5",
    Refused.CORRELATED_RECURSION: "WITH RECURSIVE t AS (SELECT id AS k, id AS n FROM orders UNION ALL"
    " SELECT k, n + 1 FROM t WHERE n < 5) SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM t WHERE k = o.id)",
}


def refusal_of(query: str) -> str:
    try:
        build(query, Catalog())
    except UnsupportedSqlError as err:
        return err.refusal
    except StreamTableError:
        return ""
    return ""


def test_every_refusal_is_reached_by_a_golden_case() -> None:
    reached = {refusal_of(case.query) for case in cases("sql")} - {""}
    wanted = {what.name for what in Refused if what not in TOLD_BY_SPARK}
    assert reached == wanted


def test_every_refusal_has_a_rewrite() -> None:
    assert set(REWRITTEN) == set(Refused)
    assert [what.name for what in Refused if not what.value.rewrite] == []


@pytest.mark.parametrize("what", REWRITTEN, ids=lambda what: what.name)
def test_what_is_written_instead_is_kept(what: Refused) -> None:
    build(REWRITTEN[what], Catalog())


def test_refusals_are_worded_in_one_place() -> None:
    found = [named(path) for path in OURS if "UnsupportedSqlError(" in path.read_text(encoding="utf-8")]
    assert found == ["spark_trickle/errors.py", "spark_trickle/sql/refusals.py"]
