"""Iceberg's own JDBC catalog and ours are two programs at one database: each sees what the other writes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark_trickle.catalog import pointers
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.errors import ConflictError
from spark_trickle.model.publication import Publication, Swap
from spark_trickle.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.spark.session.sessions import Sessions

pytestmark = pytest.mark.spark

ORDERS, COPY = TableName("default", "orders"), TableName("sales", "copy")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    from spark_trickle.spark.session.sessions import LakeAddress, Sessions

    folder = tmp_path_factory.mktemp("unused")
    lake = LakeAddress(f"jdbc:sqlite:{folder}/unused.db", (), str(folder))
    made = Sessions(lake, given=None, master="local[2]", driver_memory="2g", extra={})
    yield made
    made.stop()


@pytest.fixture
def spark(sessions: Sessions, catalog: Catalog, tmp_path: Path) -> SparkSession:
    """A session whose lake is the catalog that we made, before any JVM saw it."""
    from spark_trickle.spark.session.sessions import LakeAddress

    database = catalog.database
    return sessions.beside(
        LakeAddress(database.jdbc_url(), tuple(database.jdbc_properties().items()), str(tmp_path / "files"))
    )


def test_iceberg_takes_the_tables_and_namespaces_that_we_made_as_its_own(spark: SparkSession, catalog: Catalog) -> None:
    assert {row[0] for row in spark.sql("SHOW NAMESPACES IN lake").collect()} == {"default", "trickle_internal"}
    spark.sql("CREATE TABLE lake.default.orders AS SELECT 1 AS id")
    spark.sql("CREATE NAMESPACE lake.sales")
    spark.sql("CREATE VIEW lake.default.seen AS SELECT id FROM lake.default.orders")
    found = catalog.pointers()
    assert {(str(name), pointer.kind) for name, pointer in found.items()} == {("orders", "TABLE"), ("seen", "VIEW")}
    assert found[ORDERS].location.endswith(".metadata.json")
    assert catalog.namespaces() == ("default", "sales", "trickle_internal")


def test_spark_sees_what_we_publish_and_a_commit_of_its_own_makes_ours_a_conflict(
    spark: SparkSession, catalog: Catalog
) -> None:
    spark.sql("CREATE TABLE lake.default.orders AS SELECT 1 AS id")
    first = catalog.pointers()[ORDERS].location
    catalog.publish(Publication(namespaces=("sales",), swaps=(Swap(COPY, None, first),)))
    assert spark.table("lake.sales.copy").collect() == spark.table("lake.default.orders").collect()
    spark.sql("INSERT INTO lake.default.orders VALUES (2)")
    with pytest.raises(ConflictError):
        catalog.swap([Swap(COPY, first, None), Swap(ORDERS, first, None)])
    assert spark.table("lake.sales.copy").count() == 1


def test_a_commit_of_sparks_waits_for_our_transaction_and_then_lands(spark: SparkSession, catalog: Catalog) -> None:
    spark.sql("CREATE TABLE lake.default.orders AS SELECT 1 AS id")
    with ThreadPoolExecutor(1) as pool:
        with catalog.write() as connection:
            pointers.add_namespace(connection, "sales")
            held = pointers.read(connection)[ORDERS].location
            commit = pool.submit(spark.sql, "INSERT INTO lake.default.orders VALUES (2)")
            wait([commit], timeout=3)
        commit.result(timeout=60)
    assert catalog.pointers()[ORDERS].location != held
    assert "sales" in catalog.namespaces()
    assert spark.table("lake.default.orders").count() == 2
