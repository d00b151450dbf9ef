"""The published table is only the answer, and any Iceberg reader reads it: PyIceberg, and DuckDB on the bare files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, columns, opened, rows
from tests.support.other_readers import duckdb_with_iceberg


def test_after_several_merges_other_readers_see_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    # Tiny tables have no deletes: they are written whole.
    with opened(spark, tmp_path / "lake", held_table_rows=0) as engine:
        _merges_are_read_alike(engine, tmp_path)


def _merges_are_read_alike(engine: Engine, tmp_path: Path) -> None:
    engine.sql(
        "CREATE TABLE t (id INT, g STRING, amount DECIMAL(10,2), x DOUBLE, day DATE, at TIMESTAMP);"
        "INSERT INTO t SELECT CAST(id AS INT), CONCAT('g', id % 5), id * 1.25, id / 3,"
        " DATE'2024-01-01' + CAST(id AS INT),"
        " TIMESTAMP'2024-01-01 00:00:00' + MAKE_INTERVAL(0,0,0,0,CAST(id AS INT)) FROM range(60)"
    )
    grouped = "SELECT g, SUM(amount) AS total, COUNT(x) AS n, MAX(day) AS last FROM t GROUP BY g"
    flat = "SELECT id % 7 AS m, amount, x, day, at FROM t WHERE id > 3"
    engine.create_stream_table("grouped", grouped)
    engine.create_stream_table("flat", flat)
    for statement in (
        "DELETE FROM t WHERE id % 4 = 0",
        "UPDATE t SET amount = amount + 1, x = NULL WHERE id % 3 = 0",
        "INSERT INTO t SELECT * FROM t WHERE id < 10",
        "DELETE FROM t WHERE g = 'g1'",
    ):
        engine.sql(statement)
        assert {o.action for o in engine.refresh_stream_tables(["grouped", "flat"])} == {Action.DIFFERENTIAL}, statement
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/lake/trickle.db", warehouse=str(tmp_path / "lake"))
    duck = duckdb_with_iceberg()
    for name, query in (("grouped", grouped), ("flat", flat)):
        assert_equals_query(engine, name)
        published = catalog.load_table(("default", name))
        assert published.metadata.format_version == 3
        if name == "flat":  # a small table of groups is written anew
            assert any(published.inspect.files().to_pydict()["content"]), "this test wants delete files"
        assert [f.name for f in published.schema().fields] == [c for c, _ in columns(engine, name)]
        expected = _bag(tuple(row) for row in engine.spark.sql(query).collect())
        arrow = published.scan().to_arrow()
        assert _bag(zip(*arrow.to_pydict().values(), strict=True)) == expected
        scanned = duck.execute(f"SELECT * FROM iceberg_scan('{published.metadata_location}')").to_arrow_table()
        assert _bag(zip(*scanned.to_pydict().values(), strict=True)) == expected
    catalog.close()


def test_a_published_table_has_the_columns_of_its_query_and_nothing_else(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (a INT NOT NULL, b STRING); INSERT INTO t VALUES (1, 'x')")
    for name, query in (
        ("plain", "SELECT * FROM t"),
        ("averages", "SELECT b, AVG(a) AS `avg` FROM t GROUP BY b"),
        ("distinct_ones", "SELECT DISTINCT b FROM t"),
        ("joined", "SELECT x.a, y.b AS other FROM t x JOIN t y ON x.a = y.a"),
    ):
        engine.create_stream_table(name, query)
        wanted = [(f.name, f.dataType.simpleString()) for f in engine.spark.sql(query).schema.fields]
        assert columns(engine, name) == wanted
        assert rows(engine, f"SELECT * FROM {name}") == rows(engine, query)
    shown = {row.tableName for row in engine.spark.sql("SHOW TABLES").collect()}
    assert shown == {"t", "plain", "averages", "distinct_ones", "joined"}, "state lies elsewhere"


def _bag(found: Iterable[tuple[Any, ...]]) -> Counter[str]:
    """Rows as a multiset; readers differ in how they hand over times."""
    return Counter(repr([_plain(value) for value in row]) for row in found)


def _plain(value: Any) -> object:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if hasattr(value, "tzinfo"):
        return value.replace(tzinfo=None).isoformat()
    return value
