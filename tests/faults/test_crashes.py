"""A process is killed at every step of a refresh and of a user's transaction: all of it is there, or nothing.

All of them are held at their steps in one worker, which then kills itself; see `worker.py`. Meanwhile this process
reads all the lakes, over and over.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.events import Step
from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.names import INTERNAL_NAMESPACE
from tests.faults import shop
from tests.faults.children import working
from tests.faults.conftest import Copy, Lake

LIFE_SECONDS = 240.0
IN_A_JOB = "in_a_job"

REFRESHES = [
    ("sqlite", Step.PINNED),
    ("sqlite", Step.STAGED),
    ("sqlite", Step.ALL_STAGED),
    ("sqlite", Step.PUBLISHING),
    ("sqlite", Step.PUBLISHED),
    ("sqlite", IN_A_JOB),
    ("postgresql", Step.STAGED),
    ("postgresql", Step.PUBLISHING),
    ("postgresql", Step.PUBLISHED),
]
PAYMENTS = [
    ("sqlite", Step.ALL_STAGED),
    ("sqlite", Step.PUBLISHING),
    ("sqlite", Step.PUBLISHED),
    ("postgresql", Step.PUBLISHING),
    ("postgresql", Step.PUBLISHED),
]


@dataclass
class Victim:
    """One lake of the killed process, and what a reader saw in it."""

    lake: Lake
    engine: Engine
    seen: list[shop.Contents] = field(default_factory=list)

    def look(self) -> None:
        self.seen.append(shop.read(self.engine))


Victims = dict[tuple[str, str, str], Victim]


@pytest.fixture(scope="module")
def killed(spark: SparkSession, copy_of_shop: Copy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    """Every lake after the crash."""
    cases = [("refresh", *case) for case in REFRESHES] + [("payment", *case) for case in PAYMENTS]
    with ExitStack() as stack:
        victims: Victims = {}
        for work, database, step in cases:
            lake = copy_of_shop(database, traded=work == "refresh")
            engine = spark_trickle.connect(lake.warehouse, catalog=lake.catalog, spark=spark.newSession())
            victims[work, database, str(step)] = Victim(lake, stack.enter_context(engine))
        _kill(victims, tmp_path_factory.mktemp("worker") / "log")
        yield victims


def _kill(victims: Victims, log: Path) -> None:
    home = next(iter(victims.values())).lake
    with working(home.address, log) as worker:
        worker.start()
        for victim in victims.values():
            victim.look()
        for (work, _, step), victim in victims.items():
            if step != IN_A_JOB:
                worker.tell("hold", lake=victim.lake.address, work=work, step=step)
        # Commands run in turn: when this one runs, all others are at their steps.
        worker.tell("die_in_a_job", lake=victims["refresh", "sqlite", IN_A_JOB].lake.address)
        deadline = time.monotonic() + LIFE_SECONDS
        while worker.process.poll() is None and time.monotonic() < deadline:
            for victim in victims.values():
                victim.look()
        assert worker.process.wait(timeout=1) == -signal.SIGKILL, worker.words()
        assert worker.jvm_is_gone(30)
    for victim in victims.values():
        victim.look()


def _ids(cases: list[tuple[str, Step]] | list[tuple[str, str]]) -> list[str]:
    return [f"{database}-{step}" for database, step in cases]


def test_the_stream_tables_that_crash_have_internal_state_and_repeated_rows(killed: Victims) -> None:
    tables = {str(t.name): t for t in killed["refresh", "sqlite", Step.PINNED].engine.stream_tables()}
    assert [name.namespace for name in tables["by_region"].internal_tables] == [INTERNAL_NAMESPACE]
    assert max(shop.OPENING.contents().values()) == 2


@pytest.mark.parametrize(("database", "step"), REFRESHES, ids=_ids(REFRESHES))
def test_readers_during_a_refresh_that_is_killed_see_all_of_it_or_nothing(
    killed: Victims, database: str, step: str
) -> None:
    seen = killed["refresh", database, step].seen
    before, after = shop.OPENING.contents(), shop.TRADED.contents()
    late = [contents == after for contents in seen if contents != before]
    assert all(late), "a mixture of versions was read"
    assert len(seen) > 2
    assert bool(late) == (step == Step.PUBLISHED)
    assert seen == sorted(seen, key=lambda contents: contents == after), "what was published went away again"


@pytest.mark.parametrize(("database", "step"), REFRESHES, ids=_ids(REFRESHES))
def test_after_a_refresh_was_killed_the_next_one_is_differential_and_counts_nothing_twice(
    killed: Victims, database: str, step: str
) -> None:
    engine = killed["refresh", database, step].engine
    landed = step == Step.PUBLISHED
    assert shop.wrong(engine) == []
    published_by_the_dead = {name: [1, 2] if landed else [1] for name in shop.GROUP}
    assert {name: shop.epochs(engine.history(name)) for name in shop.GROUP} == published_by_the_dead

    expected = Action.NO_DATA if landed else Action.DIFFERENTIAL
    assert shop.actions(engine) == dict.fromkeys(shop.GROUP, expected)
    assert shop.read(engine) == shop.TRADED.contents()
    assert shop.wrong(engine, shop.GROUP) == []

    rows = {name: engine.history(name) for name in shop.GROUP}
    assert {name: shop.epochs(history) for name, history in rows.items()} == {name: [1, 2] for name in shop.GROUP}
    assert {row.status for history in rows.values() for row in history} == {Outcome.COMPLETED}
    assert [len({history[back].cut for history in rows.values()}) for back in range(1 + landed)] == [1] * (1 + landed)
    assert {len(history) for history in rows.values()} == {3 if landed else 2}


@pytest.mark.parametrize(("database", "step"), PAYMENTS, ids=_ids(PAYMENTS))
def test_a_transaction_that_is_killed_leaves_all_of_its_writes_or_none(
    killed: Victims, database: str, step: str
) -> None:
    victim = killed["payment", database, step]
    engine, landed = victim.engine, step == Step.PUBLISHED
    opening, paid = shop.OPENING.contents(), shop.PAID.contents()
    assert [each for each in victim.seen if each not in (opening, paid)] == []
    assert victim.seen[-1] == (paid if landed else opening)
    books = shop.PAID if landed else shop.OPENING
    for name in ("debits", "credits"):
        rows = sorted(tuple(row) for row in engine.spark.table(name).collect())
        assert rows == sorted(getattr(books, name)), name
    assert shop.wrong(engine, [shop.BALANCE]) == []
    assert shop.epochs(engine.history(shop.BALANCE)) == ([1, 2] if landed else [1])

    if not landed:
        shop.pay(engine)
    assert shop.read(engine) == paid
    assert shop.wrong(engine, [shop.BALANCE]) == []
    newest = engine.history(shop.BALANCE)[0]
    assert (newest.action, newest.mode, newest.epoch) == (Action.DIFFERENTIAL, "IMMEDIATE", 2)
