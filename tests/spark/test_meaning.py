"""What a query means is pinned with its definition: namespace, time zone, ANSI and the other settings of its session.

A user's statements run with the user's own session state, and nothing of a user's session is changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import SqlError, StreamTableError, UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode
from tests.spark.engines import opened, values

BY_DAY = "SELECT CAST(at AS DATE) AS day, COUNT(*) AS n FROM events GROUP BY CAST(at AS DATE)"


@pytest.fixture
def events(engine: Engine) -> Engine:
    engine.sql("CREATE TABLE events (id INT, at TIMESTAMP, text STRING)")
    engine.sql("INSERT INTO events VALUES (1, TIMESTAMP '2024-05-01T23:30:00Z', '7'), (2, NULL, '8')")
    return engine


def test_the_time_zone_of_whoever_refreshes_changes_nothing(events: Engine) -> None:
    events.create_stream_table("days", BY_DAY, strict=True)
    events.create_stream_table("live", BY_DAY, refresh_mode="IMMEDIATE")
    events.sql("SET TIME ZONE 'Asia/Tokyo'")
    events.create_stream_table("tokyo_days", BY_DAY, strict=True)
    for number in (3, 4, 5):
        # The last one is written in yet another zone, inside a transaction.
        with events.transaction() as tx:
            tx.sql("SET TIME ZONE 'America/Los_Angeles'")
            tx.sql(f"INSERT INTO events VALUES ({number}, TIMESTAMP '2024-05-02T23:{number}0:00Z', '9')")
            if number == 5:
                tx.sql("DELETE FROM events WHERE id = 1")
        for name in ("days", "tokyo_days"):
            assert events.refresh_stream_table(name).action is Action.DIFFERENTIAL
        assert all(events.verify(name).ok for name in ("days", "tokyo_days", "live"))
    shown = "SELECT CAST(day AS STRING), n FROM {} WHERE day IS NOT NULL"
    assert values(events, shown.format("days")) == [("2024-05-02", 3)]
    assert values(events, shown.format("live")) == [("2024-05-02", 3)]
    assert values(events, shown.format("tokyo_days")) == [("2024-05-03", 3)]
    assert "session.timeZone = UTC" in events.explain("days").meaning
    assert "session.timeZone = Asia/Tokyo" in str(events.explain("tokyo_days"))
    assert values(events, "SELECT current_timezone()") == [("Asia/Tokyo",)]


SETTINGS = {
    "spark.sql.ansi.enabled": ("false", "SELECT id, CAST(text AS INT) AS n FROM events"),
    "spark.sql.mapKeyDedupPolicy": (
        "LAST_WIN",
        "SELECT id, map_from_arrays(array(1, 1), array('a', text)) AS m FROM events",
    ),
    "spark.sql.decimalOperations.allowPrecisionLoss": (
        "false",
        "SELECT id, CAST(id AS DECIMAL(38,10)) * CAST(2 AS DECIMAL(38,10)) AS d FROM events",
    ),
    "spark.sql.legacy.timeParserPolicy": ("LEGACY", "SELECT id, to_date(CAST(id AS STRING), 'd') AS d FROM events"),
    "spark.sql.caseSensitive": ("true", "SELECT id, text AS ID2 FROM events"),
    "spark.sql.groupByOrdinal": ("false", "SELECT MAX(id) AS m FROM events GROUP BY 1"),
    "spark.sql.timestampType": ("TIMESTAMP_NTZ", "SELECT id, CAST('2024-01-01' AS TIMESTAMP) AS t FROM events"),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("true", 'SELECT "id", text FROM events'),
}
"""Settings that change what a query means: a value that is not Spark's own, and a query that tells the difference."""


