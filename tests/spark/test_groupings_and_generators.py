"""Grouping sets, pivots, generators and completed aggregates as stream tables: made, changed, refreshed, verified."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode

QUERIES = {
    "cube": "SELECT g, h, SUM(n) AS s, GROUPING_ID() AS i FROM facts GROUP BY CUBE (g, h)",
    "spread": "SELECT * FROM (SELECT g, h, n FROM facts) PIVOT (COUNT(n), SUM(n) FOR g IN ('a', 'b'))",
    "unfolded": "SELECT x, COUNT(*) AS c, SUM(price) AS p FROM facts LATERAL VIEW explode(xs) t AS x GROUP BY x",
    "decided": "SELECT g, first(n) AS f, collect_list(h) AS l, listagg(h, ',') AS t, max_by(h, n) AS m FROM facts "
    "GROUP BY g",
    "once": "SELECT g, COUNT(DISTINCT h) AS c, SUM(cost) AS s, COUNT(*) AS n FROM facts GROUP BY g",
}


@pytest.fixture
def facts(engine: Engine) -> Engine:
    engine.sql(
        "CREATE TABLE facts (g STRING, h STRING, n INT, price DOUBLE, cost DECIMAL(10,2), xs ARRAY<INT>);"
        "INSERT INTO facts VALUES ('a', 'p', 1, 0.5, 1.5, array(1, 2)), ('a', 'q', 1, 1e16, 2.5, array(2)), "
        "('b', 'p', 3, 1, 1, array()), (NULL, 'q', NULL, NULL, NULL, NULL)"
    )
    return engine


def test_they_are_kept_differentially_and_verified(facts: Engine) -> None:
    for name, query in QUERIES.items():
        made = facts.create_stream_table(name, query)
        assert made.effective_mode is RefreshMode.DIFFERENTIAL, name
    said = " ".join(facts.create_stream_table("again", QUERIES["decided"]).notices)
    assert "first(n) may have several answers" in said
    facts.sql(
        "INSERT INTO facts VALUES ('a', 'r', 5, -1e16, 0.5, array(1, 9)), ('b', 'p', 3, 2, 1, array(9));"
        "DELETE FROM facts WHERE g IS NULL; UPDATE facts SET h = 'z' WHERE g = 'a' AND h = 'q'"
    )
    for name in QUERIES:
        assert facts.refresh_stream_table(name).action is Action.DIFFERENTIAL, name
        assert facts.verify(name).ok, name
