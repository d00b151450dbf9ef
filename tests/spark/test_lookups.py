"""What several stream tables of one refresh look up in a large table is read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, opened


def reads_of(engine: Engine, table: str, since: int) -> int:
    """Queries that read a table itself, rather than files that were told to them as changed."""
    plans = [str(query.physicalPlanDescription()) for query in executions(engine) if query.executionId() > since]
    return sum(f"BatchScan lake.default.{table} " in plan and "IcebergStagedScan" not in plan for plan in plans)


def executions(engine: Engine) -> list[Any]:
    state: Any = engine.spark._jsparkSession.sharedState()
    found = state.statusStore().executionsList()
    return [found.apply(i) for i in range(found.size())]


def test_rows_that_several_stream_tables_look_up_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    """Three stream tables join the same tables by the same key. All are right, also where both tables changed."""
    with opened(spark, tmp_path, lookup_table_rows=100) as engine:
        engine.sql(
            "CREATE TABLE c (ck INT, seg STRING); CREATE TABLE o (ok INT, ck INT, price DECIMAL(10,2), note STRING);"
            "INSERT INTO c SELECT CAST(id AS INT), CONCAT('s', id % 5) FROM RANGE(300);"
            "INSERT INTO o SELECT CAST(id AS INT), CAST(id % 300 AS INT), id / 4, NULL FROM RANGE(3000)"
        )
        queries = {
            "prices": "SELECT c.seg, SUM(o.price) AS total FROM c JOIN o ON c.ck = o.ck GROUP BY c.seg",
            "rows_of": "SELECT o.ok, c.seg, o.note FROM c JOIN o ON c.ck = o.ck WHERE c.seg <> 's1'",
            "highest": "SELECT c.ck, MAX(o.price) AS top FROM c JOIN o ON o.ck = c.ck GROUP BY c.ck",
        }
        for name, query in queries.items():
            engine.create_stream_table(name, query, strict=True)
        engine.sql("UPDATE c SET seg = 's9' WHERE ck IN (7, 11)")
        last = max(query.executionId() for query in executions(engine))
        assert {outcome.mode for outcome in engine.refresh_stream_tables(list(queries))} == {"DIFFERENTIAL"}
        assert reads_of(engine, "o", last) == 1
        for changes in (
            "UPDATE c SET seg = 's3' WHERE ck IN (8, 12); DELETE FROM o WHERE ck = 8 AND ok > 2000;"
            "INSERT INTO o VALUES (9001, 12, 1.50, 'x'), (9001, 12, 1.50, 'x'), (9002, NULL, 2, NULL)",
            "DELETE FROM c WHERE ck IN (7, 12); UPDATE o SET price = price + 1 WHERE ck IN (7, 12, 13)",
        ):
            engine.sql(changes)
            for outcome in engine.refresh_stream_tables(list(queries)):
                assert outcome.action is Action.DIFFERENTIAL, outcome
            for name in queries:
                assert_equals_query(engine, name)
