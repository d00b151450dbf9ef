"""Transactions: several writes appear together or not at all, with the IMMEDIATE stream tables that follow them."""

from __future__ import annotations

import threading

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import ConflictError, SqlError, UserError
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, bag, rows, values


class Stop(Exception):
    """Ends a transaction from inside."""


def with_accounts(engine: Engine) -> None:
    engine.sql(
        "CREATE TABLE accounts (id INT, amount INT) TBLPROPERTIES ('write.wap.enabled' = 'true');"
        "CREATE TABLE moves (id INT, amount INT);"
        "INSERT INTO accounts VALUES (1, 100), (2, 50), (3, 0)"
    )


def test_writes_of_every_kind_stay_inside_until_the_end_and_then_appear_together(engine: Engine) -> None:
    with_accounts(engine)
    engine.sql("CREATE TABLE gone (a INT); CREATE TABLE emptied (a INT); INSERT INTO emptied VALUES (1), (2)")

    def outside() -> object:
        tables = sorted(row.tableName for row in engine.spark.sql("SHOW TABLES").collect())
        contents = [rows(engine, f"SELECT * FROM {name}") for name in ("accounts", "moves", "emptied")]
        return tables, contents, rows(engine, "SHOW NAMESPACES")

    before = outside()
    with engine.transaction() as tx:
        tx.sql("INSERT INTO moves VALUES (1, -10), (2, 10)")
        assert outside() == before
        tx.sql("UPDATE accounts SET amount = amount - 10 WHERE id = 1")
        assert outside() == before
        tx.sql("DELETE FROM accounts WHERE id = 3")
        assert outside() == before
        tx.sql(
            "MERGE INTO accounts a USING (SELECT 2 AS id, 10 AS more UNION ALL SELECT 4, 7) s ON a.id = s.id "
            "WHEN MATCHED THEN UPDATE SET amount = amount + more "
            "WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.more)"
        )
        assert outside() == before
        tx.sql("TRUNCATE TABLE emptied")
        tx.spark.sql("INSERT OVERWRITE emptied VALUES (9)")
        assert outside() == before
        tx.sql("CREATE NAMESPACE side")
        tx.sql("CREATE TABLE side.made AS SELECT id FROM accounts")
        tx.sql("CREATE VIEW side.rich AS SELECT id FROM lake.default.accounts WHERE amount > 50")
        tx.sql("DROP TABLE gone")
        tx.spark.range(2).selectExpr("CAST(id AS INT) AS id", "0 AS amount").writeTo("moves").append()
        tx.spark.range(1).writeTo("written").using("iceberg").create()
        assert outside() == before
        # A frame of the outer session, whose own writes would land outside.
        frame = engine.spark.sql("SELECT 8 AS id, 8 AS amount")
        tx.write(frame, "moves")
        tx.write(engine.spark.range(3), "fresh")
        tx.write(engine.spark.range(1), "fresh", mode="overwrite")
        assert outside() == before
        assert sorted(tuple(row) for row in tx.sql("SELECT * FROM accounts").collect()) == [(1, 90), (2, 60), (4, 7)]
        assert tx.table("moves").count() == 5
    assert values(engine, "SELECT * FROM accounts") == [(1, 90), (2, 60), (4, 7)]
    assert values(engine, "SELECT * FROM moves") == [(0, 0), (1, -10), (1, 0), (2, 10), (8, 8)]
    assert values(engine, "SELECT * FROM emptied") == [(9,)]
    assert values(engine, "SELECT * FROM side.made") == [(1,), (2,), (4,)]
    assert values(engine, "SELECT * FROM side.rich") == [(1,), (2,)]
    assert values(engine, "SELECT * FROM fresh") == [(0,)]
    assert not engine.spark.catalog.tableExists("gone")
    with pytest.raises(UserError, match="not open"):
        tx.sql("SELECT 1")


def test_an_exception_publishes_nothing(engine: Engine) -> None:
    with_accounts(engine)
    engine.create_stream_table("total", "SELECT SUM(amount) AS total FROM accounts", refresh_mode="IMMEDIATE")
    history = engine.history()
    with pytest.raises(Stop), engine.transaction() as tx:
        tx.sql("INSERT INTO moves VALUES (1, 1)")
        tx.sql("DELETE FROM accounts")
        tx.sql("CREATE TABLE made (a INT)")
        raise Stop
    assert engine.spark.table("moves").count() == 0
    assert engine.spark.table("accounts").count() == 3
    assert not engine.spark.catalog.tableExists("made")
    assert engine.history() == history
    with pytest.raises(SqlError, match="nowhere"), engine.transaction() as tx:
        tx.sql("INSERT INTO accounts VALUES (9, 9)")
        tx.sql("SELECT * FROM nowhere")
    assert engine.spark.table("accounts").count() == 3
    for statement in ("DROP TABLE moves PURGE", "CALL lake.system.expire_snapshots('default.accounts')"):
        with pytest.raises(UserError, match="cannot be part of a transaction"), engine.transaction() as tx:
            tx.sql(statement)
    with engine.transaction() as tx:
        tx.sql("SELECT * FROM accounts").collect()
    assert engine.history() == history, "nothing was written, nothing is published"


