"""Stream tables as users meet them: made, refreshed, read, verified, explained."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import (
    NotDifferentialError,
    NotFoundError,
    SchemaChangedError,
    SqlError,
    SuspendedError,
    UserError,
)
from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.model.stream_table import RefreshMode, Status
from tests.spark.engines import assert_equals_query, columns, rows, values

TOTALS = "SELECT region, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY region"


def with_orders(engine: Engine) -> None:
    engine.sql(
        "CREATE TABLE orders (id INT, region STRING, amount DECIMAL(12,2));"
        "INSERT INTO orders VALUES (1, 'north', 10.50), (2, 'south', 20), (3, NULL, 1), (4, 'north', 2)"
    )


def test_a_stream_table_is_kept_by_differential_refreshes_and_says_what_each_did(engine: Engine) -> None:
    with_orders(engine)
    made = engine.create_stream_table("totals", TOTALS)
    assert (made.status, made.effective_mode, made.notices) == (Status.ACTIVE, RefreshMode.DIFFERENTIAL, ())
    assert columns(engine, "totals") == [("region", "string"), ("total", "decimal(22,2)"), ("n", "bigint")]
    assert_equals_query(engine, "totals")

    idle = engine.refresh_stream_table("totals")
    assert (idle.action, idle.status, idle.mode) == (Action.NO_DATA, Outcome.COMPLETED, "NO_DATA")
    assert idle.jobs == 0

    engine.sql(
        "INSERT INTO orders VALUES (5, 'east', 7); UPDATE orders SET amount = 0 WHERE id = 1;"
        "DELETE FROM orders WHERE region = 'south'"
    )
    changed = engine.refresh_stream_table("totals")
    assert (changed.action, changed.mode, changed.reason) == (Action.DIFFERENTIAL, "DIFFERENTIAL", None)
    # east appears, south goes, north is replaced.
    assert (changed.rows_inserted, changed.rows_deleted) == (2, 2)
    head = engine.spark.sql(
        "SELECT snapshot_id FROM default.orders.snapshots ORDER BY committed_at DESC LIMIT 1"
    ).first()
    assert head is not None
    assert changed.frontier["orders"] == head[0]
    assert changed.duration_ms > 0
    assert_equals_query(engine, "totals")

    engine.sql("INSERT INTO orders VALUES (9, 'east', 1); DELETE FROM orders WHERE id = 9")
    nothing = engine.refresh_stream_table("totals")
    assert (nothing.action, nothing.rows_inserted, nothing.rows_deleted) == (Action.NO_DATA, 0, 0)
    assert nothing.frontier != changed.frontier

    history = engine.history("totals")
    assert [(row.action, row.mode) for row in history] == [
        (Action.NO_DATA, nothing.mode),
        (Action.DIFFERENTIAL, "DIFFERENTIAL"),
        (Action.NO_DATA, "NO_DATA"),
        (Action.FULL, "FULL"),
    ]
    assert [row.initiated_by for row in history] == ["MANUAL", "MANUAL", "MANUAL", "INITIAL"]
    assert [row.epoch for row in history] == [2, 2, 1, 1]
    assert history[3].reason == "first refresh"
    assert history[1].frontier == changed.frontier
    assert len(engine.history("totals", limit=2)) == 2


def test_stream_tables_over_stream_tables_are_refreshed_at_one_cut(engine: Engine) -> None:
    with_orders(engine)
    engine.create_stream_table("totals", TOTALS)
    engine.create_stream_table("large", "SELECT region, total FROM totals WHERE total > 5")
    engine.create_stream_table("joined", "SELECT o.id, t.total FROM orders o JOIN totals t ON o.region = t.region")
    engine.sql("INSERT INTO orders VALUES (5, 'east', 70), (6, 'south', 1)")

    outcomes = engine.refresh_stream_tables(["joined", "large", "totals"])
    assert [outcome.name for outcome in outcomes] == ["totals", "joined", "large"]
    assert {outcome.action for outcome in outcomes} == {Action.DIFFERENTIAL}
    for name in ("totals", "large", "joined"):
        assert_equals_query(engine, name)
    newest = engine.history(limit=3)
    assert len({row.cut for row in newest}) == 1
    assert {row.group for row in newest} == {"totals,joined,large"}

    engine.sql("DELETE FROM orders WHERE region = 'east'")
    engine.refresh_stream_table("large")
    assert values(engine, "SELECT region FROM large WHERE region = 'east'") == [("east",)], "only it was asked for"
    outcome = engine.refresh_stream_table("large", upstream=True)
    assert (outcome.name, outcome.action) == ("large", Action.DIFFERENTIAL)
    assert_equals_query(engine, "large")
    assert_equals_query(engine, "totals")
    assert engine.dependency_tree("large").splitlines() == ["large", "└─ totals", "   └─ orders (table)"]
    assert "flowchart" in engine.graph("mermaid")

    with pytest.raises(NotFoundError, match="'nobody'"):
        engine.refresh_stream_tables(["totals", "nobody"])
    with pytest.raises(UserError, match="no stream table is named"):
        engine.refresh_stream_tables([])


def test_odd_names_and_reserved_words_are_only_names(engine: Engine) -> None:
    engine.sql(
        "CREATE NAMESPACE `select`; CREATE NAMESPACE `deep`; CREATE NAMESPACE `deep`.`er one`;"
        "CREATE TABLE `select`.`from-where` (`order` INT, `a b` STRING, `Größe` DOUBLE, `x``y` INT);"
        "INSERT INTO `select`.`from-where` VALUES (1, 'x', 1.5, 1), (1, 'x', 1.5, 1), (2, NULL, NULL, NULL);"
        "CREATE TABLE `deep`.`er one`.`t.1` (`order` INT, `group` STRING);"
        "INSERT INTO `deep`.`er one`.`t.1` VALUES (1, 'one'), (2, 'two')"
    )
    query = (
        "SELECT f.`order`, f.`a b`, f.`Größe`, f.`x``y`, d.`group` AS `select`, 1 AS `ends with space ` "
        "FROM `select`.`from-where` f JOIN `deep`.`er one`.`t.1` d ON f.`order` = d.`order`"
    )
    name = "`select`.`the table`"
    engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL")
    grouped = "SELECT `a b`, MIN(`order`) AS `min`, COUNT(*) AS `count` FROM `select`.`the table` GROUP BY `a b`"
    engine.create_stream_table("deep.`er one`.`ünïcode 'q\"`", grouped, refresh_mode="DIFFERENTIAL")
    engine.sql(
        "DELETE FROM `select`.`from-where` WHERE `order` = 2; INSERT INTO `select`.`from-where` VALUES (2, 'z', 3, 4);"
        "UPDATE `deep`.`er one`.`t.1` SET `group` = 'eins' WHERE `order` = 1"
    )
    outcomes = engine.refresh_stream_tables([name, "deep.`er one`.`ünïcode 'q\"`"])
    assert {outcome.action for outcome in outcomes} == {Action.DIFFERENTIAL}
    for table in engine.stream_tables():
        assert_equals_query(engine, str(table.name))
    assert engine.status(name).sources == ("deep.er one.`t.1`", "select.from-where")
    assert engine.drop_stream_table(name, cascade=True) == ("select.the table", "deep.er one.`ünïcode 'q\"`")


def test_a_table_that_somebody_else_wrote_to_is_noticed_and_rebuilt(engine: Engine) -> None:
    with_orders(engine)
    engine.create_stream_table("totals", TOTALS)
    engine.create_stream_table("copy", "SELECT id, region FROM orders")
    engine.create_stream_table("wary", "SELECT id FROM orders", strict=True)

    engine.spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'default.copy', options => map('rewrite-all','true'))"
    )
    engine.spark.sql("INSERT INTO totals VALUES ('nowhere', 1, 1)")
    engine.spark.sql("DELETE FROM wary WHERE id = 1")

    spoiled = engine.verify("totals")
    assert not spoiled and (spoiled.missing_rows, spoiled.unexpected_rows) == (0, 1)
    assert spoiled.sample[0].startswith("- ") and "nowhere" in spoiled.sample[0]
    assert engine.verify("wary").missing_rows == 1

    untouched = engine.refresh_stream_table("copy")
    assert untouched.action is Action.NO_DATA, "compaction changes no rows"
    rebuilt = engine.refresh_stream_table("totals")
    assert rebuilt.action is Action.REINITIALIZE
    assert "written to directly" in str(rebuilt.reason)
    assert engine.history("totals")[0].reason == rebuilt.reason
    assert_equals_query(engine, "totals")

    with pytest.raises(NotDifferentialError, match="written to directly"):
        engine.refresh_stream_table("wary")
    assert engine.history("wary")[0].status is Outcome.FAILED
    assert engine.verify("wary").missing_rows == 1, "nothing was published"
    assert engine.refresh_stream_table("wary", mode="FULL").action is Action.FULL
    assert_equals_query(engine, "wary")


def test_verify_counts_missing_and_unexpected_copies(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (1), (1), (2)")
    engine.create_stream_table("copy", "SELECT a FROM t")
    engine.spark.sql("INSERT OVERWRITE copy VALUES (1), (2), (2), (3)")
    found = engine.verify("copy")
    assert (found.ok, found.missing_rows, found.unexpected_rows) == (False, 2, 2)
    assert {line[0] for line in found.sample} == {"+", "-"}
    with pytest.raises(NotFoundError):
        engine.verify("t")


def test_sources_that_changed_beyond_recognition_lead_to_a_rebuild_that_says_why(engine: Engine) -> None:
    """Scenario D-11: columns that go, come again and are renamed."""
    with_orders(engine)
    engine.create_stream_table("totals", TOTALS)
    engine.create_stream_table("wary", "SELECT id, amount FROM orders", strict=True)

    engine.sql("INSERT INTO orders VALUES (5, 'east', 1)")
    engine.spark.sql(
        "CALL lake.system.expire_snapshots(table => 'default.orders', retain_last => 1, older_than => now())"
    )
    with pytest.raises(NotDifferentialError, match="expired"):
        engine.refresh_stream_table("wary")
    expired = engine.refresh_stream_table("totals")
    assert expired.action is Action.REINITIALIZE and "expired" in str(expired.reason)
    engine.refresh_stream_table("wary", mode="FULL")

    engine.sql("ALTER TABLE orders ADD COLUMN note STRING")
    engine.sql("INSERT INTO orders VALUES (6, 'east', 2, 'x')")
    assert engine.refresh_stream_table("totals").action is Action.DIFFERENTIAL, "it does not read the new column"

    engine.sql("ALTER TABLE orders DROP COLUMN amount; ALTER TABLE orders ADD COLUMN amount DECIMAL(12,2)")
    with pytest.raises(NotDifferentialError, match="amount"):
        engine.refresh_stream_table("wary")
    other_column = engine.refresh_stream_table("totals")
    assert other_column.action is Action.REINITIALIZE and "amount" in str(other_column.reason)
    assert_equals_query(engine, "totals")

    engine.spark.sql("DROP TABLE orders")
    with pytest.raises(SchemaChangedError, match="'orders' of 'totals' no longer exists"):
        engine.refresh_stream_table("totals")
    assert "orders" in str(engine.why("totals"))
    with_orders(engine)
    recreated = engine.refresh_stream_table("totals")
    assert recreated.action is Action.REINITIALIZE and "'orders'" in str(recreated.reason)
    assert_equals_query(engine, "totals")

    engine.sql("ALTER TABLE orders RENAME COLUMN amount TO price")
    with pytest.raises(SchemaChangedError, match="'totals' no longer fits its sources") as caught:
        engine.refresh_stream_table("totals")
    assert "amount" in str(caught.value)
    assert engine.history("totals")[0].status is Outcome.FAILED


def test_views_are_inlined_and_a_redefinition_is_followed(engine: Engine) -> None:
    """Scenario D-11: views."""
    with_orders(engine)
    engine.sql("CREATE TABLE others (id INT, region STRING); INSERT INTO others VALUES (100, 'moon')")
    engine.sql("CREATE VIEW seen AS SELECT id, region FROM orders WHERE id < 4")
    engine.sql("CREATE VIEW seen_again AS SELECT * FROM seen")
    made = engine.create_stream_table("copy", "SELECT region, COUNT(*) AS n FROM seen_again GROUP BY region")
    assert {(str(s.table), s.kind) for s in made.sources} == {
        ("orders", "TABLE"),
        ("seen", "VIEW"),
        ("seen_again", "VIEW"),
    }
    engine.sql("INSERT INTO orders VALUES (0, 'north', 1), (8, 'north', 1)")
    assert engine.refresh_stream_table("copy").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "copy")

    engine.sql("CREATE OR REPLACE VIEW seen AS SELECT id, region FROM orders UNION ALL SELECT id, region FROM others")
    followed = engine.refresh_stream_table("copy")
    assert (followed.action, followed.reason) == (Action.REINITIALIZE, "view 'seen' was redefined")
    assert_equals_query(engine, "copy")
    assert "others" in engine.status("copy").sources

    engine.sql("INSERT INTO others VALUES (101, 'moon'), (102, 'sun')")
    assert engine.refresh_stream_table("copy").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "copy")


def test_status_explain_and_why_tell_how_and_whether_it_is_kept(engine: Engine) -> None:
    with_orders(engine)
    engine.create_stream_table("base", "SELECT id, region, amount FROM orders WHERE amount > 1")
    engine.create_stream_table(
        "later", "SELECT region, SUM(amount) AS total FROM base GROUP BY region", initialize=False
    )
    status = engine.status("later")
    assert (status.status, status.populated, status.sources) == (Status.INITIALIZING, False, ("base",))
    assert rows(engine, "SELECT * FROM later") == {}
    assert not engine.why("later").refreshing
    assert "refresh_stream_table('later')" in str(engine.why("later"))
    with pytest.raises(UserError, match="has not been loaded yet"):
        engine.verify("later")
    first = engine.refresh_stream_table("later")
    assert (first.action, first.reason) == (Action.FULL, "first refresh")
    assert_equals_query(engine, "later")
    assert engine.why("later").refreshing

    explained = engine.explain("later")
    assert (explained.mode, explained.sources) == (RefreshMode.DIFFERENTIAL, ("base",))
    assert "Aggregate" in explained.tree and "_weight" in explained.delta_sql
    assert dict(explained.frontier) == dict(first.frontier)

    engine.suspend_stream_table("base")
    with pytest.raises(SuspendedError, match="resume_stream_table"):
        engine.refresh_stream_table("base")
    with pytest.raises(SuspendedError):
        engine.refresh_stream_table("later", upstream=True)
    answer = engine.why("later")
    assert not answer.refreshing and "'base' is suspended" in str(answer)
    assert engine.resume_stream_table("base").status is Status.ACTIVE
    assert engine.refresh_stream_table("base").action is Action.NO_DATA
    assert [each.name for each in engine.status()] == ["base", "later"]


def test_explain_query_suggests_and_creates_nothing(engine: Engine) -> None:
    with_orders(engine)
    before = rows(engine, "SHOW TABLES")
    kept = engine.explain_query(TOTALS)
    assert kept.mode is RefreshMode.DIFFERENTIAL and kept.suggestion is None
    assert kept.sources == ("orders",) and kept.delta_sql
    cannot = engine.explain_query("SELECT id FROM orders\nORDER BY id LIMIT length('ab')")
    assert cannot.mode is RefreshMode.FULL
    assert "line 2" in str(cannot.reason) and cannot.suggestion
    assert cannot.suggestion in str(cannot)
    with pytest.raises(SqlError, match="nowhere"):
        engine.explain_query("SELECT 1 FROM nowhere")
    assert rows(engine, "SHOW TABLES") == before and engine.status() == []


def test_a_table_that_only_an_unread_with_names_changes_nothing(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT); CREATE TABLE u (b INT); CREATE TABLE v (e INT)")
    engine.sql("INSERT INTO t VALUES (1); INSERT INTO u VALUES (1); INSERT INTO v VALUES (1)")
    engine.create_stream_table("one", "WITH d AS (SELECT a FROM t) SELECT b FROM u", strict=True)
    engine.create_stream_table("pairs", "WITH d AS (SELECT a FROM t) SELECT b, e FROM v CROSS JOIN u", strict=True)
    for statement in ("DELETE FROM t; DELETE FROM u", "INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (3)"):
        engine.sql(statement)
        for name in ("one", "pairs"):
            assert engine.refresh_stream_table(name).action in (Action.DIFFERENTIAL, Action.NO_DATA)
            assert_equals_query(engine, name)
