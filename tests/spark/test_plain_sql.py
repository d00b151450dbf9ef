"""Plain SQL that would harm a stream table is refused, with what to do instead; what does no harm goes through."""

from __future__ import annotations

import re

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import SchemaChangedError, SqlError, UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import Status
from tests.spark.engines import assert_equals_query, columns, values

REFUSED = {
    "ALTER TABLE st ADD COLUMN x INT": "ALTER STREAM TABLE st AS",
    "ALTER TABLE lake.default.st RENAME COLUMN n TO m": "ALTER STREAM TABLE st AS",
    "ALTER TABLE `st` DROP COLUMN n": "ALTER STREAM TABLE st AS",
    "ALTER TABLE st ALTER COLUMN n FIRST": "ALTER STREAM TABLE st AS",
    "ALTER TABLE st ALTER COLUMN n DROP NOT NULL": "ALTER STREAM TABLE st AS",
    "ALTER TABLE st REPLACE COLUMNS (x INT)": "ALTER STREAM TABLE st AS",
    "ALTER TABLE st ADD PARTITION FIELD k": "for the engine to say",
    "ALTER TABLE st SET TBLPROPERTIES ('a' = 'b', 'trickle.stream-table' = 'c')": "begin with 'trickle.'",
    "ALTER TABLE default.st RENAME TO other": "it cannot be renamed",
    "/* why */ drop table if exists st -- now": "Use DROP STREAM TABLE st",
    "DROP TABLE IDENTIFIER('default' || '.st')": "Use DROP STREAM TABLE st",
    "INSERT INTO st VALUES (1, 1)": "Write to its sources ('orders')",
    "INSERT INTO IDENTIFIER('st') VALUES (1, 1)": "Write to its sources ('orders')",
    "INSERT OVERWRITE default.st SELECT 1, 1": "Write to its sources",
    "INSERT INTO default.st.branch_main VALUES (1, 1)": "Write to its sources",
    "WITH x AS (SELECT 1 AS k, 1 AS n) INSERT INTO st SELECT * FROM x": "Write to its sources",
    "FROM orders INSERT INTO free SELECT k INSERT INTO st SELECT k, 1": "Write to its sources",
    "UPDATE st SET n = 0": "Write to its sources",
    "DELETE FROM st WHERE n = 1": "Write to its sources",
    "MERGE INTO st t USING orders o ON t.k = o.k WHEN MATCHED THEN DELETE": "Write to its sources",
    "TRUNCATE TABLE st": "Write to its sources",
    "CALL lake.system.rollback_to_snapshot(snapshot_id => 1, table => 'default.st')": "Write to its sources",
    "EXECUTE IMMEDIATE 'DELETE FROM ' || 'st'": "Write to its sources",
    "BEGIN IF 1 = 1 THEN SELECT 1; ELSE DELETE FROM st; END IF; END": "Write to its sources",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN DROP TABLE st; END; SELECT 1; END": "Use DROP STREAM TABLE",
    "CREATE OR REPLACE TABLE st (a INT)": "CREATE OR REPLACE STREAM TABLE st AS",
    "REPLACE TABLE st AS SELECT 1 AS a": "CREATE OR REPLACE STREAM TABLE st AS",
    "CREATE OR REPLACE VIEW st AS SELECT 1 AS a": "CREATE OR REPLACE STREAM TABLE st AS",
    "DROP TABLE orders": "'st' reads it. First DROP STREAM TABLE st CASCADE, or ALTER STREAM TABLE st AS",
    "ALTER TABLE orders RENAME TO old_orders": "'orders' cannot be renamed: 'st' reads it",
    "DROP VIEW seen": "'seen' cannot be dropped: 'of_view' reads it",
    "CREATE TABLE trickle_internal.mine (a INT)": "holds internal state",
    "DELETE FROM trickle_internal.default__st__1": "holds internal state",
}


