"""What kind of statement a text is, told by its words."""

from __future__ import annotations

import pytest

from spark_trickle.sql.writes import only_reads


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
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN SELECT 1; END",
        "CREATE TABLE t (a INT)",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN b INT",
    ],
)
def test_statements_that_do_something_or_may_do_not_only_read(statement: str) -> None:
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
