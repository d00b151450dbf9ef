"""Small changes reach tables of ours without Spark: what Arrow and Iceberg's Java API write is what Spark reads."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_trickle.delta.sizes import MOST_FILES
from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.names import TableName
from spark_trickle.storage.direct import (
    NO_ADDRESSES,
    Addresses,
    DirectWriter,
    arrow_schema,
    directly_writable,
    fits,
)
from spark_trickle.storage.iceberg import load, static
from tests.spark.engines import assert_equals_query, bag, opened

TYPES = (
    "k INT, flag BOOLEAN, big BIGINT, f FLOAT, d DOUBLE, small DECIMAL(9,2), middle DECIMAL(18,4), wide DECIMAL(38,10),"
    " s STRING, raw BINARY, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ"
)
ROWS = (
    "(1, true, -9223372036854775808, FLOAT('NaN'), DOUBLE('-Infinity'), -1234567.89BD, 12345678901234.5678BD,"
    " -1234567890123456789012345678.0123456789BD, 'ü\\n', X'00FF', DATE'0001-01-01',"
    " TIMESTAMP'1969-12-31 23:59:59.999999', TIMESTAMP_NTZ'2024-03-31 02:30:00.123456'),"
    "(2, false, 0, FLOAT('-0.0'), -0.0D, 0BD, 0BD, 0BD, '', X'', DATE'9999-12-31', TIMESTAMP'2024-10-27 01:30:00',"
    " TIMESTAMP_NTZ'1970-01-01 00:00:00'),"
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
)
LAKE_TABLE = TableName.parse("t")


def direct(engine: Engine, name: TableName = LAKE_TABLE) -> DirectWriter:
    table = load(engine.spark, name)
    schema = arrow_schema(engine.spark, table)
    assert schema is not None and directly_writable(table)
    return DirectWriter(engine.spark, table, schema, {"told": "by a test"})


def addresses(engine: Engine, where: str) -> Addresses:
    found = engine.spark.sql(f"SELECT _file, _pos FROM t WHERE {where}").toArrow()
    return Addresses.of(found.column(0), found.column(1))


def fetched(engine: Engine, query: str) -> pa.Table:
    return engine.spark.sql(query).toArrow()


def files(engine: Engine, name: str) -> int:
    return int(engine.spark.sql(f"SELECT COUNT(*) FROM lake.default.{name}.data_files").collect()[0][0])


def test_values_of_each_type_are_read_as_spark_would_have_written_them(engine: Engine) -> None:
    engine.sql(f"CREATE TABLE t ({TYPES}) TBLPROPERTIES ('format-version' = '3'); INSERT INTO t VALUES {ROWS}")
    before = bag(engine.spark.table("t"))
    schema = arrow_schema(engine.spark, load(engine.spark, LAKE_TABLE))
    rows = fetched(engine, "SELECT * FROM t")
    assert schema is not None and fits(rows.schema, schema)
    direct(engine).change(rows, NO_ADDRESSES)
    assert bag(engine.spark.table("t")) == before + before
    # Bounds in the manifest must not hide rows that are there.
    for k, condition in ((1, "small < 0"), (1, "middle > 1"), (1, "wide < 0"), (1, "at < TIMESTAMP'1970-01-01'")):
        assert engine.spark.sql(f"SELECT k FROM t WHERE {condition}").collect() == [(k,), (k,)], condition
    assert len(engine.spark.sql("SELECT k FROM t WHERE s IS NULL AND day IS NULL").collect()) == 2
    assert len(engine.spark.sql("SELECT k FROM t WHERE isnan(f)").collect()) == 2


def test_rows_go_by_their_addresses_however_often_their_files_lost_some(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (k INT, s STRING) TBLPROPERTIES ('format-version' = '3')")
    engine.sql("INSERT INTO t SELECT CAST(id AS INT), CONCAT('s', id % 3) FROM RANGE(500)")
    alive = set(range(500))
    for step in range(4):
        gone = {k for k in alive if k % 7 == step}
        came = fetched(engine, f"SELECT CAST(id + {1000 * (step + 1)} AS INT) AS k, 'new' AS s FROM RANGE(3)")
        direct(engine).change(came, addresses(engine, f"k % 7 = {step}"))
        alive = (alive - gone) | set(came.column("k").to_pylist())
        assert {row.k for row in engine.spark.table("t").collect()} == alive
        assert engine.spark.table("t").count() == len(alive)
    # One deletion vector a file, not one a commit; and Spark's own statements go on from there.
    vectors = engine.spark.sql("SELECT referenced_data_file FROM lake.default.t.delete_files").collect()
    assert len(vectors) == len(set(vectors))
    engine.sql("DELETE FROM t WHERE k % 2 = 0")
    assert {row.k for row in engine.spark.table("t").collect()} == {k for k in alive if k % 2}


def test_a_table_is_replaced_whole(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (k INT, s STRING) TBLPROPERTIES ('format-version' = '3')")
    engine.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    direct(engine).replace(fetched(engine, "SELECT 5 AS k, CAST(NULL AS STRING) AS s"))
    assert engine.spark.table("t").collect() == [(5, None)]
    direct(engine).replace(fetched(engine, "SELECT * FROM t WHERE FALSE"))
    assert engine.spark.table("t").collect() == []
    told = engine.spark.sql("SELECT summary['told'] FROM lake.default.t.snapshots ORDER BY committed_at DESC").first()
    assert told == ("by a test",)


@pytest.mark.parametrize(
    ("columns", "properties", "writable"),
    [
        ("k INT", "'format-version' = '3'", True),
        ("k INT", "'format-version' = '2'", False),
        ("k INT, a ARRAY<INT>", "'format-version' = '3'", False),
        ("k INT, m STRUCT<x: INT>", "'format-version' = '3'", False),
    ],
)
def test_what_only_spark_writes_is_left_to_it(engine: Engine, columns: str, properties: str, writable: bool) -> None:
    engine.sql(f"CREATE TABLE t ({columns}) TBLPROPERTIES ({properties})")
    table = load(engine.spark, LAKE_TABLE)
    assert (directly_writable(table) and arrow_schema(engine.spark, table) is not None) is writable


def test_a_small_table_is_written_anew_before_its_files_are_many(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path, held_table_rows=0) as engine:
        engine.sql("CREATE TABLE t (g INT, v INT); INSERT INTO t SELECT id % 20, id FROM RANGE(200)")
        engine.create_stream_table("sums", "SELECT g, SUM(v) AS total FROM t GROUP BY g", strict=True)
        counted = set()
        for cycle in range(MOST_FILES + 3):
            engine.sql(f"INSERT INTO t VALUES ({cycle % 20}, 1), ({100 + cycle}, 1); DELETE FROM t WHERE v = {cycle}")
            assert engine.refresh_stream_table("sums").action is Action.DIFFERENTIAL
            counted.add(files(engine, "sums"))
        assert_equals_query(engine, "sums")
        assert max(counted) == MOST_FILES and 1 in counted, counted


def test_counts_and_bounds_of_a_file_are_those_that_iceberg_finds_in_it(engine: Engine) -> None:
    engine.sql(f"CREATE TABLE t ({TYPES}) TBLPROPERTIES ('format-version' = '3')")
    writer = direct(engine)
    engine.sql(f"CREATE TABLE other ({TYPES}); INSERT INTO other VALUES {ROWS}")
    writer.change(engine.spark.table("other").toArrow(), NO_ADDRESSES)
    table = load(engine.spark, LAKE_TABLE)
    (held,) = table.currentSnapshot().addedDataFiles(table.io())
    config = static(engine.spark, "org.apache.iceberg.MetricsConfig").forTable(table)
    file = table.io().newInputFile(held.location())
    found = static(engine.spark, "org.apache.iceberg.parquet.ParquetUtil").fileMetrics(file, config)
    assert held.recordCount() == found.recordCount() == 3
    for one, other in (
        (held.valueCounts(), found.valueCounts()),
        (held.nullValueCounts(), found.nullValueCounts()),
        (held.columnSizes(), found.columnSizes()),
        (held.lowerBounds(), found.lowerBounds()),
        (held.upperBounds(), found.upperBounds()),
    ):
        assert one.size() and one.equals(other), (one.toString(), other.toString())