def test_plain_sql_against_a_stream_table_or_its_sources_is_refused_with_what_to_do_instead(engine: Engine) -> None:
    engine.sql(
        "CREATE TABLE orders (k INT, v INT); INSERT INTO orders VALUES (1, 1), (1, 2); CREATE TABLE free (k INT)"
    )
    engine.sql("CREATE TABLE others (a INT); CREATE VIEW seen AS SELECT a FROM others")
    engine.create_stream_table("st", "SELECT k, COUNT(*) AS n FROM orders GROUP BY k", strict=True)
    engine.create_stream_table("of_view", "SELECT a FROM seen")
    before = {table.name: table.published for table in engine.stream_tables()}
    for statement, told in REFUSED.items():
        with pytest.raises(UserError, match=re.escape(told)):
            engine.sql(statement)
    with engine.transaction() as tx:
        for statement, told in REFUSED.items():
            with pytest.raises(UserError, match=re.escape(told)):
                tx.sql(statement)
    with pytest.raises(UserError, match="'orders' cannot be dropped: 'st' reads it"), engine.transaction() as tx:
        tx.spark.sql("DROP TABLE orders")
    with pytest.raises(UserError, match="Use DROP STREAM TABLE st"), engine.transaction() as tx:
        tx.spark.sql("DROP TABLE st")
    assert values(engine, "SELECT * FROM free") == []
    assert {table.name: table.published for table in engine.stream_tables()} == before

    for statement in (
        "ALTER TABLE st SET TBLPROPERTIES ('team' = 'sales')",
        "COMMENT ON TABLE st IS 'counts'",
        "ALTER TABLE st ALTER COLUMN n COMMENT 'how many'",
        "ALTER TABLE st CREATE TAG yesterday",
        "ALTER TABLE st CREATE BRANCH aside",
        "INSERT INTO default.st.branch_aside VALUES (9, 9)",
        "CREATE TABLE IF NOT EXISTS st (a INT)",
        "ALTER TABLE orders ADD COLUMN note STRING",
        "INSERT INTO orders VALUES (2, 1, 'x')",
        "CREATE NAMESPACE elsewhere",
        "CREATE TABLE elsewhere.st AS SELECT * FROM st",
        "USE elsewhere",
        "ALTER TABLE st RENAME TO st2; DROP TABLE st2",
        "USE default",
        "ALTER TABLE free RENAME TO freed; DROP TABLE freed",
    ):
        engine.sql(statement)
    with pytest.raises(SqlError, match=r"already exists|ALREADY_EXISTS"):
        engine.sql("CREATE TABLE st (a INT)")
    with pytest.raises(SqlError, match="the statement is not valid"):
        engine.sql("DROP TABEL st")
    outcome = engine.refresh_stream_table("st")
    assert (outcome.action, outcome.rows_inserted) == (Action.DIFFERENTIAL, 1), "none of that harms it"
    assert_equals_query(engine, "st")
    assert columns(engine, "st") == [("k", "int"), ("n", "bigint")]


def test_immediate_tables_follow_scripts_and_texts_that_are_run(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); CREATE TABLE u (a INT)")
    engine.create_stream_table("counted", "SELECT COUNT(*) AS n FROM t", refresh_mode="IMMEDIATE")
    engine.sql("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (1)'")
    assert values(engine, "SELECT n FROM counted") == [(1,)]
    engine.sql("EXECUTE IMMEDIATE 'INSERT INTO t ' || 'VALUES (2)'")
    assert values(engine, "SELECT n FROM counted") == [(2,)]
    answer = engine.sql(
        """
        BEGIN
          DECLARE i INT DEFAULT 0;
          WHILE i < 3 DO
            IF i % 2 = 0 THEN INSERT INTO t VALUES (i); ELSE INSERT INTO u VALUES (i); END IF;
            SET i = i + 1;
          END WHILE;
          SELECT CASE WHEN COUNT(*) = 4 THEN 'four; all' ELSE 'other' END AS told FROM t;
        END;
        INSERT INTO t VALUES (9)
        """
    )
    assert answer.collect() == []
    assert values(engine, "SELECT n FROM counted") == [(5,)]
    assert values(engine, "SELECT a FROM u") == [(1,)]
    assert [row.told for row in engine.sql("BEGIN SELECT 'a; b' AS told; END").collect()] == ["a; b"]
    with pytest.raises(UserError, match="known only when it runs"):
        engine.sql("BEGIN DECLARE s STRING DEFAULT 'DROP TABLE t PURGE'; EXECUTE IMMEDIATE s; END")
    assert engine.refresh_stream_table("counted").action is Action.NO_DATA
    assert_equals_query(engine, "counted")


