"""The same on PostgreSQL: create, refresh, transaction, conflict, on a real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.errors import ConflictError, HasDependentsError, NotConvergedError, StreamTableError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import Status
from tests.spark.engines import assert_equals_query, values


def test_stream_tables_transactions_and_conflicts_on_postgresql(
    spark: SparkSession, postgres_url: str, tmp_path: Path
) -> None:
    with spark_trickle.connect(str(tmp_path), catalog=postgres_url, spark=spark.newSession()) as engine:
        engine.sql("CREATE TABLE t (k INT, v DECIMAL(10,2)); INSERT INTO t VALUES (1, 1.5), (1, 2), (2, NULL)")
        engine.sql("CREATE TABLE log (k INT)")
        engine.create_stream_table("sums", "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k")
        engine.create_stream_table("above", "SELECT k FROM sums WHERE s > 3", strict=True)
        engine.create_stream_table("logged", "SELECT COUNT(*) AS n FROM log", refresh_mode="IMMEDIATE")
        engine.sql("UPDATE t SET v = 9 WHERE k = 2; INSERT INTO t VALUES (3, 4); DELETE FROM t WHERE v = 2")
        outcomes = engine.refresh_stream_tables(["sums", "above"])
        assert {outcome.action for outcome in outcomes} == {Action.DIFFERENTIAL}
        assert_equals_query(engine, "sums")
        assert_equals_query(engine, "above")

        with engine.transaction() as tx:
            tx.sql("INSERT INTO log VALUES (1), (2)")
            tx.sql("DELETE FROM t WHERE k = 3")
            assert values(engine, "SELECT n FROM logged") == [(0,)]
        assert values(engine, "SELECT n FROM logged") == [(2,)]
        assert engine.spark.table("t").count() == 2

        with pytest.raises(ConflictError), engine.transaction() as tx:
            tx.sql("INSERT INTO log VALUES (3)")
            tx.sql("DELETE FROM t")
            engine.spark.sql("INSERT INTO t VALUES (7, 7)")
        assert engine.spark.table("log").count() == 2
        assert values(engine, "SELECT n FROM logged") == [(2,)]

        assert engine.refresh_stream_table("above", upstream=True).action is Action.DIFFERENTIAL
        assert_equals_query(engine, "above")
        assert [row.action for row in engine.history("sums", limit=2)] == [Action.DIFFERENTIAL, Action.DIFFERENTIAL]
        with pytest.raises(HasDependentsError):
            engine.drop_stream_table("sums")
        assert engine.drop_stream_table("sums", cascade=True) == ("sums", "above")


def test_the_password_may_be_in_a_password_file_for_both_sides(
    spark: SparkSession, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server asks for one, of Python and of Java."""
    file = tmp_path / "pgpass"
    file.write_text("127.0.0.1:*:*:trickle:secret\n")
    file.chmod(0o600)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(file))
    lake, bare = str(tmp_path / "lake"), postgres_url.replace(":secret@", "@")
    with spark_trickle.connect(lake, catalog=bare, spark=spark.newSession()) as engine:
        engine.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (1)")
        engine.create_stream_table("sums", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
        engine.sql("INSERT INTO t VALUES (1)")
        assert engine.refresh_stream_table("sums").action is Action.DIFFERENTIAL
        assert_equals_query(engine, "sums")
    wrong = postgres_url.replace(":secret@", ":s3/cr%3Ft@")
    with pytest.raises(StreamTableError) as refused:
        spark_trickle.connect(lake, catalog=wrong, spark=spark.newSession())
    assert "password authentication failed" in str(refused.value) and "s3/" not in f"{refused.value!r} {refused.value}"


def test_a_circle_on_postgresql_is_published_whole_goes_both_ways_and_starts_over(
    spark: SparkSession, postgres_url: str, tmp_path: Path
) -> None:
    with spark_trickle.connect(
        str(tmp_path), catalog=postgres_url, spark=spark.newSession(), allow_circular=True, max_fixpoint_iterations=6
    ) as engine:
        engine.sql("CREATE TABLE edges (src INT, dst INT); INSERT INTO edges VALUES (1, 2), (2, 3), (3, 1), (NULL, 1)")
        engine.create_stream_tables(
            {
                "far": "SELECT DISTINCT e.src, n.dst FROM edges e JOIN near n ON e.dst = n.src",
                "near": "SELECT src, dst FROM edges UNION SELECT f.src, e.dst FROM far f JOIN edges e ON f.dst = e.src",
            },
            strict=True,
        )
        every = [(a, b) for a in (1, 2, 3, None) for b in (1, 2, 3)]
        assert values(engine, "SELECT * FROM near") == sorted(every, key=repr)
        engine.sql("DELETE FROM edges WHERE src = 3")
        outcomes = {each.name: each for each in engine.refresh_stream_tables(["near"])}
        assert {each.action for each in outcomes.values()} == {Action.DIFFERENTIAL} and outcomes.keys() == {
            "near",
            "far",
        }
        assert values(engine, "SELECT * FROM near") == [(1, 2), (2, 3), (None, 1), (None, 3)]
        (circle,) = engine.scc_status()
        assert set(circle.members) == {"near", "far"} and circle.last_iterations
        assert len({row.epoch for row in engine.history(limit=2)}) == 1
        # Too many rounds: nothing of it is published; with less to do it goes on.
        engine.sql("INSERT INTO edges SELECT id, id + 1 FROM range(10, 60)")
        with pytest.raises(NotConvergedError):
            engine.refresh_stream_table("far")
        assert len(values(engine, "SELECT * FROM near")) == 4
        assert {engine.status(name).status for name in ("near", "far")} == {Status.ERROR}
        engine.sql("DELETE FROM edges WHERE src >= 10")
        for name in ("near", "far"):
            engine.resume_stream_table(name)
        engine.refresh_stream_table("far")
        assert len(values(engine, "SELECT * FROM near")) == 4
        assert engine.verify("near").ok and engine.verify("far").ok
