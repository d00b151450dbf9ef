"""Fuses with real tables: counted from metadata, rewritten files, transactions, the three ways out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import FuseBlownError
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, opened, values


@pytest.fixture
def engine(engine: Engine) -> Engine:
    engine.sql(
        "CREATE TABLE orders (id BIGINT, region STRING, amount INT);"
        "INSERT INTO orders SELECT id, IF(id % 2 = 0, 'eu', 'us'), 1 FROM range(1000)"
    )
    return engine


TOTALS = "SELECT region, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY region"


def test_a_change_is_counted_before_anything_is_computed(engine: Engine) -> None:
    engine.create_stream_table("totals", TOTALS, fuse="on", fuse_ceiling=100)
    engine.create_stream_table("free", TOTALS)
    # Rewritten files: by metadata a thousand rows were deleted and as many inserted, and one was changed.
    engine.sql("UPDATE orders SET amount = 2 WHERE id = 1")
    assert engine.refresh_stream_table("totals").action is Action.DIFFERENTIAL
    # So does a compaction, which changes nothing.
    engine.sql("CALL lake.system.rewrite_data_files(table => 'default.orders', options => map('rewrite-all', 'true'))")
    assert engine.refresh_stream_table("totals").action is Action.NO_DATA
    engine.sql("DELETE FROM orders WHERE id < 300")
    with pytest.raises(FuseBlownError) as refused:
        engine.refresh_stream_table("totals")
    assert (
        "'totals' is not refreshed: its fuse has blown: 300 changed rows are pending (300 of them deleted), and its "
        "ceiling is 100" in str(refused.value)
    )
    assert values(engine, "SELECT SUM(n) FROM totals") == [(1000,)]
    assert engine.refresh_stream_table("free").action is not Action.SKIP, "others go on"
    assert engine.status("totals").fuse == "blown"
    assert "the fuse of 'totals' has blown" in str(engine.why("totals"))
    assert engine.tick(now=datetime.now(UTC) + timedelta(minutes=1)).skipped[0].codes == ("fuse",)
    engine.sql("CALL trickle.reset_fuse('totals', action => 'apply')")
    assert engine.refresh_stream_table("totals").action is Action.DIFFERENTIAL
    for name in ("totals", "free"):
        assert_equals_query(engine, name)
    states = {row.stream_table: row.fuse_state for row in engine.sql("CALL trickle.fuse_status()").collect()}
    assert states == {"totals": "armed", "free": "disabled"}


def test_skipped_changes_are_told_until_it_is_rebuilt_and_later_ones_are_taken_in(engine: Engine) -> None:
    """Aggregates, plain rows and a join: what comes later may touch what was skipped, and must not break them."""
    engine.sql("CREATE TABLE names (region STRING, label STRING); INSERT INTO names VALUES ('eu', 'E'), ('us', 'U')")
    fused = {"fuse": "on", "fuse_ceiling": 100, "strict": True}
    queries = {
        "totals": TOTALS,
        "plain": "SELECT id, amount FROM orders WHERE amount < 100",
        "joined": "SELECT id, label FROM orders JOIN names USING (region)",
        "kinds": "SELECT DISTINCT amount FROM orders",
    }
    for name, query in queries.items():
        engine.create_stream_table(name, query, **fused)  # type: ignore[arg-type]
    engine.sql("INSERT INTO orders SELECT id, 'eu', 7 FROM range(1000, 1200)")
    for name in queries:
        with pytest.raises(FuseBlownError, match="200 changed rows are pending"):
            engine.refresh_stream_table(name)
        engine.reset_fuse(name, "skip_changes")
    assert engine.refresh_stream_table("plain").action is Action.NO_DATA
    assert values(engine, "SELECT COUNT(*) FROM plain") == [(1000,)]
    # Deletes of rows that were skipped, of some that were not, and new ones, over three refreshes.
    for statement in (
        "DELETE FROM orders WHERE id BETWEEN 1150 AND 1160",
        "DELETE FROM orders WHERE id < 10 OR id BETWEEN 1000 AND 1020",
        "INSERT INTO orders VALUES (5000, 'us', 3), (5001, 'eu', 7)",
    ):
        engine.sql(statement)
        for name in queries:
            outcome = engine.refresh_stream_table(name)
            assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), (name, outcome)
    found = set(values(engine, "SELECT id FROM plain"))
    assert (5000,) in found and (5,) not in found and (20,) in found
    for name in queries:
        checked = engine.verify(name)
        assert checked.diverged is not None and "had 200 changed rows skipped" in checked.diverged
        assert "diverged: it has not equalled its query since" in str(engine.explain(name))
        assert engine.status(name).diverged == checked.diverged
        assert engine.refresh_stream_table(name, mode="FULL").action is Action.FULL
        assert engine.status(name).diverged is None and engine.verify(name).diverged is None
        assert_equals_query(engine, name)


@pytest.mark.parametrize("here", [0, 100_000], ids=["as jobs", "here"])
def test_who_reads_what_had_changes_skipped_follows_what_it_holds(
    spark: SparkSession, tmp_path: Path, here: int
) -> None:
    """In one unit the change is handed on. Rows that were skipped go without having been there: nobody above may be
    told that they went."""
    below = {
        "plain": "SELECT id, amount FROM orders WHERE amount < 100",
        "joined": "SELECT id, label, amount FROM orders JOIN names USING (region)",
        "kinds": "SELECT DISTINCT amount, id % 10 AS last FROM orders",
        "totals": TOTALS,
    }
    above = {
        "all_of_it": "SELECT (SELECT SUM(amount) FROM plain) AS one, (SELECT COUNT(*) FROM joined) AS other",
        "by_label": "SELECT label, SUM(amount) AS total, COUNT(*) AS n FROM joined GROUP BY label",
        "beside": "SELECT p.id, k.last FROM plain AS p JOIN kinds AS k ON p.amount = k.amount AND p.id % 10 = k.last",
        "most": "SELECT MAX(total) AS most, SUM(n) AS n FROM totals",
    }
    with opened(spark, tmp_path, local_query_rows=here) as engine:
        engine.sql("CREATE TABLE orders (id BIGINT, region STRING, amount INT)")
        engine.sql("CREATE TABLE names (region STRING, label STRING)")
        engine.sql("INSERT INTO orders SELECT id, IF(id % 2 = 0, 'eu', 'us'), id % 5 FROM range(100)")
        engine.sql("INSERT INTO names VALUES ('eu', 'E'), ('us', 'U')")
        for name, query in below.items():
            engine.create_stream_table(name, query, fuse="on", fuse_ceiling=50, strict=True)
        for name, query in above.items():
            engine.create_stream_table(name, query, strict=True)
        engine.sql("INSERT INTO orders SELECT id, 'eu', 7 FROM range(1000, 1200)")
        for name in below:
            with pytest.raises(FuseBlownError):
                engine.refresh_stream_table(name)
            engine.reset_fuse(name, "skip_changes")
        for statement in (
            "DELETE FROM orders WHERE id BETWEEN 1150 AND 1170 OR id = 3; INSERT INTO orders VALUES (2000, 'us', 1)",
            "DELETE FROM orders WHERE id BETWEEN 1000 AND 1030",
            "INSERT INTO orders VALUES (1001, 'eu', 7), (2001, 'eu', 9); DELETE FROM orders WHERE id IN (1100, 5)",
        ):
            engine.sql(statement)
            outcomes = engine.refresh_stream_tables([*below, *above])
            assert {outcome.action for outcome in outcomes} <= {Action.DIFFERENTIAL, Action.NO_DATA}
            for name in above:
                assert_equals_query(engine, name)


def test_a_transaction_whose_immediate_stream_table_would_blow_is_rolled_back(engine: Engine) -> None:
    engine.create_stream_table("live", TOTALS, refresh_mode="IMMEDIATE", fuse="on", fuse_ceiling=100)
    engine.sql("INSERT INTO orders VALUES (2000, 'eu', 1)")
    with pytest.raises(FuseBlownError, match="1,001 changed rows are pending"):
        engine.sql("DELETE FROM orders")
    with pytest.raises(FuseBlownError, match="1,001 changed rows"), engine.transaction() as tx:
        tx.sql("DELETE FROM orders")
    # Of two that follow each other the second one's counts as well; gates and watermarks are rolled back, too.
    engine.create_stream_table("above", "SELECT total FROM live", refresh_mode="IMMEDIATE", fuse="on", fuse_ceiling=1)
    with pytest.raises(FuseBlownError, match="'above' is not refreshed"), engine.transaction() as tx:
        tx.sql("INSERT INTO orders VALUES (3000, 'eu', 1)")
        tx.gate_source("orders")
        tx.advance_watermark("orders", "2026-03-01T12:00:00Z")
    assert not engine.source_gates() and not engine.watermarks()
    engine.drop_stream_table("above")
    assert engine.spark.table("orders").count() == 1001
    assert engine.status("live").fuse == "armed", "nothing is pending: it never happened"
    engine.sql("INSERT INTO orders VALUES (2001, 'us', 1)")
    assert_equals_query(engine, "live")
    engine.alter_stream_table("live", fuse="off")
    engine.sql("DELETE FROM orders")
    assert_equals_query(engine, "live")


def test_a_source_that_was_made_again_waits_for_somebody_to_look(engine: Engine) -> None:
    engine.create_stream_table("totals", TOTALS, fuse="auto", schedule="1s")
    engine.spark.sql("DROP TABLE orders")
    engine.spark.sql("CREATE TABLE orders (id BIGINT, region STRING, amount INT)")
    (skipped,) = engine.tick(now=datetime.now(UTC) + timedelta(minutes=1)).skipped
    assert "how much has changed cannot be told: 'orders' was dropped and made again" in skipped.reason
    assert values(engine, "SELECT SUM(n) FROM totals") == [(1000,)], "the last contents stay"
    engine.reset_fuse("totals", "reinitialize")
    (outcome,) = engine.tick(now=datetime.now(UTC) + timedelta(minutes=2)).refreshed
    assert outcome.action is Action.REINITIALIZE
    assert_equals_query(engine, "totals")
