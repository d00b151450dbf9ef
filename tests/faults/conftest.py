"""One Spark session for all checks, one shop built once, and as many lakes like it as tests want.

A catalog is only pointers to files that never change, so a lake is copied by copying its catalog: the copies share the
files they started with, and what one of them writes the others do not see.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import insert, select

import spark_trickle
from spark_trickle.catalog.database import Database
from spark_trickle.catalog.tables import HISTORY, ICEBERG, OURS
from spark_trickle.engine import Engine
from tests.faults import shop
from tests.support.postgres import Cluster

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Shop:
    """The shop as built: OPENING in the stream tables, and in the sources what the name says."""

    warehouse: Path
    opening: Path
    traded: Path


@dataclass(frozen=True)
class Lake:
    """One copy of the shop."""

    warehouse: str
    catalog: str

    @property
    def address(self) -> dict[str, str]:
        return {"warehouse": self.warehouse, "catalog": self.catalog}


Copy = Callable[..., Lake]
Open = Callable[..., Engine]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home = str(tmp_path_factory.mktemp("home"))
    settings = {"spark.sql.shuffle.partitions": "2"}
    with spark_trickle.connect(home, spark_master="local[2]", spark_driver_memory="2g", spark_conf=settings) as engine:
        yield engine.spark


@pytest.fixture(scope="session")
def shop_built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder = tmp_path_factory.mktemp("shop")
    built = Shop(folder / "lake", folder / "opening.db", folder / "traded.db")
    with spark_trickle.connect(str(built.warehouse), spark=spark.newSession()) as engine:
        shop.build(engine)
        _copy_sqlite(built.warehouse / "trickle.db", built.opening)
        shop.trade(engine)
        _copy_sqlite(built.warehouse / "trickle.db", built.traded)
    return built


@pytest.fixture(scope="session")
def copy_of_shop(shop_built: Shop, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Copy:
    """`copy("sqlite", traded=True)`: a lake of its own, with or without changes that wait for a refresh."""
    folder = tmp_path_factory.mktemp("copies")

    def copy(database: str, *, traded: bool) -> Lake:
        template, number = shop_built.traded if traded else shop_built.opening, next(_numbers)
        if database == "sqlite":
            path = folder / f"{number}.db"
            _copy_sqlite(template, path)
            return Lake(str(shop_built.warehouse), f"sqlite:///{path}")
        # It goes with the server.
        cluster: Cluster = request.getfixturevalue("postgres_cluster")
        cluster.execute(f"CREATE DATABASE fault_{number}")
        url = cluster.url(f"fault_{number}")
        copy_into(f"sqlite:///{template}", url)
        return Lake(str(shop_built.warehouse), url)

    return copy


@pytest.fixture
def open_lake(spark: SparkSession) -> Iterator[Open]:
    """`open_lake(lake, observer, busy_timeout_seconds=1)`: an engine in this process."""
    with ExitStack() as stack:

        def opened(lake: Lake, *observers: Any, **settings: Any) -> Engine:
            engine = spark_trickle.connect(
                lake.warehouse, catalog=lake.catalog, spark=spark.newSession(), observers=observers, **settings
            )
            return stack.enter_context(engine)

        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _copy_sqlite(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def copy_into(source: str, target: str) -> None:
    """The same rows in a database of another kind."""
    old, new = Database.open(source), Database.open(target)
    tables = (*OURS.sorted_tables, *ICEBERG.sorted_tables)
    with old.read() as reading, new.write() as writing:
        for table in reversed(tables):
            writing.execute(table.delete())
        for table in tables:
            # Rows of the history are numbered by the database that they are in.
            columns = [c for c in table.columns if table is not HISTORY or c.name != "id"]
            ordered = select(*columns).order_by(*table.primary_key.columns)
            rows = [dict(row._mapping) for row in reading.execute(ordered)]
            if rows:
                writing.execute(insert(table), rows)
    old.close()
    new.close()
