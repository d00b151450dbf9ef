"""What is built of a query gives the rows and types that Spark gives for its text; and the tables of functions know
all that Spark has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from spark_trickle.names import TableName
from spark_trickle.sql.build import build
from spark_trickle.sql.functions import ALGEBRAIC, APPROXIMATE, COMPLETED, GENERATORS, GROUPING, RECOMPUTABLE
from spark_trickle.sql.leaves import resolve
from spark_trickle.sql.render import render
from spark_trickle.sql.sources import SourceTable

ROWS = """
SELECT a, b, c, d, array(a, c) AS xs, IF(c = 30, array(), array(named_struct('p', a, 'q', b))) AS ss, map(b, c) AS m,
    named_struct('u', a, 'w', named_struct('z', c)) AS st, CAST(d AS DECIMAL(10,2)) AS e,
    parse_json('{"k":[1,2],"n":{"B":3}}') AS v, DATE'2024-01-01' + a AS dt
FROM VALUES (1, 'x', 10, 1.5D), (1, 'y', 20, 2.5D), (2, 'x', 30, NULL), (2, 'x', 30, NULL), (NULL, 'z', NULL, 0.1D)
    AS t(a, b, c, d)
"""
NARROW = "(SELECT a, b, c, d FROM rows_)"
EXACT = [
    "SELECT a, COUNT(*) AS n FROM none_ GROUP BY ROLLUP (a)",
    "SELECT COUNT(*) AS n FROM none_ GROUP BY GROUPING SETS ((), ())",
    "SELECT a, b, GROUPING_ID() AS g, GROUPING(a) AS h, GROUPING_ID(a, b) AS i, SUM(a) AS s FROM rows_ GROUP BY a, "
    "ROLLUP (b)",
    "SELECT a, GROUPING(a) AS g, COUNT(*) AS n FROM rows_ GROUP BY GROUPING SETS ((a), (a), ())",
    "SELECT a + 1 AS k, AVG(e) AS s, SUM(e) AS t FROM rows_ GROUP BY ROLLUP (a + 1) HAVING COUNT(*) > 1",
    "SELECT a, b, SUM(c) AS s, GROUPING_ID() AS g FROM rows_ GROUP BY a, b GROUPING SETS ((a), (b))",
    "SELECT a, b, COUNT(DISTINCT b) AS n FROM rows_ GROUP BY a, b WITH CUBE",
    "SELECT a, b, c, GROUPING_ID() AS g FROM rows_ GROUP BY ROLLUP ((a, b), c), CUBE (b)",
    "SELECT SUM(a) AS s, 1 AS one FROM rows_ GROUP BY ROLLUP (2)",
    f"SELECT * FROM {NARROW} PIVOT (SUM(c) AS s, COUNT(*) FOR b IN ('x' AS ex, 'y', 'q'))",
    f"SELECT * FROM {NARROW} PIVOT (COUNT(d), MAX(b) FOR a IN (1, 2, NULL))",
    f"SELECT * FROM {NARROW} PIVOT (SUM(c) + 1 FOR (a, b) IN ((1, 'x') AS p, (2, 'x'), (3, 'x')))",
    f"SELECT * FROM {NARROW} PIVOT (COUNT(a) FOR d IN (1.5D, 0.1))",
    "SELECT * FROM (SELECT b, d FROM none_) PIVOT (COUNT(d) FOR b IN ('x'))",
    "SELECT * FROM (SELECT a, dt, c FROM rows_) PIVOT (COUNT(c) FOR dt IN (DATE'2024-01-02', DATE'2024-01-03' AS t))",
    f"SELECT * FROM {NARROW} PIVOT (COALESCE(SUM(c), 0) AS s FOR b IN ('x', 'q'))",
    f"SELECT * FROM {NARROW} PIVOT (COUNT(DISTINCT c) FILTER (WHERE c > 10) FOR b IN ('x', 'q'))",
    f"SELECT * FROM {NARROW} UNPIVOT INCLUDE NULLS (v FOR k IN (a AS `A!`, d))",
    "SELECT * FROM (SELECT a AS g, a AS k, c FROM rows_) PIVOT (SUM(c) FOR k IN (1, 2))",
    "SELECT * FROM (SELECT a AS g, a, c FROM rows_) UNPIVOT (v FOR k IN (a))",
    "SELECT g, k, COUNT(*) AS n FROM (SELECT a AS g, a AS k FROM rows_) GROUP BY CUBE (g, k)",
    f"SELECT * FROM {NARROW} AS s UNPIVOT ((v, w) FOR k IN ((s.a, s.c) AS p, (c, d))) AS u",
    "SELECT a, explode_outer(ss) AS r, posexplode(xs) FROM rows_",
    "SELECT a, inline_outer(ss) FROM rows_",
    "SELECT stack(2, a, 'a', c, 'b') FROM rows_",
    "SELECT b, posexplode(m) FROM rows_",
    "SELECT explode(xs) AS x, explode(array(7, 8)) AS y, x + 1 AS z FROM rows_",
    "SELECT a, explode(sequence(1, COUNT(*))) AS s FROM rows_ GROUP BY a",
    "SELECT explode(array(SUM(c), MAX(a))) AS x FROM rows_",
    "SELECT r.a, y, z FROM rows_ r LATERAL VIEW explode(xs) x AS y LATERAL VIEW OUTER explode(IF(y > 5, array(1), "
    "array())) AS z",
    "SELECT b, key, value FROM rows_ LATERAL VIEW explode(m) mm",
    "SELECT a, x.w FROM rows_ JOIN LATERAL explode(xs) AS x(w) ON w > a",
    "SELECT a, b, x.p FROM rows_ LEFT JOIN LATERAL explode(ss) AS x(p) ON true",
    "SELECT a, e.pos, e.key, e.value::int AS i FROM rows_, LATERAL variant_explode(v:k) AS e",
    "SELECT r.id, s.col0, s.col1 FROM range(4, 1, -1) r, stack(2, 1, 2, 3) s",
    "SELECT 1.5BD AS a, 12345678901234567890.123BD AS b, 1BD AS c, 1e2BD AS d, -1.50BD AS e",
    "SELECT v:n.B::int AS a, v:k[1]::string AS b, v:['n']::string AS c, st.*, st.w.* FROM rows_",
    "SELECT struct(a, st.w.z) AS s, struct(r.* EXCEPT (m, v, xs, ss, st)) AS t FROM rows_ r",
    "SELECT COUNT(DISTINCT *) AS n FROM (SELECT a, b FROM rows_)",
    "SELECT mode(a, true) AS a, mode() WITHIN GROUP (ORDER BY a DESC) AS b, mode() WITHIN GROUP (ORDER BY a) AS c, "
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY c) AS d, percentile_disc(0.5) WITHIN GROUP (ORDER BY c DESC) AS e, "
    "median(c) AS f, percentile_cont(array(0.1, 0.9)) WITHIN GROUP (ORDER BY c) AS g, percentile(c, 0.3, a) AS h "
    "FROM rows_",
    "SELECT sort_array(collect_list(c), false) AS a, size(collect_set(c)) AS b, count_min_sketch(c, 0.5d, 0.5d, 1) AS "
    "c FROM rows_",
    "SELECT COUNT(DISTINCT a, b) AS a, SUM(DISTINCT a) AS b, any(a = 1) AS c, some(a = 1) AS d, every(a = 1) AS e, "
    "COUNT(a, d) AS f, any(a = 1) FILTER (WHERE c > 10) AS g, SUM(DISTINCT a) FILTER (WHERE c > 10) AS h, bit_and(a) "
    "AS i, try_sum(c) AS j, try_avg(e) AS k, count_if(a = 1) FILTER (WHERE c > 10) AS l, regr_count(a, c) AS m, "
    "AVG(DISTINCT c) AS n FROM rows_",
    "SELECT transform(xs, x -> x + c) AS a, aggregate(xs, 0, (acc, x) -> acc + x) AS b, map_filter(m, (k, w) -> w > 1) "
    "AS c, xs[0] AS d, m['x'] AS e, exists(xs, x -> x = 1) AS f, b LIKE ANY ('x', 'y%') AS g, b NOT LIKE ALL ('x') AS "
    "h FROM rows_",
    "SELECT a, b, grouping__id AS g FROM rows_ GROUP BY CUBE (a, b) HAVING grouping__id > 0",
    "SELECT a, SUM(c) + 1 AS s FROM rows_ GROUP BY a HAVING SUM(c) - 30",
    "SELECT 2 AS a FROM rows_ GROUP BY ALL HAVING a > 50",
    "SELECT MAX(a) AS b FROM rows_ GROUP BY b HAVING b > 'x'",
    "SELECT SUM(c) AS c, b FROM rows_ GROUP BY b HAVING c > 20 AND MAX(c) < 100",
    "SELECT s FROM (SELECT SUM(c) OVER w AS s FROM rows_) WINDOW w AS v, v AS (PARTITION BY a)",
    "SELECT x.a, z.c FROM rows_ x LEFT JOIN rows_ y ON x.a = y.a JOIN (SELECT a, c FROM rows_) z USING (a)",
    "SELECT COUNT(q.*, q.*) AS n, COUNT(DISTINCT st.*) AS m FROM rows_, (SELECT a AS k, b AS l FROM rows_) q",
    "SELECT struct(st.*) AS s, struct(st.w.*, a) AS t, coalesce(st.w.*) AS c FROM rows_",
    "SELECT IDENTIFIER('a') AS a, q.id FROM IDENTIFIER('rows_'), LATERAL range(2) q",
    "SELECT t.p, t.s FROM ((SELECT a FROM rows_) CROSS JOIN (SELECT b FROM rows_)) AS t (p, s)",
    f"FROM {NARROW} |> ORDER BY c DESC, b, a, d |> LIMIT 2 |> WHERE c < 30 |> SET a = c, c = a + 1 "
    "|> EXTEND a + c AS s |> DROP d",
    f"FROM {NARROW} |> AGGREGATE SUM(c) AS s, COUNT(*) AS n GROUP BY a, c % 20 AS h |> AS g |> WHERE g.h = 10 |> "
    "SELECT g.*",
    "SELECT a FROM rows_ UNION ALL SELECT c FROM rows_ |> WHERE a > 1 |> EXCEPT (SELECT 2)",
    f"FROM {NARROW} AS n |> JOIN (SELECT a AS k, b AS w FROM rows_) q ON n.a = q.k |> WHERE q.w = 'x' |> SELECT n.c, "
    "q.k",
    "SELECT b, a, c FROM rows_ |> UNPIVOT (v FOR n IN (a, c)) |> WHERE v > 1",
    "WITH q AS (SELECT a FROM rows_ |> WHERE a = 1) TABLE q |> EXTEND (SELECT MAX(c) FROM rows_ i WHERE i.a = q.a) AS "
    "b",
]
OPEN = [
    "SELECT first(c) AS a, first(d) IGNORE NULLS AS b, last_value(c) AS c, any_value(st) AS d, mode(a) AS e, first(xs, "
    "true) AS f FROM rows_",
    "SELECT listagg(b) AS a FROM rows_",
    "SELECT listagg(DISTINCT b, ',') AS a FROM rows_",
    "SELECT string_agg(b, '-') WITHIN GROUP (ORDER BY c DESC) AS a, listagg(a, ',') FILTER (WHERE a = 1) AS b FROM "
    "rows_",
    "SELECT max_by(b, a) AS a, min_by(xs, c) AS b, max_by(b, c) FILTER (WHERE a > 0) AS c, max_by(st, d) AS d FROM "
    "rows_",
    "SELECT collect_list(c) AS a, collect_set(b) AS b, array_agg(DISTINCT c) AS c, array_agg(st) FILTER (WHERE a = 1) "
    "AS d, array_sort(collect_list(c), (x, y) -> y - x) AS e FROM rows_",
    "SELECT histogram_numeric(c, 2) AS a, approx_top_k(a) AS b, theta_sketch_agg(a) AS c, hll_sketch_agg(a) AS d FROM "
    "rows_",
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW rows_ AS {ROWS}")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW none_ AS SELECT * FROM rows_ WHERE false")
    yield spark
    for name in ("none_", "rows_"):
        spark.catalog.dropTempView(name)


class Catalog:
    """The views of a session as tables."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def resolve(self, parts: tuple[str, ...]) -> SourceTable:
        columns = self._session.table(parts[-1]).schema.fields
        return SourceTable(
            TableName.parse(parts[-1]), tuple((found.name, found.dataType.simpleString()) for found in columns)
        )


