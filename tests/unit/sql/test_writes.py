"""What kind of statement a text is, told by its words."""

from __future__ import annotations

import pytest

from spark_trickle.sql.writes import deletes_files, only_reads, writes


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (1)",
        "  /* why */ -- and more\n insert overwrite t select 1",
        "WITH x AS (SELECT 1), y AS (SELECT 2) INSERT INTO t SELECT * FROM x",
        "FROM a INSERT INTO b SELECT *",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE t",
        "REPLACE TABLE t AS SELECT 1",
        "create or replace table t AS SELECT 1",
    ],
)
def test_statements_that_change_rows_are_writes(statement: str) -> None:
    assert writes(statement)
    assert not only_reads(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT `insert` FROM t WHERE note = 'delete'",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "FROM t SELECT a",
        "FROM t",
        "VALUES (1), (2)",
        "TABLE t",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "(SELECT 1)",
        "SHOW TABLES",
        "DESCRIBE t",
    ],
)
def test_queries_only_read(statement: str) -> None:
    assert only_reads(statement)
    assert not writes(statement)


@pytest.mark.parametrize("statement", ["CREATE TABLE t (a INT)", "DROP TABLE t", "ALTER TABLE t ADD COLUMN b INT"])
def test_other_statements_are_neither(statement: str) -> None:
    assert not writes(statement)
    assert not only_reads(statement)
    assert not deletes_files(statement)


def test_statements_that_delete_files_at_once_are_known() -> None:
    assert deletes_files("drop table if exists t -- all of it\n PURGE;")
    assert deletes_files("CALL lake.system.remove_orphan_files(table => 'default.t')")
    assert not deletes_files("DROP TABLE `purge`")
