"""One Spark session for the whole lane, and a namespace of its own for each test."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.spark.execution.on_driver import RUNS_AS_A_JOB
from tests.spark.engines import opened
from tests.spark.versions import Lab
from tests.support.delta_process import DeltaProcess

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on a lake of its own: two cores, two shuffle partitions."""
    home = str(tmp_path_factory.mktemp("lake"))
    # Other lanes may run in this process, too: engines share the one SparkContext that it can have.
    settings = {"spark.sql.shuffle.partitions": "2"}
    with spark_trickle.connect(home, spark_master="local[2]", spark_driver_memory="2g", spark_conf=settings) as engine:
        yield engine.spark


class _Unplanned(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if RUNS_AS_A_JOB in record.getMessage():
            self.found.append(record.getMessage())


@pytest.fixture(autouse=True)
def _every_plan_for_the_driver_can_be_made() -> Iterator[None]:
    """A query would run as a job then, so nothing else would tell."""
    handler = _Unplanned()
    logging.getLogger("spark_trickle").addHandler(handler)
    yield
    logging.getLogger("spark_trickle").removeHandler(handler)
    assert not handler.found


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


@pytest.fixture(params=["sqlite", "postgresql"])
def on_each_database(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    """As `engine`, once with its catalog in SQLite and once in PostgreSQL."""
    elsewhere = {} if request.param == "sqlite" else {"catalog": request.getfixturevalue("postgres_url")}
    with opened(spark, tmp_path / "lake", **elsewhere) as made:
        yield made


@pytest.fixture(scope="session")
def deltas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaProcess]:
    """Somebody who writes Delta tables, in a process of their own."""
    with DeltaProcess(tmp_path_factory.mktemp("deltas")) as others:
        yield others
