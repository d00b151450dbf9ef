"""Other tools read what is published through /iceberg, as docs/reading.md says: PyIceberg, DuckDB and Spark itself."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.serve.access import Door
from spark_trickle.serve.jobs import Jobs
from spark_trickle.serve.server import serving
from tests.spark.engines import opened
from tests.support.other_readers import duckdb_with_iceberg

TEXT = (Path(__file__).parents[2] / "docs" / "reading.md").read_text(encoding="utf-8")
TOKEN = "correct-horse-battery-staple"
QUERY = "SELECT region, SUM(amount) AS total, COUNT(*) AS orders FROM orders GROUP BY region"


def test_the_page_about_other_tools_is_right_for_three_of_them(spark: SparkSession, tmp_path: Path) -> None:
    # Nothing is held in memory: the table has delete files, which other readers have to understand.
    with opened(spark, tmp_path / "lake", held_table_rows=0, rewrite_table_rows=0) as engine:
        engine.sql("CREATE TABLE orders (id BIGINT, region STRING, amount DECIMAL(12,2))")
        engine.sql("INSERT INTO orders VALUES (1, 'eu', 10.00), (2, 'us', 5.50), (3, 'us', 1.50)")
        engine.sql("CREATE VIEW large AS SELECT id FROM orders WHERE amount > 5")
        engine.create_stream_table("order_totals", QUERY)
        with serving(engine, Jobs(engine, lambda: engine.spark), Door("127.0.0.1", 0)) as address:
            _reads(engine, address, [("eu", "10.00", 1), ("us", "7.00", 2)])
            engine.sql("INSERT INTO orders VALUES (4, 'eu', 2.50); DELETE FROM orders WHERE id = 2")
            _reads(engine, address, [("eu", "10.00", 1), ("us", "7.00", 2)])
            assert engine.refresh_stream_table("order_totals").action is Action.DIFFERENTIAL
            _reads(engine, address, [("eu", "12.50", 2), ("us", "1.50", 1)])
        with serving(engine, Jobs(engine, lambda: engine.spark), Door("127.0.0.1", 0, TOKEN)) as address:
            session = _spark_client(engine, address, catalog="guarded", token=TOKEN)
            assert session.table("guarded.default.order_totals").count() == 2
            shown = {row.tableName for row in session.sql("SHOW TABLES IN guarded.default").collect()}
            assert shown == {"orders", "order_totals"}
            assert [row.viewName for row in session.sql("SHOW VIEWS IN guarded.default").collect()] == ["large"]
            assert session.table("guarded.default.large").count() == 1
            assert session.table("guarded.default.orders.snapshots").count() > 1, "Iceberg's own tables about a table"
            namespaces = {row.namespace for row in session.sql("SHOW NAMESPACES IN guarded").collect()}
            assert namespaces == {"default"}
            for write in (
                "INSERT INTO guarded.default.order_totals VALUES ('x', 1, 1)",
                "DROP TABLE guarded.default.orders",
                "CREATE TABLE guarded.default.mine (id INT)",
            ):
                with pytest.raises(PySparkException, match=r"(?i)read-only|not support"):
                    session.sql(write)
        assert engine.verify("order_totals").ok


def _reads(engine: Engine, address: str, wanted: list[tuple[str, str, int]]) -> None:
    here = TEXT.replace("http://127.0.0.1:8080", address)
    (python,) = re.findall(r"```python\n(.*?)```", here, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(python, {})
    tables, rows = printed.getvalue().splitlines()
    assert tables == "[('default', 'order_totals'), ('default', 'orders')]"
    for region, total, orders in wanted:
        assert f"{{'region': '{region}', 'total': Decimal('{total}'), 'orders': {orders}}}" in rows
    (sql,) = re.findall(r"```sql\n(.*?)```", here, re.DOTALL)
    # Installing would download; the tests have it as a package.
    statements = [each for each in sql.split(";\n") if each.strip() and not each.startswith(("INSTALL", "LOAD"))]
    with duckdb_with_iceberg() as duck:
        answers = [duck.execute(each) for each in statements]
        assert [(g, str(total), n) for g, total, n in answers[-1].fetchall()] == wanted
    session = _spark_client(engine, address)
    found = session.sql("SELECT * FROM shop.default.order_totals ORDER BY region").collect()
    assert [(g, str(total), n) for g, total, n in found] == wanted


def _spark_client(engine: Engine, address: str, catalog: str = "shop", token: str | None = None) -> SparkSession:
    (properties,) = re.findall(r"```properties\n(.*?)```", TEXT.replace("http://127.0.0.1:8080", address), re.DOTALL)
    session = engine.spark.newSession()
    for line in properties.strip().splitlines():
        key, _, value = line.partition("=")
        session.conf.set(key.replace(".shop", f".{catalog}"), value)
    if token is not None:
        session.conf.set(f"spark.sql.catalog.{catalog}.token", token)
    return session