def test_each_setting_that_changes_meaning_is_kept_with_the_definition(events: Engine) -> None:
    wanted = {}
    for place, (key, (value, query)) in enumerate(SETTINGS.items()):
        events.spark.conf.set(key, value)
        made = events.create_stream_table(f"s{place}", query)
        assert (key, value) in made.meaning.settings
        wanted[f"s{place}"] = key
        events.spark.conf.unset(key)
    events.sql("INSERT INTO events VALUES (3, NULL, 'no number'), (4, NULL, NULL)")
    for name, key in wanted.items():
        assert events.refresh_stream_table(name).action in (Action.DIFFERENTIAL, Action.FULL)
        value, query = SETTINGS[key]
        events.spark.conf.set(key, value)
        assert values(events, f"SELECT * FROM {name}") == values(events, query), key
        events.spark.conf.unset(key)
        assert events.verify(name).ok, key
    assert events.explain("s0").mode is RefreshMode.DIFFERENTIAL
    kept = {SETTINGS_NAME: events.explain(name) for name, SETTINGS_NAME in wanted.items()}
    for key in ("spark.sql.caseSensitive", "spark.sql.groupByOrdinal", "spark.sql.timestampType"):
        assert kept[key].mode is RefreshMode.FULL
        assert key in (kept[key].reason or "")


def test_only_a_new_definition_changes_the_meaning(events: Engine) -> None:
    events.create_stream_table("days", BY_DAY)
    events.sql("SET TIME ZONE 'Asia/Tokyo'")
    events.alter_stream_table("days", schedule="9m")
    assert ("spark.sql.session.timeZone", "UTC") in events.stream_tables()[0].meaning.settings
    altered = events.alter_stream_table("days", query=BY_DAY)
    assert ("spark.sql.session.timeZone", "Asia/Tokyo") in altered.meaning.settings
    assert events.verify("days").ok
    assert values(events, "SELECT CAST(day AS STRING) FROM days WHERE day IS NOT NULL") == [("2024-05-02",)]


def test_names_mean_what_they_mean_in_the_current_namespace(engine: Engine) -> None:
    engine.sql("CREATE NAMESPACE other; CREATE TABLE t (a INT); CREATE TABLE other.t (a INT)")
    engine.sql("INSERT INTO t VALUES (1); INSERT INTO other.t VALUES (20)")
    engine.create_stream_table("live", "SELECT a FROM t", refresh_mode="IMMEDIATE")
    engine.sql("USE lake.other")
    engine.sql("CREATE STREAM TABLE x AS SELECT a + 1 AS b FROM t")
    engine.sql("INSERT INTO t VALUES (30)")
    engine.sql("DELETE FROM t WHERE a = 20")
    assert values(engine, "SELECT * FROM lake.default.t") == [(1,)]
    assert values(engine, "SELECT * FROM t") == [(30,)]
    with engine.transaction() as tx:
        tx.sql("INSERT INTO t VALUES (40)")
        tx.write(engine.spark.sql("SELECT 50 AS a"), "t")
        assert tx.table("t").count() == 3
        tx.gate_source("t")
    assert [(gate.schema_name, gate.source_table) for gate in engine.source_gates()] == [("other", "t")]
    engine.ungate_source("t")
    engine.sql("USE lake.default")
    assert engine.refresh_stream_table("other.x").action is Action.DIFFERENTIAL
    assert values(engine, "SELECT * FROM other.x") == [(31,), (41,), (51,)]
    assert engine.verify("other.x").ok and engine.verify("live").ok
    with pytest.raises(UserError, match="'x' does not exist"):
        engine.refresh_stream_table("x")
    assert engine.status("other.x").name == "other.x"


