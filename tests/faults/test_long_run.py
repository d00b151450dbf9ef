"""Everything that a lake can have, over real tables: diamonds one below the other, a circle, sources that wait for each
other, fuses that blow. Somebody writes to all sources all along, members fail, gates close and open, and somebody reads
all along. At every moment the totals of all diamonds agree, a circle is its least fixed point, no hour is seen before
it is whole, and every table is its query's answer at its frontier, or known not to be.

By default this is a short run in one process. `TRICKLE_LONG_RUN=200` makes so many ticks, two diamonds deep, with two
schedulers in processes of their own, which are killed, frozen, and started again, and verify what they published after
each tick; `-s` shows what went on, `-k postgresql` (or sqlite) chooses the database, `TRICKLE_LONG_SEED` the dice,
`TRICKLE_LONG_SECONDS` ends it earlier.
`test_storm` is the same without Spark.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from spark_trickle.model.frontier import commit_number
from spark_trickle.model.fuse import FuseAction
from spark_trickle.names import TableName
from tests.faults import ladder, market
from tests.faults.crew import LEASE_SECONDS, Crew, at_work
from tests.faults.ladder import POISON, hide_newest_file
from tests.faults.run import Closed, Run

pytestmark = pytest.mark.spark

LONG = int(os.environ.get("TRICKLE_LONG_RUN", "0"))
MOST_SECONDS = float(os.environ.get("TRICKLE_LONG_SECONDS", "inf"))
SEED = int(os.environ.get("TRICKLE_LONG_SEED", "1"))
PROGRESS_SECONDS = 1200.0
"""Until it is sure that nobody gets on: the first ticks of a cold JVM may take minutes where much else runs."""
NOBODY_SECONDS = 60.0
"""Until a scheduler that was killed is replaced."""
SETTLING = 6
"""Ticks in which a lake that is left alone comes to rest."""


@pytest.fixture
def lake(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    sqlite = f"sqlite:///{tmp_path}/trickle.db"
    catalog = sqlite if database == "sqlite" else str(request.getfixturevalue("postgres_url"))
    return {"warehouse": str(tmp_path / "lake"), "catalog": catalog}


def in_background(pool: ThreadPoolExecutor, run: Run, work: Callable[[], None]) -> Future[None]:
    def until_it_fails() -> None:
        try:
            work()
        finally:
            run.over.set()

    return pool.submit(until_it_fails)


def settled(run: Run, engine: Engine, now: datetime) -> None:
    """When nobody disturbs it any more, everything comes up to date, and what was skipped is made good."""
    run.market.settle(engine)
    engine.sql("INSERT INTO sales VALUES (100000, 's', 'c', 1)")
    refreshed: set[str] = set()
    for _ in range(SETTLING):
        run.mend(engine, FuseAction.APPLY)
        now += timedelta(minutes=10)
        report = engine.tick(now)
        refreshed |= {outcome.name for outcome in report.refreshed}
        if report.idle and not report.skipped:
            break
    assert report.idle and not report.skipped, report
    assert refreshed >= {*ladder.names(run.depth)}, refreshed
    for table in engine.stream_tables():
        if table.diverged is not None:
            engine.refresh_stream_table(str(table.name), mode="FULL")
    for name in run.names:
        assert engine.status(name).populated and engine.status(name).diverged is None
        run.verify(engine, name)
    assert run.violations == []


def test_no_reader_ever_sees_what_does_not_belong_together(spark: SparkSession, lake: dict[str, str]) -> None:
    run = Run(Path(lake["warehouse"]), lake["catalog"], spark, depth=1)
    now = datetime.now(UTC)
    with run.opened() as engine, ThreadPoolExecutor(2) as pool:
        run.build(engine)
        others = [in_background(pool, run, work) for work in (run.write, run.read)]
        for number, action in enumerate(FuseAction):
            if run.over.is_set():
                break
            now += timedelta(minutes=10)
            one_tick(run, engine, now, number)
            with run.turn:
                run.mend(engine, action)
        run.over.set()
        for other in others:
            other.result()
        settled(run, engine, now)
    assert run.counts["reads"] and run.counts["writes"] and run.watch.blown
    assert all(run.counts[what] for what in ("refreshed", "held: gated", "held: watermark", "held: fuse"))


def one_tick(run: Run, engine: Engine, now: datetime, number: int) -> None:
    """Whatever else was written, each tick has something that changes every table, and a change that is too large; one
    has poison, one a gate.
    """
    poisoned, gated = number % 3 == 1, number % 3 == 2
    with run.turn:
        engine.sql(f"INSERT INTO sales VALUES ({20_000 + number}, 'n', 'a', {1 + number})")
        run.market.load(engine, ("bids", "asks", "bids")[number])
        run.market.load(engine, ("debits", "credits", "debits")[number])
        run.market.flood(engine)
        if poisoned:
            engine.sql(f"INSERT INTO sales VALUES (9999, 'n', 'a', {POISON})")
    if gated:
        engine.gate_source("sales")
    report = engine.tick(now)
    refreshed = {outcome.name for outcome in report.refreshed}
    run.counts.update(refreshed=len(refreshed), failed=len(report.failed))
    run.counts.update(f"held: {code}" for skip in report.skipped for code in skip.codes)
    assert not gated or refreshed.isdisjoint(ladder.names(run.depth))
    assert not poisoned or report.failed
    for name in refreshed:
        run.verify(engine, name)


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
            "flooded": self.flood,
            "by hand": self.refresh,
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
                        self.run.mend(engine)

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
        """Who reads the lake while the gate is closed leaves all that depends on it as it is."""
        source = self.dice.choice((*ladder.SOURCES, *market.SOURCES))
        engine.gate_source(source)
        closed, head = self.run.generation(), self.run.head(source)
        self.run.over.wait(5 + 10 * self.dice.random())
        (gate,) = (row for row in engine.bootstrap_gate_status() if row.gated)
        self.run.gates.append(Closed(gate, head=head, since=closed, until=self.run.generation()))
        engine.ungate_source(source)
        self.run.gates_held()

    def flood(self, engine: Engine) -> None:
        """A change that is too large; what has blown stays as it is for a while."""
        with self.run.turn:
            source, fused = self.run.market.flood(engine)
            head = self.run.head(source)
        end = time.monotonic() + PROGRESS_SECONDS
        while not self.run.over.wait(0.2):
            found = [table for table in engine.stream_tables() if str(table.name) in fused]
            if any(table.fuse.blown is not None for table in found):
                break
            # Where somebody had asked for everything to be computed again, that was computed with it.
            pins = [table.frontier.of(TableName.parse(source)) for table in found]
            if all(pin is not None and commit_number(pin.location) >= head for pin in pins):
                break
            assert time.monotonic() < end, f"the fuse of {fused} has not blown for {PROGRESS_SECONDS:.0f} s"
        self.run.over.wait(3 + 4 * self.dice.random())

    def refresh(self, engine: Engine) -> None:
        """Somebody besides the schedulers. What is in the middle of a unit goes alone, as it was asked to: the end of
        one takes all of it along."""
        last = ladder.totals(self.run.depth)[-1]
        try:
            engine.refresh_stream_table(self.dice.choice(("near", "far", last, "alone", "tally", "plain")))
        except StreamTableError as err:
            self.run.counts[f"by hand: {err.kind}"] += 1

    def get_on(self, ticks: int) -> None:
        self.wait_for("ticks of several", ticks)

    def wait_for(self, what: str, more: int) -> None:
        enough, end = self.crew.done()[what] + more, time.monotonic() + PROGRESS_SECONDS
        while self.crew.done()[what] < enough and not self.run.over.wait(0.2):
            assert time.monotonic() < end, f"no {what} for {PROGRESS_SECONDS:.0f} s"


@pytest.mark.skipif(not LONG, reason="TRICKLE_LONG_RUN says how many ticks")
def test_no_reader_ever_sees_what_does_not_belong_together_whatever_happens_to_schedulers(
    spark: SparkSession, tmp_path: Path, lake: dict[str, str]
) -> None:
    run = Run(Path(lake["warehouse"]), lake["catalog"], spark, depth=2, seed=SEED)
    with run.opened() as engine, ThreadPoolExecutor(3) as pool:
        run.build(engine)
        with at_work(lake, tmp_path / "crew", random.Random(SEED + 4)) as crew:
            trouble = Trouble(run, crew, random.Random(SEED + 5))
            write = partial(run.write, partial(ticked, run, crew))
            others = [in_background(pool, run, work) for work in (write, run.read, trouble.make)]
            watched(run, crew)
            run.over.set()
            for other in others:
                other.result()
            crew.stop()
            run.counts.update(crew.done())
        run.gates_held()
        run.counts["fuses blown"] = run.watch.blown
        run.violations += [what for what in run.counts if what.startswith("violation: ")]
        told = [f"{count} {what}" for what, count in sorted(run.counts.items())]
        told += [f"{len(run.violations)} violations", *run.violations]
        print("\n" + ", ".join(told), flush=True)  # noqa: T201
        settled(run, engine, datetime.now(UTC))
    assert all(run.counts[f"fault: {kind}"] for kind in trouble.kinds) or 5 * len(trouble.kinds) > run.counts["ticks"]


def ticked(run: Run, crew: Crew) -> None:
    """Wait for a tick that began after this, however long they take; for a while, as there may be nobody who ticks."""
    under_way_and_next, end = crew.passes() + 2, time.monotonic() + NOBODY_SECONDS
    while crew.passes() < under_way_and_next and time.monotonic() < end and not run.over.wait(0.2):
        pass


def watched(run: Run, crew: Crew) -> None:
    """Until there were enough ticks, or something is wrong."""
    told, started = 0, time.monotonic()
    while not run.over.wait(1) and not run.violations and (ticks := crew.done()["ticks"]) < LONG:
        if time.monotonic() > started + MOST_SECONDS:
            return
        if ticks >= told + 10:
            told = ticks
            print(f"{time.monotonic() - started:.0f} s: {ticks} ticks, {dict(run.counts)}", flush=True)  # noqa: T201
