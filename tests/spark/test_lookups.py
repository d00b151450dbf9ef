"""What several stream tables look up in a large table, or read of its change, is read once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.spark import relations
from tests.spark.engines import assert_equals_query, opened


def reads_of(engine: Engine, table: str, since: int) -> int:
    """Queries that read a table itself, rather than files that were told to them as changed."""
    plans = [str(query.physicalPlanDescription()) for query in executions(engine) if query.executionId() > since]
    return sum(f"BatchScan lake.default.{table} " in plan and "IcebergStagedScan" not in plan for plan in plans)


def reads_of_changes(engine: Engine, table: str, since: int) -> int:
    """Queries that read files which were told to them as changed in a table."""
    plans = [str(query.physicalPlanDescription()) for query in executions(engine) if query.executionId() > since]
    return sum(f"IcebergStagedScan(table=lake.default.{table}," in plan for plan in plans)


def executions(engine: Engine) -> list[Any]:
    state: Any = engine.spark._jsparkSession.sharedState()
    found = state.statusStore().executionsList()
    return [found.apply(i) for i in range(found.size())]


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
def test_rows_that_several_stream_tables_look_up_are_read_once(
    refresh: Callable[[Engine], None], spark: SparkSession, tmp_path: Path
) -> None:
    """Three stream tables join the same tables by the same key. All are right, also where both tables changed."""
    with opened(spark, tmp_path, lookup_table_rows=100) as engine:
        engine.sql(TABLES)
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, strict=True)
        for keys in ("7, 11", "9, 13"):
            engine.sql(f"UPDATE c SET seg = 's9' WHERE ck IN ({keys})")
            last = max(query.executionId() for query in executions(engine))
            refresh(engine)
            assert reads_of(engine, "o", last) == 1
            assert reads_of_changes(engine, "c", last) == 1
        for changes in CHANGES:
            engine.sql(changes)
            refresh(engine)
            for name in QUERIES:
                assert_equals_query(engine, name)


def test_a_stream_table_that_is_refreshed_alone_reads_for_nobody_else(spark: SparkSession, tmp_path: Path) -> None:
    """Others are still where they were made: what this one needs from now on is no longer what they will ask for."""
    with opened(spark, tmp_path, lookup_table_rows=100) as engine:
        engine.sql(TABLES)
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, strict=True)
        for at, changes in enumerate(CHANGES):
            engine.sql(changes)
            last = max(query.executionId() for query in executions(engine))
            assert engine.refresh_stream_table("prices").mode == "DIFFERENTIAL"
            plans = [str(q.physicalPlanDescription()) for q in executions(engine) if q.executionId() > last]
            assert any(re.search(r"BatchScan .*\nOutput .*note#", plan) for plan in plans) is (at == 0)
            assert_equals_query(engine, "prices")


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
    """Spark would compare all notes with the pattern before it looks at the keys."""
    with opened(spark, tmp_path, lookup_table_rows=100) as engine:
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
            plans = [str(q.physicalPlanDescription()) for q in executions(engine) if q.executionId() > last]
            assert any("BatchScan lake.default.o " in plan for plan in plans)
            assert not [p for p in plans if "BatchScan lake.default.o " in p and "LIKE" in p and "Staged" not in p]
            assert_equals_query(engine, "counts")


def test_keys_that_no_row_can_have_are_looked_up_by_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """Keys of the one table are longer integers than those of the other."""
    with opened(spark, tmp_path, lookup_table_rows=100) as engine:
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
    with opened(spark, tmp_path, lookup_table_rows=100) as engine:
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
    with opened(spark, tmp_path, lookup_table_rows=100) as engine:
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


def test_a_large_change_does_not_show_who_looks_up_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is looked up for it; the next small one is shared all the same."""
    with opened(spark, tmp_path, lookup_table_rows=100, small_change_rows=1000) as engine:
        engine.sql(TABLES)
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, strict=True)
        engine.sql("UPDATE o SET price = price + 1")
        together(engine)
        engine.sql("UPDATE c SET seg = 's9' WHERE ck IN (7, 11)")
        last = max(execution.executionId() for execution in executions(engine))
        together(engine)
        assert reads_of(engine, "o", last) == 1
        for name in QUERIES:
            assert_equals_query(engine, name)
