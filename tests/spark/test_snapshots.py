"""Consistent reads of several tables, and the changes between two versions of one."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import NotFoundError, UserError
from tests.spark.engines import assert_equals_query, bag, values


def test_a_snapshot_stays_where_it_was_while_writers_go_on(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); CREATE VIEW v AS SELECT a + 1 AS b FROM t")
    engine.create_stream_table("counted", "SELECT COUNT(*) AS n FROM t")
    with engine.snapshot(["t", "counted", "v"]) as snap:
        engine.sql("INSERT INTO t VALUES (3); DELETE FROM t WHERE a = 1")
        engine.sql("INSERT INTO t VALUES (4), (5)")
        engine.refresh_stream_table("counted")
        engine.sql("CREATE OR REPLACE VIEW v AS SELECT 0 AS b")
        assert values(engine, "SELECT n FROM counted") == [(4,)]
        assert bag(snap.table("t")) == {"[1]": 1, "[2]": 1}
        assert bag(snap.sql("SELECT n, (SELECT COUNT(*) FROM default.t) AS m FROM lake.default.counted")) == {
            "[2, 2]": 1
        }
        assert bag(snap.sql("SELECT b FROM v")) == {"[2]": 1, "[3]": 1}
        for statement in ("INSERT INTO t VALUES (9)", "DROP TABLE t", "CREATE TABLE x (a INT)"):
            with pytest.raises(UserError, match="for reading"):
                snap.sql(statement)
    with pytest.raises(UserError, match="not open"):
        snap.table("t")
    with pytest.raises(NotFoundError, match="'nowhere'"):
        engine.snapshot(["t", "nowhere"])
    assert values(engine, "SELECT * FROM t") == [(2,), (3,), (4,), (5,)]
    assert_equals_query(engine, "counted")


def test_changes_between_two_snapshots_carry_weights(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT, b STRING); INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, 'y')")
    engine.sql("UPDATE t SET b = 'z' WHERE a = 2")
    engine.sql("DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (3, NULL), (3, NULL)")
    snapshots = [
        row[0] for row in engine.sql("SELECT snapshot_id FROM default.t.snapshots ORDER BY committed_at").collect()
    ]

    def changes(since: int | None, until: int | None) -> dict[tuple[object, ...], int]:
        found: dict[tuple[object, ...], int] = {}
        for *row, weight in engine.changes("t", since, until).collect():
            found[tuple(row)] = found.get(tuple(row), 0) + weight
        return found

    assert engine.changes("t").columns == ["a", "b", "_weight"]
    assert changes(None, snapshots[0]) == {(1, "x"): 2, (2, "y"): 1}
    assert changes(snapshots[0], snapshots[1]) == {(2, "y"): -1, (2, "z"): 1}
    assert changes(snapshots[1], None) == {(1, "x"): -2, (3, None): 2}
    assert changes(snapshots[-1], None) == {}
    assert changes(None, None) == {(2, "z"): 1, (3, None): 2}
    with pytest.raises(UserError, match="has no snapshot 7"):
        engine.changes("t", since=7)
    with pytest.raises(NotFoundError):
        engine.changes("nowhere")
