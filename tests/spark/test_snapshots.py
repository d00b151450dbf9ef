"""Consistent reads of several tables, and the changes between two versions of one."""

from __future__ import annotations

import gc
import time

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import ComputeError, NotFoundError, UserError
from spark_trickle.storage.iceberg import static
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


def test_maintenance_keeps_what_open_blocks_read_and_versions_that_others_took_away_are_told(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (1), (1), (2)")
    engine.create_stream_table("counted", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    engine.create_stream_table("doomed", "SELECT k FROM t")

    def moved(key: int) -> None:
        engine.sql(f"UPDATE t SET k = {key} WHERE k = (SELECT MAX(k) FROM t)")
        engine.refresh_stream_table("counted")

    def expired_by_others() -> None:
        moved(max(row.k for row in engine.spark.table("t").collect()) + 1)
        engine.spark.sql(
            "CALL lake.system.expire_snapshots(table => 'default.counted', retain_last => 1, "
            "older_than => TIMESTAMP '2100-01-01 00:00:00')"
        )

    with engine.transaction() as tx, engine.snapshot(["counted", "doomed"]) as snap:
        lazy = snap.table("counted")
        tx.sql("CREATE TABLE staged AS SELECT k FROM counted")
        moved(3)
        moved(4)
        assert engine.drop_stream_table("doomed") == ("doomed",)
        assert engine.maintain(retain="0s", orphan_age="0s", compact_files=1).abandoned_files == 0
        for frame in (lazy, snap.sql("SELECT * FROM counted"), tx.sql("SELECT * FROM counted")):
            assert bag(frame) == {"[1, 2]": 1, "[2, 1]": 1}
        assert bag(snap.table("doomed")) == {"[1]": 2, "[2]": 1}
    assert values(engine, "SELECT * FROM staged") == [(1,), (2,)]
    freed = engine.maintain(retain="0s", orphan_age="0s")
    assert freed.abandoned_files > 0 and freed.tables[0].snapshots_expired > 0, "nobody reads them any more"

    told = "files of the versions that the {} reads are gone"
    with pytest.raises(ComputeError, match=told.format("snapshot")), engine.snapshot(["counted"]) as snap:
        lazy = snap.table("counted")
        expired_by_others()
        lazy.collect()
    with pytest.raises(ComputeError, match=told.format("transaction")), engine.transaction() as tx:
        expired_by_others()
        tx.sql("INSERT INTO staged SELECT k FROM counted")
    assert values(engine, "SELECT * FROM staged") == [(1,), (2,)]
    assert_equals_query(engine, "counted")

    engine.create_stream_table("most", "SELECT MAX(n) AS n FROM counted")
    expired_by_others()
    with pytest.raises(ComputeError, match=told.format("verification of 'most'")) as raised:
        engine.verify("most")
    assert "refresh_stream_table('most') computes it" in str(raised.value.hint)
    engine.refresh_stream_table("most")
    assert_equals_query(engine, "most")


def test_maintenance_keeps_what_frames_of_changes_read_for_as_long_as_somebody_can_run_them(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (1), (2)")
    engine.create_stream_table("kept", "SELECT k FROM t")

    def newest() -> int:
        found = engine.spark.sql("SELECT snapshot_id FROM default.kept.snapshots ORDER BY committed_at").collect()
        return int(found[-1].snapshot_id)

    def became(statement: str) -> int:
        engine.sql(statement)
        engine.refresh_stream_table("kept")
        return newest()

    since = newest()
    until = became("UPDATE t SET k = 5 WHERE k = 1")
    became("DELETE FROM t")
    last = became("INSERT INTO t VALUES (7)")
    removed = engine.changes("kept", since, until).where("_weight < 0")
    engine.changes("kept", last, last)  # nothing is read: nothing is kept
    gc.collect()
    engine.maintain(retain="0s", orphan_age="0s")
    assert values(engine, "SELECT COUNT(*) FROM default.kept.snapshots") == [(4,)], "the way to the newest one is, too"
    assert bag(removed) == {"[1, -1]": 1}

    def forgotten() -> int:
        gc.collect()
        static(engine.spark, "java.lang.System").gc()
        return engine.maintain(retain="0s", orphan_age="0s").tables[0].snapshots_expired

    assert forgotten() == 0
    removed.createTempView("removed")
    del removed
    for _ in range(6):  # what Python let go of is let go of in the JVM a little later
        time.sleep(0.5)
        assert forgotten() == 0
    assert values(engine, "SELECT k FROM removed") == [(1,)]
    engine.spark.catalog.dropTempView("removed")
    give_up = time.monotonic() + 60
    while (expired := forgotten()) == 0 and time.monotonic() < give_up:
        time.sleep(0.2)
    assert expired == 3, "nobody can run it any more"
