"""Rows of large tables beside a change are looked up, not scanned for; what several read of a change is read once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.spark.execution import filling, relations
from tests.spark.engines import assert_equals_query, opened


def reads_of(engine: Engine, table: str, since: int) -> int:
    """Queries that read a table itself, rather than files that were told to them as changed."""
    plans = [str(query.physicalPlanDescription()) for query in executions(engine) if query.executionId() > since]
    return sum(f"BatchScan lake.default.{table} " in plan and "IcebergStagedScan" not in plan for plan in plans)


def reads_of_changes(engine: Engine, table: str, since: int) -> int:
    """Queries that read files which were told to them as changed in a table."""
    plans = [str(query.physicalPlanDescription()) for query in executions(engine) if query.executionId() > since]
    return sum(f"IcebergStagedScan(table=lake.default.{table}," in plan for plan in plans)


def reads_of_state(engine: Engine, since: int) -> int:
    """Queries that read an internal table."""
    plans = [str(query.physicalPlanDescription()) for query in executions(engine) if query.executionId() > since]
    return sum("BatchScan lake.trickle_internal." in plan and "IcebergStagedScan" not in plan for plan in plans)


def executions(engine: Engine) -> list[Any]:
    state: Any = engine.spark._jsparkSession.sharedState()
    found = state.statusStore().executionsList()
    return [found.apply(i) for i in range(found.size())]


AS_JOBS = {"local_query_rows": 0}
"""What is read is told by Spark's list of executions, in which a query that takes no job is not."""

TABLES = (
    "CREATE TABLE c (ck INT, seg STRING); CREATE TABLE o (ok INT, ck INT, price DECIMAL(10,2), note STRING);"
    "INSERT INTO c SELECT CAST(id AS INT), CONCAT('s', id % 5) FROM RANGE(300);"
    "INSERT INTO o SELECT CAST(id AS INT), CAST(id % 300 AS INT), id / 4, NULL FROM RANGE(3000)"
)
QUERIES = {
    "prices": "SELECT c.seg, SUM(o.price) AS total FROM c JOIN o ON c.ck = o.ck GROUP BY c.seg",
    "rows_of": "SELECT o.ok, c.seg, o.note FROM c JOIN o ON c.ck = o.ck WHERE c.seg <> 's1'",
    "highest": "SELECT c.ck, MAX(o.price) AS top FROM c JOIN o ON o.ck = c.ck WHERE c.seg <> 's2' GROUP BY c.ck",
}
CHANGES = (
    "UPDATE c SET seg = 's3' WHERE ck IN (8, 12); DELETE FROM o WHERE ck = 8 AND ok > 2000;"
    "INSERT INTO o VALUES (9001, 12, 1.50, 'x'), (9001, 12, 1.50, 'x'), (9002, NULL, 2, NULL)",
    "DELETE FROM c WHERE ck IN (7, 12); UPDATE o SET price = price + 1 WHERE ck IN (7, 12, 13)",
)


def together(engine: Engine) -> None:
    for outcome in engine.refresh_stream_tables(list(QUERIES)):
        assert outcome.mode == "DIFFERENTIAL", outcome


def one_by_one(engine: Engine) -> None:
    for name in QUERIES:
        outcome = engine.refresh_stream_table(name)
        assert outcome.mode == "DIFFERENTIAL", outcome


@pytest.mark.parametrize("refresh", [together, one_by_one])
def test_rows_beside_a_change_are_looked_up(
    refresh: Callable[[Engine], None], spark: SparkSession, tmp_path: Path
) -> None:
    """Three stream tables join the same tables by the same key. All are right, also where both tables changed."""
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100) as engine:
        engine.sql(TABLES)
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, strict=True)
        for number, keys in enumerate(("7, 11", "9, 13")):
            engine.sql(f"UPDATE c SET seg = 's9' WHERE ck IN ({keys})")
            last = max(query.executionId() for query in executions(engine))
            refresh(engine)
            assert reads_of(engine, "o", last) == 0
            assert reads_of_changes(engine, "c", last) == 1
            files_read = reads_of_changes(engine, "o", last)
            assert files_read == 0 if number else files_read >= 1, "its rows are brought once"
        for changes in CHANGES:
            engine.sql(changes)
            refresh(engine)
            for name in QUERIES:
                assert_equals_query(engine, name)


LIMITS: dict[str, dict[str, int]] = {
    "kept": {**AS_JOBS, "row_cache_bytes": 1 << 30},
    "no room": {"row_cache_bytes": 20_000},
    "off": {"row_cache_bytes": 0},
}


