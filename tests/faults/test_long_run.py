"""Four diamonds, one below the other, over real tables: somebody writes all along, members fail, a gate closes and
opens, and somebody reads all along. At every moment the totals of each diamond agree, and every table is its query's
answer.

`TRICKLE_LONG_RUN=200` makes so many ticks; by default it is a short run. The same with schedulers that are killed is
`test_storm`.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.model.stream_table import Status
from tests.spark.engines import opened

pytestmark = pytest.mark.spark

TICKS = int(os.environ.get("TRICKLE_LONG_RUN", "3"))
DEPTH = 4
POISON = -666


def build(engine: Engine) -> None:
    engine.sql("CREATE TABLE sales (id INT, region STRING, product STRING, amount BIGINT)")
    engine.sql("INSERT INTO sales VALUES (0, 'north', 'a', 10), (1, 'south', 'b', 20), (2, NULL, 'a', NULL)")
    for i in range(DEPTH):
        above = f" CROSS JOIN total{i - 1}" if i else ""
        # A poisoned row cannot be computed with; only the first diamond looks.
        amount = "amount" if i else f"amount DIV IF(amount = {POISON}, 0, 1)"
        for by in ("region", "product"):
            query = f"SELECT {by}, SUM({amount}) AS revenue FROM sales{above} GROUP BY {by}"
            engine.create_stream_table(f"{by}{i}", query, schedule="1s")
        totals = ", ".join(f"(SELECT SUM(revenue) FROM {by}{i}) AS {by}_total" for by in ("region", "product"))
        engine.create_stream_table(f"total{i}", f"SELECT {totals}", schedule="1s", strict=True)


@dataclass
class Run:
    """What goes on besides scheduling, and how often it did."""

    folder: Path
    spark: SparkSession
    over: threading.Event = field(default_factory=threading.Event)
    counts: Counter[str] = field(default_factory=Counter)
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Of whoever writes: Iceberg refuses a DELETE that another one overtook, and that is not the question here."""

    def write(self) -> None:
        dice, number = random.Random(1), 10
        with opened(self.spark, self.folder) as engine:
            while not self.over.wait(dice.random()):
                number += 1
                place = f"'{dice.choice('ns')}', '{dice.choice('abc')}'"
                match dice.randrange(5):
                    case 0:
                        statement = f"DELETE FROM sales WHERE id = {dice.randrange(number)}"
                    case 1:
                        statement = f"UPDATE sales SET amount = amount + 1 WHERE region = '{dice.choice('ns')}'"
                    case _:
                        statement = f"INSERT INTO sales VALUES ({number}, {place}, {dice.randrange(100)})"
                with self.turn:
                    engine.sql(statement)
                self.counts["writes"] += 1

    def read(self) -> None:
        dice = random.Random(2)
        with opened(self.spark, self.folder) as engine:
            names = [f"total{i}" for i in range(DEPTH)]
            while not self.over.is_set():
                with engine.snapshot(names) as snap:
                    union = " UNION ALL ".join(f"SELECT region_total, product_total FROM {name}" for name in names)
                    seen = {value for row in snap.sql(union).collect() for value in row}
                assert len(seen) == 1, f"totals that differ: {seen}"
                name = dice.choice(names)
                assert engine.verify(name).ok, name
                self.counts["reads"] += 1


def in_background(pool: ThreadPoolExecutor, run: Run, work: Callable[[], None]) -> Future[None]:
    def until_it_fails() -> None:
        try:
            work()
        finally:
            run.over.set()

    return pool.submit(until_it_fails)


def test_no_reader_ever_sees_totals_that_differ(spark: SparkSession, tmp_path: Path) -> None:
    run, dice = Run(tmp_path / "lake", spark), random.Random(3)
    now = datetime.now(UTC)
    with opened(spark, run.folder) as engine, ThreadPoolExecutor(2) as pool:
        build(engine)
        others = [in_background(pool, run, work) for work in (run.write, run.read)]
        for number in range(TICKS):
            if run.over.is_set():
                break
            now += timedelta(minutes=10)
            poisoned, gated = number % 3 == 1, dice.random() < 0.2
            with run.turn:
                # Whatever else was written, each tick has something that changes every table.
                engine.sql(f"INSERT INTO sales VALUES ({20_000 + number}, 'north', 'a', {1 + number})")
                if poisoned:
                    engine.sql(f"INSERT INTO sales VALUES (9999, 'north', 'a', {POISON})")
            if gated:
                engine.gate_source("sales")
            report = engine.tick(now)
            run.counts.update(refreshed=len(report.refreshed), failed=len(report.failed), skipped=len(report.skipped))
            assert not gated or not report.refreshed
            assert not poisoned or gated or report.failed
            with run.turn:
                mend(engine)
        run.over.set()
        for other in others:
            other.result()
        engine.sql("INSERT INTO sales VALUES (10000, 'south', 'c', 1)")
        report = engine.tick(now + timedelta(minutes=10))
        assert len(report.refreshed) == 3 * DEPTH, report
        assert all(engine.verify(str(table.name)).ok for table in engine.stream_tables())
    assert run.counts["reads"] and run.counts["writes"] and run.counts["refreshed"] >= 3 * DEPTH
    print(f"{TICKS} ticks: {dict(run.counts)}")  # noqa: T201


def mend(engine: Engine) -> None:
    """What somebody does who was told of a failure."""
    engine.ungate_source("sales")
    engine.sql(f"DELETE FROM sales WHERE amount = {POISON}")
    for table in engine.stream_tables():
        if table.status is Status.ERROR:
            engine.resume_stream_table(str(table.name))
