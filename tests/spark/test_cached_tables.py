"""Tables that users keep in memory are as new as what was published to them, whoever published it."""

from __future__ import annotations

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, values


def test_what_is_cached_is_read_anew_after_whatever_publishes(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
    engine.create_stream_table("groups", "SELECT a, COUNT(*) AS n FROM t GROUP BY a", strict=True)
    engine.create_stream_table("whole", "SELECT SUM(a) AS s FROM t", refresh_mode="FULL")
    engine.create_stream_table("live", "SELECT COUNT(*) AS n FROM t", refresh_mode="IMMEDIATE")
    engine.sql("CACHE TABLE t; CACHE TABLE groups; CACHE TABLE live; CACHE TABLE told AS SELECT SUM(a) AS s FROM t")
    try:
        assert values(engine, "SELECT * FROM live") == [(2,)]
        engine.sql("INSERT INTO t VALUES (3), (3)")
        assert values(engine, "SELECT COUNT(*) FROM t") == [(4,)]
        assert values(engine, "SELECT * FROM told") == [(9,)]
        assert values(engine, "SELECT * FROM live") == [(4,)]
        assert engine.refresh_stream_table("groups").action is Action.DIFFERENTIAL
        assert values(engine, "SELECT * FROM groups") == [(1, 1), (2, 1), (3, 2)]
        with engine.transaction() as tx:
            tx.sql("DELETE FROM t WHERE a = 3")
            assert [row[0] for row in tx.sql("SELECT COUNT(*) FROM t").collect()] == [2]
            assert values(engine, "SELECT COUNT(*) FROM t") == [(4,)]
        assert values(engine, "SELECT COUNT(*) FROM t") == [(2,)]
        engine.spark.sql("INSERT INTO t VALUES (7)")
        assert {each.name for each in engine.tick().refreshed} >= {"live"}
        for name in ("groups", "whole", "live"):
            engine.refresh_stream_table(name)
            assert_equals_query(engine, name)
        engine.alter_stream_table("groups", query="SELECT a AS b FROM t")
        assert values(engine, "SELECT * FROM groups") == [(1,), (2,), (7,)]
    finally:
        engine.sql("UNCACHE TABLE told; CLEAR CACHE")