@pytest.mark.parametrize("limits", LIMITS)
def test_stories_are_right_with_and_without_the_cache(limits: str, spark: SparkSession, tmp_path: Path) -> None:
    """Keys of texts and days, one of them NULL; deleted and loaded again, columns that change, names like ours; the
    folder of the cache is deleted in the middle."""
    story = (
        "INSERT INTO `step` SELECT * FROM VALUES ('k1', DATE'2020-01-02', 1), (NULL, NULL, 2), ('k''1', NULL, 3);"
        "DELETE FROM `o.x` WHERE n % 10 = 1",
        "UPDATE `step` SET v = -v WHERE k IN ('k1', 'k2'); UPDATE `o.x` SET n = n + 1, k = 'k2' WHERE n % 50 = 3",
        "DELETE FROM `step`; DELETE FROM `o.x`",
        "INSERT INTO `step` VALUES ('k1', DATE'9999-12-31', 9), ('', DATE'0001-01-01', 9);"
        "INSERT INTO `o.x` SELECT CONCAT('k', id % 9), DATE'9999-12-31', CAST(id AS INT) FROM RANGE(300);"
        "INSERT INTO `o.x` VALUES ('', DATE'0001-01-01', 1), (NULL, NULL, 1)",
        "ALTER TABLE `o.x` ADD COLUMN later STRING; ALTER TABLE `o.x` ALTER COLUMN n TYPE BIGINT;"
        "INSERT INTO `o.x` VALUES ('k1', NULL, 9000000000, 'x'); UPDATE `step` SET v = 5 WHERE k = 'k1'",
        "ALTER TABLE `o.x` RENAME COLUMN later TO `after`; DELETE FROM `o.x` WHERE n > 290; UPDATE `step` SET v = 6",
    )
    queries = {
        "by_text": "SELECT s.v, o.n, o.d FROM `step` AS s JOIN `o.x` AS o ON s.k = o.k",
        "by_day": "SELECT s.k, SUM(o.n) AS n, MAX(o.k) AS m FROM `step` AS s JOIN `o.x` AS o ON s.d = o.d GROUP BY s.k",
        "without": "SELECT s.k, s.v FROM `step` AS s WHERE NOT EXISTS (SELECT 1 FROM `o.x` AS o WHERE o.n = s.v)",
    }
    with opened(spark, tmp_path, lookup_table_rows=0, held_table_rows=0, **LIMITS[limits]) as engine:
        engine.sql(
            "CREATE TABLE `step` (k STRING, d DATE, v INT); CREATE TABLE `o.x` (k STRING, d DATE, n INT);"
            "INSERT INTO `step` VALUES ('k1', DATE'2020-01-01', 1), ('k2', DATE'2020-01-02', 2), ('k3', NULL, NULL);"
            "INSERT INTO `o.x` SELECT CONCAT('k', id % 9), DATE_ADD(DATE'2020-01-01', CAST(id % 5 AS INT)), "
            "CAST(id AS INT) FROM RANGE(300)"
        )
        for name, query in queries.items():
            engine.create_stream_table(name, query)
        for number, changes in enumerate(story):
            engine.sql(changes)
            last = max(query.executionId() for query in executions(engine))
            for outcome in engine.refresh_stream_tables(list(queries)):
                # A column that is read was widened: that is another meaning.
                expected = (Action.REINITIALIZE,) if number == 4 else (Action.DIFFERENTIAL, Action.NO_DATA)
                assert outcome.action in expected, outcome
            if limits == "kept" and number != 4:
                assert reads_of(engine, "`o.x`", last) == 0
            for name in queries:
                assert_equals_query(engine, name)
            if number == 1:
                shutil.rmtree(tmp_path / ".rows", ignore_errors=True)
        assert (tmp_path / ".rows").is_dir() == (limits != "off")


def test_whoever_comes_after_finds_the_rows_that_were_kept(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100) as engine:
        engine.sql(TABLES)
        engine.create_stream_table("prices", QUERIES["prices"], strict=True)
        engine.sql("UPDATE c SET seg = 's9' WHERE ck = 7")
        engine.refresh_stream_table("prices")
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100) as engine:
        engine.sql("UPDATE c SET seg = 's8' WHERE ck = 8; DELETE FROM o WHERE ok = 308")
        last = max(query.executionId() for query in executions(engine))
        assert engine.refresh_stream_table("prices").action is Action.DIFFERENTIAL
        assert reads_of(engine, "o", last) == 0
        plans = [str(q.physicalPlanDescription()) for q in executions(engine) if q.executionId() > last]
        changed = [plan for plan in plans if "IcebergStagedScan(table=lake.default.o," in plan]
        assert len(changed) == 1, "what changed in it is read, and nothing is brought again"
        assert_equals_query(engine, "prices")


