"""Catalogs of other people for tests, one of each kind that runs on this machine: their settings, and how to take them
away and bring them back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from tests.support.metastore import Metastore
from tests.support.rest_server import RestServer

KINDS = ("hadoop", "jdbc", "rest", "hive")
CLIENT = "rest, asked by Iceberg's own client"
"""As are catalogs of the kinds that we have no client of our own for."""
NAME = "far"
TABLE = "id BIGINT, k STRING, v INT"


@dataclass(frozen=True)
class Far:
    """An engine, and another catalog beside it which others write to."""

    engine: Engine
    others: SparkSession
    """Somebody else's session: it shares nothing with the engine but the catalog."""
    take_away: Callable[[], object]
    bring_back: Callable[[], object]

    def sql(self, text: str) -> None:
        """Something that others do."""
        self.others.sql(text)

    def make(self, table: str, columns: str = TABLE, **properties: str) -> None:
        listed = {"format-version": "2", **properties}
        shown = ", ".join(f"'{key}'='{value}'" for key, value in listed.items())
        self.sql(f"CREATE TABLE {NAME}.{table} ({columns}) USING iceberg TBLPROPERTIES ({shown})")


@contextmanager
def far_catalog(kind: str, spark: SparkSession, folder: Path) -> Iterator[Far]:
    """An engine in a folder, whose session knows another catalog of a kind."""
    server = Metastore(folder / "server") if kind == "hive" else RestServer(folder / "server")
    settings = {
        "hadoop": {"type": "hadoop", "warehouse": f"{folder}/hadoop"},
        "jdbc": {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{folder}/far.db",
            "warehouse": f"{folder}/jdbc",
            "jdbc.schema-version": "V1",
        },
        "rest": {"type": "rest", "uri": server.address},
        "hive": {"type": "hive", "uri": server.address, "warehouse": f"{folder}/hive", "clients": "1"},
        CLIENT: {"type": "rest", "uri": server.address, "rest.client.tls.nothing": "that we understand"},
    }[kind]
    place = {"hadoop": folder / "hadoop", "jdbc": folder / "far.db"}.get(kind, folder)
    serving = kind in ("rest", "hive", CLIENT)
    if serving:
        server.start()

    def hide() -> None:
        place.rename(folder / "hidden")

    def show() -> None:
        (folder / "hidden").rename(place)

    mine, theirs = _session(spark, settings), _session(spark, settings)
    try:
        theirs.sql(f"CREATE NAMESPACE {NAME}.db")
        with spark_trickle.connect(str(folder / "lake"), spark=mine, allow_circular=True) as engine:
            away, back = (server.stop, server.start) if serving else (hide, show)
            yield Far(engine, theirs, away, back)
    finally:
        server.stop()


def _session(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    session = spark.newSession()
    session.conf.set(f"spark.sql.catalog.{NAME}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in {**settings, "cache-enabled": "false"}.items():
        session.conf.set(f"spark.sql.catalog.{NAME}.{key}", value)
    return session


def change(chance: random.Random, do: Callable[[str], object], table: str) -> None:
    """Somebody writes to a table with the columns id, k, v: a few rows come, go or are others."""
    keys = ("NULL", "'a'", "'b'", "'c'")
    rows = range(chance.randint(1, 5))
    values = ", ".join(f"({chance.randint(1, 40)}, {chance.choice(keys)}, {chance.randint(-3, 9)})" for _ in rows)
    statements = (
        f"INSERT INTO {table} VALUES {values}",
        f"INSERT INTO {table} VALUES {values}",
        f"DELETE FROM {table} WHERE id % {chance.randint(2, 5)} = 0",
        f"UPDATE {table} SET v = v + 1, k = 'b' WHERE id % {chance.randint(2, 5)} = 1",
        f"INSERT OVERWRITE {table} VALUES {values}",
        f"DELETE FROM {table}",
    )
    do(chance.choices(statements, weights=(4, 4, 3, 3, 1, 1))[0])
