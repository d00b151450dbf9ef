"""The lake of the long runs: diamonds one below the other over two sources that somebody writes all along.

In each diamond the same money is added up by region and by product, so that wherever one version of the sources is seen
all totals are one number. `alone` is in no diamond.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlparse

from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.stream_table import Status
from tests.spark.engines import opened

SOURCES = ("sales", "returns")
POISON = -666
"""An amount that the first diamond cannot compute with."""


def totals(depth: int) -> tuple[str, ...]:
    return tuple(f"total{i}" for i in range(depth))


def names(depth: int) -> tuple[str, ...]:
    """All stream tables."""
    return (*(f"{by}{i}" for i in range(depth) for by in ("region", "product", "total")), "alone")


def build(engine: Engine, depth: int) -> None:
    for source in SOURCES:
        engine.sql(f"CREATE TABLE {source} (id INT, region STRING, product STRING, amount BIGINT)")
    engine.sql("INSERT INTO sales VALUES (0, 'n', 'a', 10), (1, 's', 'b', 20), (2, NULL, 'a', NULL)")
    engine.sql("INSERT INTO returns VALUES (3, 'n', 'b', -5)")
    moved = " UNION ALL ".join(f"SELECT region, product, amount FROM {source}" for source in SOURCES)
    for i in range(depth):
        above = f" CROSS JOIN total{i - 1}" if i else ""
        amount = "amount" if i else f"amount DIV IF(amount = {POISON}, 0, 1)"
        for by in ("region", "product"):
            query = f"SELECT {by}, SUM({amount}) AS revenue FROM ({moved}) AS moved{above} GROUP BY {by}"
            engine.create_stream_table(f"{by}{i}", query)
        sums = ", ".join(f"(SELECT SUM(revenue) FROM {by}{i}) AS {by}_total" for by in ("region", "product"))
        engine.create_stream_table(f"total{i}", f"SELECT {sums}", strict=True)
    engine.create_stream_table("alone", "SELECT COUNT(*) AS n FROM sales")


@dataclass
class Run:
    """What goes on besides scheduling, how often it did, and what was wrong."""

    folder: Path
    catalog: str
    spark: SparkSession
    depth: int
    over: threading.Event = field(default_factory=threading.Event)
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Of whoever writes: Iceberg refuses a DELETE that another one overtook, and that is not the question here."""
    files: threading.Lock = field(default_factory=threading.Lock)
    """Of whoever needs the files of the sources: one of them is away at times."""

    def opened(self) -> AbstractContextManager[Engine]:
        """Another engine on the same lake."""
        return opened(self.spark, self.folder, catalog=self.catalog)

    def write(self) -> None:
        dice, number = random.Random(1), 10
        with self.opened() as engine:
            while not self.over.wait(2 * dice.random()):
                number += 1
                with self.turn:
                    self._write_once(engine, dice, number)
                self.counts["writes"] += 1

    def _write_once(self, engine: Engine, dice: random.Random, number: int) -> None:
        source = dice.choice(SOURCES)
        row = f"({number}, '{dice.choice('ns')}', '{dice.choice('abc')}', {dice.randrange(100)})"
        match dice.randrange(6):
            case 0:
                engine.sql(f"DELETE FROM {source} WHERE id = {dice.randrange(number)}")
            case 1:
                # Rewrites most files into one, so that there are never very many.
                # What is poison stays poison until it is mended: somebody waits for the failure.
                which = f"region = '{dice.choice('ns')}' AND NOT amount <=> {POISON}"
                engine.sql(f"UPDATE {source} SET amount = amount + 1 WHERE {which}")
            case 2:
                with engine.transaction() as tx:
                    for each in SOURCES:
                        tx.sql(f"INSERT INTO {each} VALUES {row}")
            case _:
                engine.sql(f"INSERT INTO {source} VALUES {row}")

    def read(self) -> None:
        """All totals at one moment, again and again; every so often whether a table is what its query gives."""
        dice, read = random.Random(2), totals(self.depth)
        union = " UNION ALL ".join(f"SELECT region_total, product_total FROM {name}" for name in read)
        with self.opened() as engine:
            # Those who schedule need the machine, too.
            while not self.over.wait(dice.random()):
                with engine.snapshot(read) as snap:
                    seen = {value for row in snap.sql(union).collect() for value in row}
                if len(seen) != 1:
                    self.violations.append(f"totals that differ: {seen}")
                self.counts["reads"] += 1
                if self.counts["reads"] % 5 == 0:
                    self.verify(engine, dice.choice(names(self.depth)))

    def verify(self, engine: Engine, name: str) -> None:
        with self.files:
            found = engine.verify(name)
        if not found.ok:
            self.violations.append(f"'{name}' is not its query's answer at its frontier: {found.sample}")
        self.counts["verified"] += 1


def hide_newest_file(engine: Engine, until: Callable[[], bool], seconds: float) -> None:
    """A new row, whose file is away until then. Whoever reads it meanwhile fails."""
    before = _files(engine)
    engine.sql("INSERT INTO sales VALUES (-1, 'n', 'a', 1)")
    hidden = [Path(name) for name in _files(engine) - before]
    for path in hidden:
        path.rename(f"{path}.away")
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        time.sleep(0.1)
    for path in hidden:
        path.with_name(f"{path.name}.away").rename(path)


def _files(engine: Engine) -> set[str]:
    return {
        urlparse(row[0]).path for row in engine.spark.sql("SELECT file_path FROM lake.default.sales.files").collect()
    }


def mend(engine: Engine) -> None:
    """What somebody does who was told of a failure."""
    engine.ungate_sources(list(SOURCES))
    engine.sql(f"DELETE FROM sales WHERE amount = {POISON}")
    for table in engine.stream_tables():
        if table.status in (Status.ERROR, Status.SUSPENDED):
            engine.resume_stream_table(str(table.name))