def test_a_large_table_is_brought_beside_the_refreshes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(filling, "NOW_ROWS", 1000)
    monkeypatch.setattr(filling, "BATCH_ROWS", 700)
    monkeypatch.setattr(filling, "BATCH_BYTES", 40_000)
    caplog.set_level("INFO", logger="spark_trickle")
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100) as engine:
        engine.sql(TABLES)
        engine.create_stream_table("prices", QUERIES["prices"], strict=True)
        for number, expected in enumerate((1, 0)):
            engine.sql(f"UPDATE c SET seg = 's{number}x' WHERE ck IN (7, 11)")
            last = max(query.executionId() for query in executions(engine))
            assert engine.refresh_stream_table("prices").action is Action.DIFFERENTIAL
            assert reads_of(engine, "o", last) == expected
            assert_equals_query(engine, "prices")
            lake: Any = engine._parts.lake.real
            lake._remembered.lookups.filler.settle()
        assert "rows of o are kept for lookups: 3000 rows" in caplog.text


def test_columns_that_others_read_are_no_matter_where_they_cannot_come_along(
    spark: SparkSession, tmp_path: Path
) -> None:
    """One reads a map, which is not brought here, one reads a column that is dropped then: the third is kept."""
    with opened(spark, tmp_path) as engine:
        engine.sql(
            "CREATE TABLE s (k INT, v INT, tags MAP<STRING, INT>, old INT);"
            "INSERT INTO s SELECT CAST(id AS INT), CAST(id % 7 AS INT), map('a', 1), 1 FROM RANGE(100)"
        )
        engine.create_stream_table("maps", "SELECT k, tags FROM s")
        engine.create_stream_table("olds", "SELECT k, old FROM s")
        engine.create_stream_table("sums", "SELECT v, COUNT(*) AS n FROM s GROUP BY v", strict=True)
        for outcome in engine.refresh_stream_tables(["maps", "olds", "sums"]):
            assert outcome.action is Action.NO_DATA
        for together in (True, False):
            engine.sql("DELETE FROM s WHERE k % 10 = 3; INSERT INTO s VALUES (3, 1, map(), 5), (13, NULL, NULL, NULL)")
            if together:
                outcomes = engine.refresh_stream_tables(["maps", "olds", "sums"])
            else:
                outcomes = [engine.refresh_stream_table(name) for name in ("sums", "olds", "maps")]
            assert {outcome.mode for outcome in outcomes} == {"DIFFERENTIAL"}
            for name in ("maps", "olds", "sums"):
                assert_equals_query(engine, name)
        engine.sql("ALTER TABLE s DROP COLUMN old; DELETE FROM s WHERE k % 10 = 4")
        assert engine.refresh_stream_table("sums").mode == "DIFFERENTIAL"
        assert_equals_query(engine, "sums")


def test_patterns_are_asked_of_the_rows_that_were_looked_up(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100) as engine:
        engine.sql(TABLES)
        engine.sql("UPDATE o SET note = CONCAT('a', ok % 3, 'b', ok % 2, 'c') WHERE ok % 4 > 0")
        query = (
            "SELECT c.ck, COUNT(o.ok) AS n FROM c LEFT JOIN o ON o.ck = c.ck AND o.note NOT LIKE '%a%b1%' GROUP BY c.ck"
        )
        engine.create_stream_table("counts", query, strict=True)
        for changes in CHANGES:
            engine.sql(changes)
            last = max(execution.executionId() for execution in executions(engine))
            assert engine.refresh_stream_table("counts").mode == "DIFFERENTIAL"
            assert reads_of(engine, "o", last) == 0
            assert_equals_query(engine, "counts")


def test_keys_that_no_row_can_have_are_looked_up_by_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """Keys of the one table are longer integers than those of the other."""
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100) as engine:
        engine.sql(TABLES.replace("c (ck INT,", "c (ck BIGINT,"))
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, strict=True)
        for changes in (
            "UPDATE c SET seg = 's3' WHERE ck = 8; INSERT INTO c VALUES (5000000000, 's4'), (-5000000000, 's4')",
            "UPDATE c SET seg = 's1' WHERE ck > 4000000000; UPDATE o SET price = 7 WHERE ck = 8",
        ):
            engine.sql(changes)
            one_by_one(engine)
            for name in QUERIES:
                assert_equals_query(engine, name)