def test_a_writer_that_was_quicker_wins_and_nothing_of_ours_is_published(engine: Engine) -> None:
    with_accounts(engine)
    with pytest.raises(ConflictError, match="'accounts' was changed by somebody else"), engine.transaction() as tx:
        tx.sql("INSERT INTO moves VALUES (1, 1)")
        tx.sql("UPDATE accounts SET amount = 0")
        engine.spark.sql("INSERT INTO accounts VALUES (7, 7)")
    assert engine.spark.table("moves").count() == 0
    assert values(engine, "SELECT * FROM accounts") == [(1, 100), (2, 50), (3, 0), (7, 7)]
    with pytest.raises(ConflictError), engine.transaction() as tx:
        tx.sql("CREATE TABLE same (a INT)")
        engine.spark.sql("CREATE TABLE same (b STRING)")
    assert engine.spark.table("same").columns == ["b"]
    with engine.transaction() as tx:
        tx.sql("INSERT INTO moves VALUES (1, 1)")
        engine.spark.sql("INSERT INTO accounts VALUES (8, 8)")
    assert engine.spark.table("moves").count() == 1, "writes to other tables are no conflict"


def test_stream_tables_cannot_be_written_in_a_transaction(engine: Engine) -> None:
    with_accounts(engine)
    engine.create_stream_table("copy", "SELECT id, COUNT(*) AS n FROM accounts GROUP BY id")
    for statement in ("INSERT INTO copy VALUES (1, 1)", "DROP TABLE copy", "CREATE OR REPLACE TABLE copy (a INT)"):
        with pytest.raises(UserError, match="'copy' is a stream table"), engine.transaction() as tx:
            tx.sql("INSERT INTO moves VALUES (1, 1)")
            tx.sql(statement)
    assert engine.spark.table("moves").count() == 0
    assert_equals_query(engine, "copy")


def test_immediate_stream_tables_are_published_with_the_writes_cascades_included(engine: Engine) -> None:
    with_accounts(engine)
    joined = "SELECT a.id, a.amount, m.amount AS moved FROM accounts a JOIN moves m ON a.id = m.id"
    engine.create_stream_table("joined", joined, refresh_mode="IMMEDIATE")
    engine.create_stream_table(
        "summed", "SELECT id, SUM(moved) AS moved FROM joined GROUP BY id", refresh_mode="IMMEDIATE"
    )
    engine.create_stream_table("lazy", "SELECT id FROM joined")
    engine.create_stream_table("elsewhere", "SELECT 1 AS one, COUNT(*) AS n FROM accounts", refresh_mode="IMMEDIATE")
    seen: list[tuple[int, int]] = []
    with engine.transaction() as tx:
        tx.sql("INSERT INTO moves VALUES (1, -10), (2, 10)")
        tx.sql("DELETE FROM accounts WHERE id = 2")
        seen.append((engine.spark.table("moves").count(), engine.spark.table("joined").count()))
    assert seen == [(0, 0)]
    assert {(o.name, o.action, o.mode) for o in tx.outcomes} == {
        ("joined", Action.DIFFERENTIAL, "IMMEDIATE"),
        ("summed", Action.DIFFERENTIAL, "IMMEDIATE"),
        ("elsewhere", Action.DIFFERENTIAL, "IMMEDIATE"),
    }
    for name in ("joined", "summed", "elsewhere"):
        assert_equals_query(engine, name)
    assert engine.spark.table("lazy").count() == 0, "only IMMEDIATE ones follow"
    newest = engine.history(limit=3)
    assert {row.initiated_by for row in newest} == {"TRANSACTION"} and len({row.cut for row in newest}) == 1

    # Plain statements are transactions of their own, however they begin.
    for statement in (
        "INSERT INTO moves VALUES (1, 5)",
        "/* a note */ UPDATE accounts SET amount = 1 WHERE id = 1",
        "WITH x AS (SELECT 1 AS id, 2 AS amount) INSERT INTO moves SELECT * FROM x",
        "FROM accounts INSERT INTO moves SELECT id, amount",
    ):
        epoch = engine.status("joined").epoch
        engine.sql(statement)
        assert engine.status("joined").epoch == epoch + 1, statement
        for name in ("joined", "summed"):
            assert_equals_query(engine, name)
    assert values(engine, "WITH x AS (SELECT 1 AS a) SELECT * FROM x") == [(1,)]
    assert engine.sql("SELECT COUNT(*) FROM moves").first() == (6,)
    engine.refresh_stream_table("lazy")
    assert_equals_query(engine, "lazy")


def test_a_reader_never_sees_a_source_without_the_immediate_table_over_it(engine: Engine) -> None:
    with_accounts(engine)
    engine.create_stream_table("counted", "SELECT COUNT(*) AS n FROM moves", refresh_mode="IMMEDIATE")
    differences: list[tuple[int, int]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            with engine.snapshot(["moves", "counted"]) as snap:
                here = snap.table("moves").count()
                counted = snap.sql("SELECT n FROM counted").collect()[0][0]
                if here != counted:
                    differences.append((here, counted))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(4):
            engine.sql(f"INSERT INTO moves VALUES ({number}, 1), ({number}, 2)")
    finally:
        done.set()
        reader.join()
    assert differences == []
    assert_equals_query(engine, "counted")


def test_transactions_in_two_threads_do_not_see_each_other(engine: Engine) -> None:
    with_accounts(engine)
    met = threading.Barrier(2, timeout=120)
    seen: dict[str, int] = {}
    failed: list[BaseException] = []

    def write(table: str) -> None:
        try:
            with engine.transaction() as tx:
                tx.sql(f"INSERT INTO {table} VALUES (50, 50)")
                met.wait()
                other = "moves" if table == "accounts" else "accounts"
                seen[table] = tx.table(other).count()
                met.wait()
        except (Exception, threading.BrokenBarrierError) as err:  # noqa: BLE001  a thread must tell its test
            failed.append(err)

    threads = [threading.Thread(target=write, args=(table,)) for table in ("accounts", "moves")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert seen == {"accounts": 0, "moves": 3}
    assert (engine.spark.table("accounts").count(), engine.spark.table("moves").count()) == (4, 1)
    assert bag(engine.spark.table("moves")) == {"[50, 50]": 1}
