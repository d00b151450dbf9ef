"""Where a pipe belongs: to all that is before it inside the same parentheses, whatever that ends with."""

from __future__ import annotations

import pytest

from spark_trickle.errors import SqlError
from spark_trickle.sql.parse import parse_query

READ = {
    "TABLE t |> LEFT JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k) |> WHERE w > 1": (
        "SELECT * FROM (SELECT * FROM (SELECT * FROM t) LEFT JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k) "
        "ON TRUE) WHERE w > 1"
    ),
    "FROM (SELECT a FROM t) |> SELECT a": ("SELECT a FROM (SELECT * FROM (SELECT a FROM t))"),
    "SELECT a FROM t JOIN (SELECT b FROM u) |> WHERE a > 1": (
        "SELECT * FROM (SELECT a FROM t JOIN (SELECT b FROM u) ON TRUE) WHERE a > 1"
    ),
    "SELECT a FROM t WHERE a IN (TABLE u |> SELECT k) |> DROP a": (
        "SELECT * EXCEPT (a) FROM (SELECT a FROM t WHERE a IN (SELECT k FROM (SELECT * FROM u)))"
    ),
    "SELECT a FROM t UNION ALL SELECT b FROM u |> WHERE a > 1": (
        "SELECT * FROM (SELECT a FROM t UNION ALL SELECT b FROM u) WHERE a > 1"
    ),
    "TABLE t |> UNION ALL (SELECT 1) |> AS q": ("SELECT * FROM ((SELECT * FROM t) UNION ALL (SELECT 1)) AS q"),
    "TABLE t |> ORDER BY a |> LIMIT 2 |> ORDER BY b": (
        "SELECT * FROM (SELECT * FROM (SELECT * FROM t) ORDER BY a LIMIT 2) ORDER BY b"
    ),
    "TABLE t |> ORDER BY a |> WHERE b |> LIMIT 2": (
        "SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM t) ORDER BY a) WHERE b) LIMIT 2"
    ),
    "WITH c AS (TABLE t |> SELECT a) TABLE c |> EXTEND 1 AS b": (
        "WITH c AS (SELECT a FROM (SELECT * FROM t)) SELECT *, 1 AS b FROM (SELECT * FROM c)"
    ),
    "TABLE t |> SET a = b, b = a": (
        "SELECT * REPLACE (a AS b) FROM (SELECT * REPLACE (b AS a) FROM (SELECT * FROM t))"
    ),
    "TABLE t |> AGGREGATE SUM(a) AS s GROUP BY b, c + 1 AS d": (
        "SELECT b, c + 1 AS d, SUM(a) AS s FROM (SELECT * FROM t) GROUP BY b, c + 1"
    ),
}


@pytest.mark.parametrize("text", READ)
def test_each_step_is_a_select_over_all_before_it(text: str) -> None:
    assert parse_query(text).sql(dialect="spark") == READ[text]


@pytest.mark.parametrize(
    "text",
    ["TABLE t |> AGGREGATE SUM(a) GROUP BY 1", "TABLE t |> SELECT a FROM u", "TABLE t |> NOTHING", "TABLE t |> SET a"],
)
def test_a_step_that_is_not_known_is_not_read_as_something_else(text: str) -> None:
    with pytest.raises(SqlError):
        parse_query(text)
