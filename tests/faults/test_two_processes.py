"""Two processes refresh the same stream tables while somebody writes to the sources; then one of them loses its JVM."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from spark_trickle.model.refresh import Action, Outcome
from tests.faults import shop
from tests.faults.children import Worker, working
from tests.faults.conftest import Copy, Open
from tests.faults.worker import attempt

RACE_SECONDS = 8.0
LONGEST_PAUSE_SECONDS = 2.0
WRITER_PAUSE_SECONDS = 0.2
ANSWER_SECONDS = 60.0


class Writer(threading.Thread):
    """Adds orders and takes every third away again, until told to stop."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(daemon=True)
        self._engine = engine
        self._enough = threading.Event()
        self.books = shop.OPENING
        self.failure: StreamTableError | None = None

    def run(self) -> None:
        number = 100
        while not self._enough.is_set() and self.failure is None:
            try:
                self._one(number)
            except StreamTableError as err:
                self.failure = err
            number += 1
            self._enough.wait(WRITER_PAUSE_SECONDS)

    def stop(self) -> shop.Books:
        self._enough.set()
        self.join(ANSWER_SECONDS)
        assert not self.is_alive()
        assert self.failure is None
        return self.books

    def _one(self, number: int) -> None:
        order = shop.Order(number, 1 + number % 3, f"region {number % 4}", number)
        self._engine.sql(f"INSERT INTO orders VALUES {order.sql}")
        self.books = replace(self.books, orders=(*self.books.orders, order))
        if number % 3 == 0:
            self._engine.sql(f"DELETE FROM orders WHERE id = {number - 1}")
            kept = tuple(each for each in self.books.orders if each.id != number - 1)
            self.books = replace(self.books, orders=kept)


@pytest.fixture(scope="module")
def worker(copy_of_shop: Copy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    home = copy_of_shop("sqlite", traded=False)
    with working(home.address, tmp_path_factory.mktemp("worker") / "log") as started:
        started.start()
        yield started


def test_two_processes_that_refresh_at_once_publish_each_epoch_once_and_lose_nothing(
    worker: Worker, copy_of_shop: Copy, open_lake: Open, database: str
) -> None:
    lake = copy_of_shop(database, traded=False)
    mine, pauses = Counter[str](), random.Random(7)
    engine = open_lake(lake)
    writer = Writer(open_lake(lake))
    worker.tell("race", lake=lake.address, seconds=RACE_SECONDS, at_most=ANSWER_SECONDS)
    writer.start()
    began = time.monotonic()
    # The quicker of two may win every time; the other goes on until it has published, too.
    while (took := time.monotonic() - began) < RACE_SECONDS or (
        not mine[Action.DIFFERENTIAL] and took < ANSWER_SECONDS
    ):
        mine.update(attempt(engine))
        time.sleep(pauses.uniform(0, LONGEST_PAUSE_SECONDS))
    theirs: Counter[str] = Counter(worker.answer(2 * ANSWER_SECONDS))
    books = writer.stop()
    shop.actions(engine)

    allowed = {Action.DIFFERENTIAL, Action.NO_DATA, "ConflictError"}
    assert set(mine) | set(theirs) <= allowed, (mine, theirs)
    assert mine[Action.DIFFERENTIAL] > 0
    assert theirs[Action.DIFFERENTIAL] > 0
    assert shop.read(engine) == books.contents()
    assert shop.wrong(engine) == []

    tables = {str(table.name): table for table in engine.stream_tables()}
    conflicts = mine["ConflictError"] + theirs["ConflictError"]
    for name in shop.GROUP:
        rows = engine.history(name, limit=1000)
        assert shop.epochs(rows) == list(range(1, tables[name].epoch + 1)), name
        assert sum(row.status is Outcome.FAILED for row in rows) == conflicts
        changed = sum(row.rows_inserted - row.rows_deleted for row in rows)
        assert changed == sum(n for row, n in books.contents().items() if row[0] == name), name


def test_a_refresh_that_loses_its_jvm_is_told_so_and_nothing_of_it_stays(
    worker: Worker, copy_of_shop: Copy, open_lake: Open
) -> None:
    lake = copy_of_shop("sqlite", traded=True)
    worker.tell("lose_jvm", lake=lake.address)
    assert worker.answer(ANSWER_SECONDS).startswith("UnavailableError: Spark went away while ")
    engine = open_lake(lake)
    assert shop.read(engine) == shop.OPENING.contents()
    assert engine.history("lines")[0].status is Outcome.FAILED
    assert shop.actions(engine) == dict.fromkeys(shop.GROUP, Action.DIFFERENTIAL)
    assert shop.read(engine) == shop.TRADED.contents()
