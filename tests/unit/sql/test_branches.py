"""What is left of a query without the branches that read some tables."""

from __future__ import annotations

import pytest

from spark_trickle.sql.branches import named, without


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("SELECT a FROM s UNION SELECT b FROM m", "SELECT a FROM s"),
        ("SELECT b AS x FROM m UNION ALL SELECT a FROM s", "SELECT * FROM (SELECT a FROM s) AS branch(`x`)"),
        (
            "SELECT a FROM s UNION ALL (SELECT b FROM m UNION SELECT c FROM t)",
            "SELECT a FROM s UNION ALL SELECT * FROM (SELECT c FROM t) AS branch(`b`)",
        ),
        ("SELECT a FROM s JOIN m ON s.a = m.b", None),
        (
            "SELECT a FROM s WHERE a IN (SELECT b FROM m) UNION SELECT a FROM s",
            "SELECT * FROM (SELECT a FROM s) AS branch(`a`)",
        ),
        (
            "WITH c AS (SELECT b FROM m), d AS (SELECT a FROM s) SELECT a FROM d UNION SELECT b FROM c",
            "WITH d AS (SELECT a FROM s) SELECT a FROM d",
        ),
        ("WITH m AS (SELECT 1 AS a) SELECT a FROM m", "WITH m AS (SELECT 1 AS a) SELECT a FROM m"),
        ("SELECT a FROM lake.other.m", "SELECT a FROM lake.other.m"),
    ],
)
def test_branches_that_read_a_name_are_left_out(query: str, left: str | None) -> None:
    assert without(query, lambda parts: parts == ("m",)) == left


def test_the_names_of_tables_are_told_and_those_of_with_are_not() -> None:
    assert named("WITH c AS (SELECT * FROM a.b) SELECT * FROM c JOIN d ON EXISTS (SELECT 1 FROM `e f`)") == {
        ("a", "b"),
        ("d",),
        ("e f",),
    }
    assert named("this is not SQL") == frozenset()
