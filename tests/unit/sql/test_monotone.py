"""In which sources a query is monotone: `m` is the member of a circle, `e` is outside."""

from __future__ import annotations

import pytest

from spark_trickle.names import DEFAULT_NAMESPACE, TableName
from spark_trickle.sql.build import build
from spark_trickle.sql.sources import SourceTable


class Two:
    """Two tables."""

    def resolve(self, parts: tuple[str, ...]) -> SourceTable:
        return SourceTable(TableName(DEFAULT_NAMESPACE, parts[-1]), (("src", "int"), ("dst", "int")))


def obstacle(query: str) -> str | None:
    found: dict[TableName, str] = {}
    build(query, Two(), obstacles=found)
    return found.get(TableName(DEFAULT_NAMESPACE, "m"))


def test_scan_filter_project_is_monotone() -> None:
    assert obstacle("SELECT src + 1 AS x FROM m WHERE dst > 2") is None


def test_join_is_monotone() -> None:
    assert obstacle("SELECT e.src, m.dst FROM e JOIN m ON e.dst = m.src") is None
    assert obstacle("SELECT DISTINCT a.src, b.dst FROM m AS a CROSS JOIN m AS b") is None


def test_aggregate_is_not_monotone() -> None:
    assert obstacle("SELECT src, COUNT(*) AS n FROM m GROUP BY src") == "GROUP BY (line 1, column 43)"
    assert obstacle("SELECT MAX(src) AS n FROM m") == "MAX(...) (line 1, column 8)"


def test_except_is_not_monotone() -> None:
    assert obstacle("SELECT src FROM e EXCEPT SELECT src FROM m") == "the right side of EXCEPT (line 1, column 19)"
    assert obstacle("SELECT src FROM e EXCEPT ALL SELECT src FROM m") == "the right side of EXCEPT (line 1, column 19)"


def test_window_is_not_monotone() -> None:
    found = obstacle("SELECT src, ROW_NUMBER() OVER (PARTITION BY src ORDER BY dst) AS n FROM m")
    assert found is not None
    assert found.startswith("ROW_NUMBER(...) OVER (line 1")


def test_nested_non_monotone_detected() -> None:
    text = """SELECT e.src
FROM e JOIN (SELECT src FROM (SELECT src, COUNT(*) AS n FROM m
  GROUP BY src) AS counted WHERE n > 1) AS many ON e.dst = many.src"""
    assert obstacle(text) == "GROUP BY (line 3, column 12)"


