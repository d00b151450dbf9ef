"""Diamonds, one below the other, over real tables: somebody writes to all sources all along, members fail, gates
close and open, and somebody reads all along. At every moment the totals of all diamonds agree, and every table is its
query's answer at its frontier.

By default this is a short run in one process, two diamonds deep. `TRICKLE_LONG_RUN=200` makes so many ticks, four deep,
with two schedulers in processes of their own, which are killed, frozen, and started again; `-s` shows what went on, and
`-k postgresql` (or sqlite) chooses the database.
`test_storm` is the same without Spark.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from tests.faults.crew import LEASE_SECONDS, Crew, at_work
from tests.faults.ladder import POISON, SOURCES, Run, build, hide_newest_file, mend, names

pytestmark = pytest.mark.spark

SHORT = 3
LONG = int(os.environ.get("TRICKLE_LONG_RUN", "0"))
PROGRESS_SECONDS = 300.0


def in_background(pool: ThreadPoolExecutor, run: Run, work: Callable[[], None]) -> Future[None]:
    def until_it_fails() -> None:
        try:
            work()
        finally:
            run.over.set()

    return pool.submit(until_it_fails)


def settled(run: Run, engine: Engine, now: datetime) -> None:
    """When nobody disturbs it any more, one tick brings everything up to date."""
    mend(engine)
    engine.sql("INSERT INTO sales VALUES (100000, 's', 'c', 1)")
    report = engine.tick(now)
    assert len(report.refreshed) == len(names(run.depth)), report
    for name in names(run.depth):
        run.verify(engine, name)
    assert run.violations == []


def test_no_reader_ever_sees_totals_that_differ(spark: SparkSession, tmp_path: Path) -> None:
    run = Run(tmp_path / "lake", f"sqlite:///{tmp_path}/trickle.db", spark, depth=2)
    now = datetime.now(UTC)
    with run.opened() as engine, ThreadPoolExecutor(2) as pool:
        build(engine, run.depth)
        others = [in_background(pool, run, work) for work in (run.write, run.read)]
        for number in range(SHORT):
            if run.over.is_set():
                break
            now += timedelta(minutes=10)
            poisoned, gated = number % 3 == 1, number % 3 == 2
            with run.turn:
                # Whatever else was written, each tick has something that changes every table.
                engine.sql(f"INSERT INTO sales VALUES ({20_000 + number}, 'n', 'a', {1 + number})")
                if poisoned:
                    engine.sql(f"INSERT INTO sales VALUES (9999, 'n', 'a', {POISON})")
            if gated:
                engine.gate_source("sales")
            report = engine.tick(now)
            run.counts.update(refreshed=len(report.refreshed), failed=len(report.failed), skipped=len(report.skipped))
            assert not gated or not report.refreshed
            assert not poisoned or report.failed
            with run.turn:
                mend(engine)
        run.over.set()
        for other in others:
            other.result()
        settled(run, engine, now + timedelta(minutes=10))
    assert run.counts["reads"] and run.counts["writes"] and run.counts["refreshed"] >= len(names(run.depth))


class Trouble:
    """Faults of every kind, one after the other; after each, the schedulers must get on."""

    def __init__(self, run: Run, crew: Crew, dice: random.Random) -> None:
        self.run = run
        self.crew = crew
        self.dice = dice
        self.kinds: dict[str, Callable[[Engine], None]] = {
            "killed": self.kill,
            "frozen": self.freeze,
            "poisoned": self.poison,
            "file away": self.hide,
            "gated": self.gate,
        }

    def make(self) -> None:
        with self.run.opened() as engine:
            while not self.run.over.is_set():
                for kind in self.dice.sample(sorted(self.kinds), len(self.kinds)):
                    self.get_on(1 + self.dice.randrange(2))
                    if self.run.over.wait(self.dice.random() * 5):
                        return
                    self.kinds[kind](engine)
                    if not self.run.over.is_set():
                        self.run.counts[f"fault: {kind}"] += 1
                    with self.run.turn:
                        mend(engine)

    def kill(self, _engine: Engine) -> None:
        self.crew.kill()

    def freeze(self, _engine: Engine) -> None:
        self.crew.freeze(LEASE_SECONDS + 2 * self.dice.random())

    def poison(self, engine: Engine) -> None:
        with self.run.turn:
            engine.sql(f"INSERT INTO sales VALUES (9999, 'n', 'a', {POISON})")
        self.wait_for("failed", 1)

    def hide(self, engine: Engine) -> None:
        before = self.crew.done()["failed"]
        with self.run.turn, self.run.files:
            hide_newest_file(engine, lambda: self.crew.done()["failed"] > before, PROGRESS_SECONDS)

    def gate(self, engine: Engine) -> None:
        engine.gate_source(self.dice.choice(SOURCES))
        self.run.over.wait(5 + 10 * self.dice.random())

    def get_on(self, ticks: int) -> None:
        self.wait_for("ticks of diamonds", ticks)

    def wait_for(self, what: str, more: int) -> None:
        enough, end = self.crew.done()[what] + more, time.monotonic() + PROGRESS_SECONDS
        while self.crew.done()[what] < enough and not self.run.over.wait(0.2):
            assert time.monotonic() < end, f"no {what} for {PROGRESS_SECONDS:.0f} s"


@pytest.mark.skipif(not LONG, reason="TRICKLE_LONG_RUN says how many ticks")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_no_reader_ever_sees_totals_that_differ_whatever_happens_to_schedulers(
    spark: SparkSession, tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    sqlite = f"sqlite:///{tmp_path}/trickle.db"
    catalog = sqlite if database == "sqlite" else str(request.getfixturevalue("postgres_url"))
    run = Run(tmp_path / "lake", catalog, spark, depth=4)
    lake = {"warehouse": str(run.folder), "catalog": catalog}
    with run.opened() as engine, ThreadPoolExecutor(3) as pool:
        build(engine, run.depth)
        with at_work(lake, tmp_path / "crew", random.Random(4)) as crew:
            trouble = Trouble(run, crew, random.Random(5))
            others = [in_background(pool, run, work) for work in (run.write, run.read, trouble.make)]
            watched(run, crew)
            run.over.set()
            for other in others:
                other.result()
            crew.stop()
            run.counts.update(crew.done())
        settled(run, engine, datetime.now(UTC) + timedelta(minutes=10))
    told = [f"{count} {what}" for what, count in sorted(run.counts.items())]
    print("\n" + ", ".join(told), f"{len(run.violations)} violations", sep=", ")  # noqa: T201
    assert all(run.counts[f"fault: {kind}"] for kind in trouble.kinds) or len(trouble.kinds) > LONG


def watched(run: Run, crew: Crew) -> None:
    """Until there were enough ticks, or something is wrong."""
    told, started = 0, time.monotonic()
    while not run.over.wait(1) and not run.violations and (ticks := crew.done()["ticks"]) < LONG:
        if ticks >= told + 10:
            told = ticks
            print(f"{time.monotonic() - started:.0f} s: {ticks} ticks, {dict(run.counts)}", flush=True)  # noqa: T201