def test_what_is_done_to_stream_tables_from_elsewhere_is_noticed_told_and_repaired(engine: Engine) -> None:
    elsewhere = engine.spark.sql
    engine.sql("CREATE TABLE orders (k INT, v INT); INSERT INTO orders VALUES (1, 1), (1, 2), (2, 5)")
    grouped = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM orders GROUP BY k"
    done = {
        "added": ("ALTER TABLE {t} ADD COLUMN x INT", "column 'x' was added"),
        "renamed": ("ALTER TABLE {t} RENAME COLUMN n TO m", "column 'n' was renamed to 'm'"),
        "moved": ("ALTER TABLE {t} ALTER COLUMN s FIRST", "its columns were put in another order"),
        "lost": ("ALTER TABLE {t} DROP COLUMN s", "column 's' was dropped"),
        "gone": ("DROP TABLE {t}", "the table was dropped by somebody"),
    }
    for name in (*done, "said", "away"):
        engine.create_stream_table(name, grouped)
    engine.create_stream_table("wary", grouped, strict=True)
    most = engine.create_stream_table("most", f"SELECT MAX(n) AS n FROM ({grouped})")
    for name, (statement, _) in done.items():
        elsewhere(statement.format(t=name))
    elsewhere("ALTER TABLE said ALTER COLUMN n COMMENT 'how many'")
    elsewhere("ALTER TABLE wary ADD COLUMN x INT")
    elsewhere(f"ALTER TABLE {most.internal_tables[0].sql} ADD COLUMN x INT")
    elsewhere("ALTER TABLE away RENAME TO far")
    assert "'added' was changed since its last refresh" in str(engine.why("added"))
    assert "its internal state" in str(engine.why("most"))
    assert "'gone' was dropped by somebody: the next refresh makes it again" in str(engine.why("gone"))
    assert "ALTER TABLE far RENAME TO away puts it back" in str(engine.why("away"))
    assert not engine.verify("added") and "k, n, s, x" in engine.verify("added").sample[0]
    with pytest.raises(UserError, match="the table of 'gone' is gone"):
        engine.verify("gone")

    first = engine.refresh_stream_table("added")
    assert (first.action, first.reason) == (
        Action.REINITIALIZE,
        "the table was altered directly: column 'x' was added",
    ), "though no source has changed"
    elsewhere("INSERT INTO orders VALUES (3, 3)")
    for name in ("added", "said"):
        assert engine.refresh_stream_table(name).action is Action.DIFFERENTIAL
    report = {each.name: each for each in engine.tick().refreshed}
    for name, (_, told) in done.items():
        if name != "added":
            assert report[name].action is Action.REINITIALIZE and told in str(report[name].reason)
            assert engine.history(name)[0].reason == report[name].reason
        assert columns(engine, name) == [("k", "int"), ("n", "bigint"), ("s", "bigint")]
        assert_equals_query(engine, name)
    assert "internal state" in str(report["most"].reason) and "'x' was added" in str(report["most"].reason)
    states = {table.name: table.status for table in engine.status()}
    assert (states["wary"], states["away"], states["added"]) == (Status.ERROR, Status.ERROR, Status.ACTIVE)
    assert "column 'x' was added" in str(engine.why("wary")) and "mode='FULL'" in str(engine.why("wary"))
    for name in ("wary", "away"):
        engine.resume_stream_table(name)
    with pytest.raises(SchemaChangedError, match="'away' was renamed to 'far' by plain SQL"):
        engine.refresh_stream_table("away", mode="FULL")
    elsewhere("ALTER TABLE far RENAME TO away")
    assert engine.refresh_stream_table("away").action is Action.DIFFERENTIAL
    assert engine.refresh_stream_table("wary", mode="FULL").action is Action.FULL
    assert columns(engine, "wary") == columns(engine, "away")

    elsewhere("ALTER TABLE orders RENAME TO old")
    assert "its source 'orders' was renamed to 'old'" in str(engine.why("wary"))
    with pytest.raises(SchemaChangedError, match="source 'orders' of 'wary' was renamed to 'old'"):
        engine.refresh_stream_table("wary")
    elsewhere("DROP TABLE old")
    assert "its source 'orders' does not exist" in str(engine.why("wary"))
    assert "no longer exists" in engine.tick().failed[0].error
    assert "'orders' of 'moved' no longer exists" in str(engine.why("moved"))
