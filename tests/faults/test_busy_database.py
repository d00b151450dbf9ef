"""Somebody holds the catalog's database: a refresh waits, and gives up with a typed error when that takes too long."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import psycopg
import pytest
from sqlalchemy.engine import make_url

from spark_trickle.catalog.database import Database
from spark_trickle.errors import StreamTableError, UnavailableError
from spark_trickle.events import Event, Noticed, RefreshFailed, Step, StepReached
from spark_trickle.model.refresh import Action, Outcome
from tests.faults import shop
from tests.faults.conftest import Copy, Lake, Open

IMPATIENT_SECONDS = 0.5
LONG_SECONDS = 60.0


@contextmanager
def write_lock(lake: Lake) -> Iterator[None]:
    """Somebody else's write transaction, as another program would have it."""
    url = make_url(lake.catalog)
    if url.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(str(url.database), isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
        return
    database = Database.open(lake.catalog)
    with database.write():
        yield
    database.close()


@contextmanager
def pointers_locked(lake: Lake) -> Iterator[None]:
    """PostgreSQL only: the pointers cannot even be read."""
    with _connected(lake) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE iceberg_tables IN ACCESS EXCLUSIVE MODE")
        yield


def _connected(lake: Lake) -> psycopg.Connection[tuple[object, ...]]:
    url = make_url(lake.catalog).set(drivername="postgresql")
    return psycopg.connect(url.render_as_string(hide_password=False), autocommit=True)


class At:
    """Does something once when a refresh comes to a step, and remembers what it was told."""

    def __init__(self, step: Step, do: Callable[[], object]) -> None:
        self._step: Step | None = step
        self._do = do
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, StepReached) and event.step is self._step:
            self._step = None
            self._do()


def test_a_lock_that_outlasts_the_timeout_is_an_error_and_nothing_is_published(
    copy_of_shop: Copy, open_lake: Open, database: str
) -> None:
    lake = copy_of_shop(database, traded=True)
    with ExitStack() as held:
        watch = At(Step.ALL_STAGED, lambda: held.enter_context(write_lock(lake)))
        engine = open_lake(lake, watch, busy_timeout_seconds=IMPATIENT_SECONDS)
        with pytest.raises(UnavailableError, match="is busy") as caught:
            engine.refresh_stream_tables(shop.GROUP)
        # The failure could not be written down either; that must not hide it, nor pass in silence.
        assert caught.value.__context__ is not None
        assert not isinstance(caught.value.__context__, StreamTableError)
        assert {e.table for e in watch.events if isinstance(e, Noticed)} == set(shop.GROUP)
        assert shop.read(engine) == shop.OPENING.contents()
    assert [row.status for row in engine.history("lines")] == [Outcome.COMPLETED]
    assert shop.actions(engine) == dict.fromkeys(shop.GROUP, Action.DIFFERENTIAL)
    assert shop.read(engine) == shop.TRADED.contents()
    assert shop.wrong(engine, shop.GROUP) == []


def test_a_failure_is_in_the_history_when_the_lock_is_gone_by_then(
    copy_of_shop: Copy, open_lake: Open, database: str
) -> None:
    lake = copy_of_shop(database, traded=True)
    with ExitStack() as held:

        def release(event: Event) -> None:
            if isinstance(event, RefreshFailed):
                held.close()

        watch = At(Step.ALL_STAGED, lambda: held.enter_context(write_lock(lake)))
        engine = open_lake(lake, watch, release, busy_timeout_seconds=IMPATIENT_SECONDS)
        with pytest.raises(UnavailableError):
            engine.refresh_stream_tables(shop.GROUP)
    for name in shop.GROUP:
        failed, loaded = engine.history(name)
        assert (failed.status, failed.epoch, failed.rows_inserted) == (Outcome.FAILED, 1, 0)
        assert failed.error is not None
        assert failed.error.startswith("UnavailableError: ")
        assert failed.frontier == loaded.frontier
    assert shop.read(engine) == shop.OPENING.contents()


def test_a_lock_that_is_shorter_than_the_timeout_is_waited_for(
    copy_of_shop: Copy, open_lake: Open, database: str
) -> None:
    lake = copy_of_shop(database, traded=True)
    locked, waited = threading.Event(), 1.0

    def hold() -> None:
        with write_lock(lake):
            locked.set()
            time.sleep(waited)

    holder = threading.Thread(target=hold)

    def lock() -> None:
        holder.start()
        assert locked.wait(LONG_SECONDS)

    engine = open_lake(lake, At(Step.ALL_STAGED, lock), busy_timeout_seconds=LONG_SECONDS)
    assert shop.actions(engine) == dict.fromkeys(shop.GROUP, Action.DIFFERENTIAL)
    holder.join()
    assert shop.read(engine) == shop.TRADED.contents()


@pytest.mark.parametrize("followed", [True, False], ids=["with IMMEDIATE tables", "by Iceberg alone"])
def test_a_statement_that_cannot_commit_because_the_catalog_is_locked_fails_and_writes_nothing(
    copy_of_shop: Copy, open_lake: Open, followed: bool
) -> None:
    lake = copy_of_shop("sqlite", traded=False)
    engine = open_lake(lake, busy_timeout_seconds=IMPATIENT_SECONDS)
    if not followed:
        engine.alter_stream_table(shop.BALANCE, refresh_mode="DIFFERENTIAL")
    with write_lock(lake), pytest.raises(UnavailableError, match=r"busy|locked"):
        engine.sql("INSERT INTO orders VALUES (50, 1, 'north', 1)")
    assert engine.spark.table("orders").count() == len(shop.OPENING.orders)


def test_a_refresh_does_not_wait_longer_than_the_timeout_for_pointers_that_cannot_be_read(
    copy_of_shop: Copy, open_lake: Open
) -> None:
    lake = copy_of_shop("postgresql", traded=True)
    engine = open_lake(lake, busy_timeout_seconds=IMPATIENT_SECONDS)
    # Opened before, so that only the refresh itself is measured.
    assert engine.spark is not None
    release = threading.Event()

    def hold() -> None:
        with pointers_locked(lake):
            locked.set()
            release.wait(2 * LONG_SECONDS)

    locked = threading.Event()
    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(LONG_SECONDS)
    try:
        started = time.monotonic()
        with pytest.raises(UnavailableError, match="is busy"):
            engine.refresh_stream_tables(shop.GROUP)
        # Whoever holds it does so still: nobody waited for that.
        assert holder.is_alive() and time.monotonic() - started < LONG_SECONDS / 2
    finally:
        release.set()
        holder.join()
    assert shop.actions(engine) == dict.fromkeys(shop.GROUP, Action.DIFFERENTIAL)
    assert shop.read(engine) == shop.TRADED.contents()


def test_after_a_connection_that_breaks_at_the_commit_it_is_looked_whether_it_landed(
    copy_of_shop: Copy, open_lake: Open
) -> None:
    lake = copy_of_shop("postgresql", traded=True)

    def break_connections() -> None:
        with _connected(lake) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'"
            )

    engine = open_lake(lake, At(Step.PUBLISHING, break_connections))
    with pytest.raises(UnavailableError, match="lost the commit"):
        engine.refresh_stream_tables(shop.GROUP)
    assert shop.read(engine) == shop.OPENING.contents()
    assert shop.wrong(engine, shop.GROUP) == []
    engine.refresh_stream_tables(shop.GROUP)
    assert shop.read(engine) == shop.TRADED.contents()
    assert {name: shop.epochs(engine.history(name)) for name in shop.GROUP} == {name: [1, 2] for name in shop.GROUP}