def test_what_is_computed_of_a_large_table_is_computed_of_rows_that_a_change_meets(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys all over a table leave no file unread; those of NULL meet nothing."""
    monkeypatch.setattr(relations, "COMPUTED_ROWS", 100)
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100, row_cache_bytes=0) as engine:
        engine.sql(
            TABLES + "; INSERT INTO o SELECT CAST(id AS INT), CAST(id / 2 AS INT), id % 9, NULL FROM RANGE(20000)"
        )
        query = (
            "SELECT o.ok, o.price FROM o WHERE o.price < (SELECT 0.9 * AVG(i.price) FROM o AS i WHERE i.ck = o.ck) "
            "AND o.ck > 0"
        )
        engine.create_stream_table("cheap", query, strict=True)
        for changes in (
            "UPDATE o SET price = price * 3 WHERE ck % 7 = 1 AND ok > 2000; INSERT INTO o VALUES (1, NULL, 1, NULL)",
            "DELETE FROM o WHERE ck % 5 = 2 AND ok % 2 = 0; UPDATE o SET price = 0 WHERE ck IS NULL",
        ):
            engine.sql(changes)
            last = max(execution.executionId() for execution in executions(engine))
            assert engine.refresh_stream_table("cheap").mode == "DIFFERENTIAL"
            plans = [str(q.physicalPlanDescription()) for q in executions(engine) if q.executionId() > last]
            assert any("LeftSemi" in plan and "__state_" in plan for plan in plans)
            assert_equals_query(engine, "cheap")


def test_keys_that_are_all_null_are_looked_up_by_nobody(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, **AS_JOBS, lookup_table_rows=100) as engine:
        engine.sql(TABLES)
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, strict=True)
        for changes in ("INSERT INTO c VALUES (NULL, 's7'), (NULL, NULL)", "UPDATE c SET seg = 's8' WHERE ck IS NULL"):
            engine.sql(changes)
            last = max(execution.executionId() for execution in executions(engine))
            together(engine)
            assert reads_of(engine, "o", last) == 0
            for name in QUERIES:
                assert_equals_query(engine, name)


def test_old_rows_of_groups_and_of_bags_are_looked_up_with_their_addresses(spark: SparkSession, tmp_path: Path) -> None:
    """Keys of two columns, some of them NULL; rows that repeat; what was written a moment ago is known already."""
    low = {**AS_JOBS, "lookup_table_rows": 0, "held_table_rows": 0, "rewrite_table_rows": 0, "broadcast_table_rows": 50}
    queries = {
        "groups": "SELECT k, d, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m, AVG(f) AS a FROM t GROUP BY k, d",
        "bag": "SELECT k, v, f FROM t WHERE v > 3",
    }
    story = (
        "INSERT INTO t SELECT CONCAT('k', id % 40), CAST(id % 3 AS INT), 7, 0.5D FROM RANGE(50)",
        "DELETE FROM t WHERE v = 7; UPDATE t SET v = 9, f = -0.0D WHERE k = 'k3'",
        "INSERT INTO t VALUES (NULL, 1, 5, NULL), (NULL, NULL, 5, DOUBLE('NaN')), ('k3', NULL, 5, 1);"
        "INSERT INTO t VALUES ('k3', NULL, 5, 1)",
        "DELETE FROM t WHERE k IS NULL; DELETE FROM t WHERE d IS NULL; INSERT INTO t VALUES ('new', 1, 4, 1)",
        "DELETE FROM t",
        "INSERT INTO t VALUES ('k1', 1, 4, 1), ('k1', 1, 4, 1)",
    )
    with opened(spark, tmp_path, **low) as engine:
        engine.sql(
            "CREATE TABLE t (k STRING, d INT, v INT, f DOUBLE);"
            "INSERT INTO t SELECT CONCAT('k', id % 40), CAST(id % 3 AS INT), CAST(id % 11 AS INT), id / 8D "
            "FROM RANGE(900)"
        )
        for name, query in queries.items():
            engine.create_stream_table(name, query, strict=True)
        for number, changes in enumerate(story):
            engine.sql(changes)
            last = max(query.executionId() for query in executions(engine))
            for outcome in engine.refresh_stream_tables(list(queries)):
                assert outcome.action is Action.DIFFERENTIAL, outcome
            if number in (0, 1):  # without NULL in any key
                assert reads_of(engine, "groups", last) == 0 and reads_of(engine, "bag", last) == 0
                assert reads_of_state(engine, last) == 0
                brought = reads_of_changes(engine, "groups", last) + reads_of_changes(engine, "bag", last)
                # First the groups are brought, whose rows go; then the bag, and of the groups nothing again.
                assert brought == 1, number
            for name in queries:
                assert_equals_query(engine, name)
