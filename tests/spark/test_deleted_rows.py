"""Rows that went from files which are still there are told by their places; touched groups are looked up by key."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, opened
from tests.spark.test_lookups import AS_JOBS, executions, reads_of, reads_of_changes

LOW = {**AS_JOBS, "lookup_table_rows": 100, "held_table_rows": 0}
QUERIES = {
    "delta": "SELECT k, MAX(v) AS top, MIN(d) AS first, COUNT(*) AS n FROM `step` GROUP BY k",
    "target": "SELECT id, k, s, a FROM `step` WHERE v > 0",
    "exact": "SELECT id % 7 AS r, SUM(a) AS total FROM `step` GROUP BY id % 7",
}


def make(engine: Engine, format_version: int) -> None:
    engine.sql(
        "CREATE TABLE `step` (id BIGINT, k STRING, v INT, d DATE, a DECIMAL(20,2), s TIMESTAMP) TBLPROPERTIES "
        f"('format-version' = '{format_version}', 'write.delete.mode' = 'merge-on-read', "
        "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read');"
        "INSERT INTO `step` SELECT /*+ COALESCE(1) */ id, IF(id % 9 = 0, NULL, CONCAT('k''', id % 50)), "
        "CAST(id % 400 AS INT), DATE_ADD(DATE'0001-01-01', CAST(id AS INT)), CAST(id AS DECIMAL(20,2)) / 4, "
        "TIMESTAMP_SECONDS(id * 1000000) FROM RANGE(3000)"
    )
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, strict=True)


def refreshed(engine: Engine) -> int:
    """Refresh all of them, alone; the last query of before."""
    last: int = max(query.executionId() for query in executions(engine))
    outcomes = [engine.refresh_stream_table(name) for name in QUERIES]
    assert {outcome.action for outcome in outcomes} - {Action.NO_DATA} == {Action.DIFFERENTIAL}, outcomes
    return last


def check(engine: Engine) -> None:
    for name in QUERIES:
        assert_equals_query(engine, name)


def test_files_are_not_read_again_for_rows_that_go(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, **LOW) as engine:
        make(engine, 3)
        engine.sql("DELETE FROM `step` WHERE id % 10 = 1")
        last = refreshed(engine)
        assert reads_of_changes(engine, "step", last) > 0, "who loses rows for the first time is read"
        check(engine)
        engine.sql("DELETE FROM `step` WHERE id % 10 = 2; UPDATE `step` SET v = v + 1, k = NULL WHERE id % 10 = 3")
        refreshed(engine)
        check(engine)
        for digit in (4, 5):
            engine.sql(f"DELETE FROM `step` WHERE id % 10 = {digit}")
            last = refreshed(engine)
            assert reads_of_changes(engine, "step", last) == 0
            check(engine)


@pytest.mark.parametrize("format_version", [2, 3])
def test_whatever_happens_to_a_table_its_deleted_rows_are_exact(
    format_version: int, spark: SparkSession, tmp_path: Path
) -> None:
    """Versions that come back, compactions, all deleted and loaded again, extreme values, columns that come and go."""
    with opened(spark, tmp_path, **LOW) as engine:
        make(engine, format_version)
        for digit in (1, 2):
            engine.sql(f"DELETE FROM `step` WHERE id % 10 = {digit}")
            refreshed(engine)
        history = "SELECT snapshot_id FROM lake.default.`step`.history ORDER BY made_current_at DESC LIMIT 1"
        then = engine.spark.sql(history).collect()[0].snapshot_id
        engine.sql("DELETE FROM `step` WHERE id % 10 = 3; UPDATE `step` SET v = -v WHERE id % 100 = 7")
        refreshed(engine)
        engine.spark.sql(f"CALL lake.system.rollback_to_snapshot('default.step', {then})")
        refreshed(engine)
        check(engine)
        engine.sql("DELETE FROM `step` WHERE id % 100 = 55")
        engine.spark.sql(
            "CALL lake.system.rewrite_data_files(table => 'default.step', options => map('rewrite-all', 'true'))"
        )
        engine.sql("DELETE FROM `step` WHERE id % 100 = 56")
        refreshed(engine)
        check(engine)
        engine.sql(
            "ALTER TABLE `step` ADD COLUMN later STRING; UPDATE `step` SET later = 'x', v = 399 WHERE id % 100 = 57"
        )
        refreshed(engine)
        check(engine)
        engine.sql("DELETE FROM `step`")
        refreshed(engine)
        check(engine)
        engine.sql(
            "INSERT INTO `step` (id, k, v, d, a, s) VALUES "
            "(9223372036854775807, '', 2147483647, DATE'9999-12-31', 999999999999999999.99, NULL), "
            "(-9223372036854775808, NULL, -2147483648, DATE'0001-01-01', -999999999999999999.99, "
            "TIMESTAMP'0001-01-02'), "
            "(1, 'k''1', 5, NULL, 0.01, NULL), (1, 'k''1', 5, NULL, 0.01, NULL)"
        )
        refreshed(engine)
        check(engine)
        engine.sql("DELETE FROM `step` WHERE id <> 1; INSERT INTO `step` (id, k, v) VALUES (1, 'k''1', 6)")
        refreshed(engine)
        check(engine)


def test_touched_groups_are_looked_up_unless_their_key_is_null(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, **LOW) as engine:
        make(engine, 3)
        for changes, looked_up in (
            ("DELETE FROM `step` WHERE v > 360 AND k = 'k''11'", None),
            ("DELETE FROM `step` WHERE v > 360 AND k = 'k''13'", True),
            ("DELETE FROM `step` WHERE v > 380 AND k IS NULL", False),
            ("DELETE FROM `step` WHERE k IS NULL; DELETE FROM `step` WHERE v > 300 AND k = 'k''15'", None),
            ("INSERT INTO `step` (k, v) VALUES (NULL, 1), (NULL, NULL), ('k''15', 1000)", None),
            ("DELETE FROM `step` WHERE v = 1000", True),
        ):
            engine.sql(changes)
            last = max(query.executionId() for query in executions(engine))
            assert engine.refresh_stream_table("delta").action is Action.DIFFERENTIAL
            if looked_up is not None:
                assert (reads_of(engine, "step", last) == 0) == looked_up, changes
            assert_equals_query(engine, "delta")