MONOTONE = (
    "SELECT src FROM m GROUP BY src",
    "SELECT src FROM m UNION SELECT src FROM e",
    "SELECT src FROM m UNION ALL SELECT src FROM m",
    "SELECT src FROM e INTERSECT SELECT src FROM m",
    "SELECT src FROM m INTERSECT ALL SELECT src FROM m",
    "(SELECT src FROM m UNION ALL SELECT dst FROM m) EXCEPT ALL SELECT src FROM e",
    "SELECT m.src, e.dst FROM m LEFT JOIN e ON e.src = m.dst",
    "SELECT m.src, e.dst FROM e RIGHT JOIN m ON e.src = m.dst",
    "SELECT e.src, m.dst FROM e LEFT JOIN m ON e.dst = m.src WHERE m.dst > 3",
    "SELECT * FROM e WHERE EXISTS (SELECT 1 FROM m)",
    "SELECT * FROM e WHERE EXISTS (SELECT 1 FROM m WHERE m.src = e.dst)",
    "SELECT * FROM m WHERE src IN (SELECT src FROM m)",
    "SELECT * FROM e WHERE EXISTS (SELECT 1 FROM m WHERE m.src = e.dst) OR src = 1",
    "SELECT * FROM e WHERE src > 1 AND (dst IS NULL OR src IN (SELECT src FROM m) OR dst IN (SELECT dst FROM m))",
    "SELECT a.src FROM e AS a JOIN (SELECT * FROM e WHERE dst = 1 OR src IN (SELECT src FROM m)) AS b ON a.dst = b.src",
    "SELECT * FROM m LEFT ANTI JOIN e ON e.src = m.src",
    "SELECT * FROM m WHERE src NOT IN (SELECT src FROM e)",
    "SELECT m.src, (SELECT MAX(dst) FROM e) AS x FROM m",
    "SELECT m.src, t.n FROM m JOIN (SELECT src, COUNT(*) AS n FROM e GROUP BY src) AS t ON t.src = m.src",
    "SELECT m.src, t.n FROM m JOIN (SELECT src, RANK() OVER (ORDER BY dst) AS n FROM e) AS t ON t.src = m.src",
    "SELECT * FROM m LATERAL VIEW explode(array(1, src)) AS x",
    "WITH RECURSIVE r AS (SELECT src FROM m UNION ALL SELECT e.dst FROM r JOIN e ON r.src = e.src) SELECT * FROM r",
)
REFUSED = (
    ("SELECT * FROM m ORDER BY src LIMIT 3", "LIMIT"),
    ("SELECT e.src, m.dst FROM e LEFT JOIN m ON e.dst = m.src", "LEFT JOIN"),
    ("SELECT e.src, m.dst FROM m FULL JOIN e ON e.dst = m.src", "FULL JOIN"),
    ("SELECT * FROM e WHERE NOT EXISTS (SELECT 1 FROM m WHERE m.src = e.dst)", "NOT EXISTS"),
    ("SELECT * FROM e WHERE NOT EXISTS (SELECT 1 FROM m)", "EXISTS"),
    ("SELECT * FROM e WHERE src NOT IN (SELECT src FROM m)", "NOT IN"),
    ("SELECT * FROM e LEFT ANTI JOIN m ON e.src = m.src", "ANTI JOIN"),
    ("SELECT src, (SELECT MAX(dst) FROM m) AS x FROM e", "MAX"),
    ("SELECT src, (SELECT dst FROM m WHERE m.src = e.src) AS x FROM e", "scalar subquery"),
    ("SELECT src, dst, COUNT(*) AS n FROM m GROUP BY CUBE (src, dst)", "GROUP BY"),
    ("SELECT * FROM (SELECT src FROM m) PIVOT (COUNT(*) FOR src IN (1, 2))", "PIVOT"),
    ("SELECT src, src IN (SELECT src FROM m) AS known FROM e", "IN"),
    ("SELECT * FROM e WHERE NOT EXISTS (SELECT 1 FROM m WHERE m.src = e.dst) OR src = 1", "EXISTS"),
    ("SELECT * FROM e WHERE src NOT IN (SELECT src FROM m) OR src = 1", "IN"),
    ("SELECT * FROM e WHERE src = 1 OR (src IN (SELECT src FROM m)) = (dst > 2)", "IN"),
    ("SELECT * FROM e WHERE CASE WHEN src IN (SELECT src FROM m) THEN dst = 1 ELSE dst = 2 END", "IN"),
    ("SELECT * FROM e WHERE EXISTS (SELECT 1 FROM m) OR src = 1", "EXISTS"),
    (
        "SELECT a.src FROM e AS a LEFT ANTI JOIN (SELECT src, src IN (SELECT src FROM m) OR dst = 1 AS x FROM e) AS b "
        "ON a.src = b.src AND b.x",
        "IN",
    ),
    ("SELECT src FROM (SELECT DISTINCT src, src IN (SELECT src FROM m) AS x FROM e) WHERE x", "IN"),
    ("SELECT x FROM (SELECT src, src IN (SELECT src FROM m) AS x FROM e) WHERE x OR src = 1", "IN"),
    ("SELECT src FROM m WHERE src > 1 UNION ALL SELECT COUNT(*) FROM m", "COUNT"),
)


@pytest.mark.parametrize("query", MONOTONE)
def test_what_only_ever_adds_rows_is_monotone(query: str) -> None:
    assert obstacle(query) is None


@pytest.mark.parametrize(("query", "said"), REFUSED)
def test_what_may_take_rows_away_is_named_with_its_place(query: str, said: str) -> None:
    found = obstacle(query)
    assert found is not None
    assert said in found
    assert "(line 1, column " in found