def test_what_users_made_in_their_session_is_there_when_immediate_tables_follow(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT, s STRING); INSERT INTO t VALUES (1, 'x')")
    engine.create_stream_table("live", "SELECT COUNT(*) AS n FROM t", refresh_mode="IMMEDIATE")
    engine.sql("CREATE TEMPORARY VIEW fresh AS SELECT 2 AS a, 'y' AS s")
    engine.spark.createDataFrame([(3, "z")], "a int, s string").createOrReplaceTempView("framed")
    engine.sql("DECLARE VARIABLE wanted INT DEFAULT 4")
    engine.sql("CREATE TEMPORARY FUNCTION twenty() RETURNS INT RETURN 20")
    engine.spark.conf.set("spark.sql.ansi.enabled", "false")
    # A view that is named like what a stream table reads is the user's business, not the stream table's.
    engine.sql("CREATE TEMPORARY VIEW `t2` AS SELECT 1")
    engine.sql("INSERT INTO t SELECT * FROM fresh")
    engine.sql("INSERT INTO t SELECT * FROM framed")
    engine.sql("INSERT INTO t SELECT twenty() + wanted, CAST(1 / 0 AS STRING)")
    engine.sql("SET VAR wanted = 9; INSERT INTO t VALUES (wanted, NULL)")
    assert values(engine, "SELECT a FROM lake.default.t") == [(1,), (2,), (24,), (3,), (9,)]
    assert values(engine, "SELECT * FROM live") == [(5,)]
    assert engine.verify("live").ok


def test_a_session_that_was_given_stays_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    mine = spark.newSession()
    mine.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    mine.sql("CREATE TEMPORARY VIEW ours AS SELECT 5 AS a")
    before = (mine.catalog.currentCatalog(), mine.catalog.currentDatabase(), dict(mine.conf.getAll))
    with spark_trickle.connect(str(tmp_path / "lake"), spark=mine) as engine:
        mine.udf.register("later", lambda n: n + 1, "int")
        engine.sql("CREATE NAMESPACE other; USE other; SET spark.sql.ansi.enabled = false")
        engine.sql("CREATE TABLE t AS SELECT * FROM ours")
        made = engine.create_stream_table("st", "SELECT later(a) AS b FROM t")
        assert ("spark.sql.session.timeZone", "Asia/Kolkata") in made.meaning.settings
        assert values(engine, "SELECT * FROM st") == [(6,)]
        assert (mine.catalog.currentCatalog(), mine.catalog.currentDatabase(), dict(mine.conf.getAll)) == before
    assert (mine.catalog.currentCatalog(), mine.catalog.currentDatabase(), dict(mine.conf.getAll)) == before
    with opened(spark, tmp_path / "lake") as again:
        again.sql("INSERT INTO other.t VALUES (7)")
        with pytest.raises(StreamTableError, match="later"):
            again.refresh_stream_table("other.st")


STATEMENTS = (
    "DROP TABLE t PURGE",
    "INSERT INTO t VALUES (9)",
    "WITH x AS (SELECT 9 AS a) INSERT INTO t SELECT a FROM x",
    "FROM t INSERT INTO t SELECT a INSERT INTO t SELECT a + 1",
    "EXECUTE IMMEDIATE 'INSERT INTO t VALUES (9)'",
    "BEGIN INSERT INTO t VALUES (9); END",
    "CALL lake.system.rollback_to_snapshot('default.t', 1)",
    "MERGE INTO t USING t AS s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "CREATE TABLE u AS SELECT 1",
    "EXPLAIN SELECT 1",
    "SHOW TABLES",
    "SET x = 1",
    "SELECT 1; DROP TABLE t",
)


def test_nothing_but_a_query_is_ever_run_as_one(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    engine.create_stream_table("ok", "SELECT a FROM t")
    for text in STATEMENTS:
        for attempt in (
            lambda text=text: engine.explain_query(text),
            lambda text=text: engine.create_stream_table("x", text),
            lambda text=text: engine.create_stream_table("x", text, refresh_mode="FULL", initialize=False),
            lambda text=text: engine.alter_stream_table("ok", query=text),
        ):
            with pytest.raises(SqlError):
                attempt()
    assert values(engine, "SELECT * FROM t") == [(1,)]
    assert [str(table.name) for table in engine.stream_tables()] == ["ok"]
    assert values(engine, "SHOW TABLES") == [("default", "ok", False), ("default", "t", False)]
