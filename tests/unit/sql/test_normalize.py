"""When two texts are the same query."""

from __future__ import annotations

import pytest

from spark_trickle.sql.normalize import normalized

QUERY = "SELECT a, sum(b) AS s FROM t WHERE c = 'X' GROUP BY a"


@pytest.mark.parametrize(
    "other",
    [
        "select a,\n  SUM(b) as s\nfrom t where c='X' group by a;",
        "SELECT a, sum( b ) AS s /* total */ FROM t -- all\nWHERE c = 'X' GROUP BY a",
        "SELECT `a`, sum(b) AS s FROM t WHERE c = 'X' GROUP BY a",
    ],
)
def test_layout_comments_and_case_of_keywords_do_not_count(other: str) -> None:
    assert normalized(other) == normalized(QUERY)


@pytest.mark.parametrize(
    "other",
    [
        QUERY.replace("'X'", "'x'"),
        QUERY.replace("'X'", "X"),
        QUERY.replace("AS s", "AS S"),
        QUERY.replace("sum", "max"),
        QUERY.replace("c = 'X'", "c = 'X' AND TRUE"),
    ],
)
def test_everything_else_does(other: str) -> None:
    assert normalized(other) != normalized(QUERY)