def of_the_tree(session: SparkSession, query: str, width: int) -> tuple[DataFrame, list[str]]:
    said: list[str] = []
    tree = build(query, Catalog(session), tuple(f"c{place}" for place in range(width)), said)
    text = resolve(render(tree), lambda _version, leaf: exp.table_(str(leaf))).sql(dialect="spark")
    return session.sql(text), said


def types(frame: DataFrame) -> list[str]:
    return [field.dataType.simpleString() for field in frame.schema.fields]


def rows(frame: DataFrame) -> Counter[object]:
    return Counter(plain(tuple(row)) for row in frame.collect())


def plain(value: Any) -> object:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.12g}")
    if isinstance(value, (list, tuple)):
        return tuple(plain(part) for part in value)
    if isinstance(value, dict):
        return tuple(sorted((key, plain(part)) for key, part in value.items()))
    return value


@pytest.mark.parametrize("query", EXACT)
def test_the_tree_of_a_query_gives_the_rows_of_its_text(session: SparkSession, query: str) -> None:
    text = session.sql(query)
    tree, said = of_the_tree(session, query, len(text.columns))
    assert types(tree) == types(text)
    assert rows(tree) == rows(text)
    assert not said


@pytest.mark.parametrize("query", OPEN)
def test_a_completed_query_has_the_types_of_its_text_and_always_the_same_rows(
    session: SparkSession, query: str
) -> None:
    text = session.sql(query)
    tree, said = of_the_tree(session, query, len(text.columns))
    assert types(tree) == types(text)
    assert rows(tree) == rows(tree)
    assert said


def test_every_aggregate_and_generator_of_spark_is_known(session: SparkSession) -> None:
    jvm: Any = session._jvm
    catalog = session._jsparkSession.sessionState().catalog()
    groups: dict[str, set[str]] = {}
    for (name,) in session.sql("SHOW SYSTEM FUNCTIONS").collect():
        found = catalog.lookupFunctionInfo(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
        groups.setdefault(found.getGroup(), set()).add(name)
    assert groups["agg_funcs"] == ALGEBRAIC | RECOMPUTABLE | COMPLETED | APPROXIMATE | GROUPING
    # What Spark and its words are is asked by nobody who keeps a table.
    assert groups["generator_funcs"] - {"collations", "sql_keywords"} <= GENERATORS
