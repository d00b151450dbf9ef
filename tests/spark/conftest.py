"""One Spark session for the whole lane, and a namespace of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from tests.spark.engines import opened
from tests.spark.versions import Lab

PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.postgresql:postgresql:42.7.8",
)
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores, two shuffle partitions, no user interface, Iceberg's JDBC catalog `lake` on SQLite."""
    warehouse = tmp_path_factory.mktemp("lake")
    lake = "spark.sql.catalog.lake"
    settings = {
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse / "unused"),
        lake: "org.apache.iceberg.spark.SparkCatalog",
        f"{lake}.type": "jdbc",
        f"{lake}.uri": f"jdbc:sqlite:{warehouse}/lake.db?busy_timeout=30000&journal_mode=WAL",
        f"{lake}.jdbc.schema-version": "V1",
        f"{lake}.warehouse": str(warehouse),
        f"{lake}.cache-enabled": "false",
        "spark.sql.defaultCatalog": "lake",
    }
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def lab(spark: SparkSession) -> Iterator[Lab]:
    """Tables and their versions, in an empty namespace."""
    namespace = f"n{next(_numbers)}"
    spark.sql(f"CREATE NAMESPACE lake.{namespace}")
    made = Lab(spark, namespace)
    yield made
    made.feed.release()


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    """An engine on an empty lake, in a session of its own."""
    with opened(spark, tmp_path / "lake") as made:
        yield made
