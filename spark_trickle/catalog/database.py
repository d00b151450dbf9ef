"""Connections and transactions, and every difference between SQLite and PostgreSQL. What is stored is elsewhere.

Writers take turns on both databases (BEGIN IMMEDIATE, or an advisory lock), so what a write transaction has read of our
tables is still true when it commits. Iceberg's own commits do not take that turn: pointers are compared and swapped.
A read transaction is one snapshot and cannot write.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from spark_trickle.catalog import address, schema
from spark_trickle.catalog.address import Backend
from spark_trickle.catalog.failures import translate, translate_at_commit
from spark_trickle.errors import ConfigError, InternalError, UnavailableError

if TYPE_CHECKING:
    import psycopg

DEFAULT_BUSY_TIMEOUT_SECONDS = 30.0

_BEGIN = "trickle_begin"
_WRITER_LOCK = 0x74_72_69_63_6B_6C_65
"""Key of the advisory lock: 'trickle' in ASCII."""


class Database:
    """One open catalog database. Safe to share between threads; each transaction has a connection of its own."""

    def __init__(self, where: address.Address) -> None:
        self._address = where
        self._engine = _engine(where)
        self._writing = threading.local()
        self._watching: sqlite3.Connection | None = None
        self._watching_lock = threading.Lock()

    @classmethod
    def open(cls, url: str, *, busy_timeout_seconds: float = DEFAULT_BUSY_TIMEOUT_SECONDS) -> Database:
        """Connect, and make or migrate the tables where needed. Several processes may do so at once."""
        database = cls(address.parse(url, busy_timeout_seconds))
        try:
            database._prepare()
        except BaseException:
            database.close()
            raise
        return database

    @property
    def shown_url(self) -> str:
        """The URL, secrets masked."""
        return self._address.shown

    @property
    def backend(self) -> Backend:
        return self._address.backend

    def jdbc_url(self) -> str:
        return self._address.jdbc_url()

    def jdbc_properties(self) -> dict[str, str]:
        return self._address.jdbc_properties()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction: commits on leaving, rolls back on any exception. Writers wait for each other."""
        if getattr(self._writing, "now", False):
            # It would wait for itself until the timeout.
            raise InternalError("a write transaction was opened inside another one of the same thread")
        self._writing.now = True
        try:
            with self._transaction(_options(self.backend, writes=True)) as connection:
                yield connection
        finally:
            self._writing.now = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all statements see one snapshot of the database, and none can write."""
        with self._transaction(_options(self.backend, writes=False)) as connection:
            yield connection

    def stamp(self) -> str:
        """Something that is different after any commit, by whomever, and costs next to nothing to ask for."""
        if self.backend is Backend.POSTGRESQL:
            # Two equal snapshots see the same transactions.
            with self.read() as connection:
                return str(connection.execute(text("SELECT CAST(pg_current_snapshot() AS TEXT)")).scalar_one())
        with self._watching_lock:
            try:
                if self._watching is None:
                    # It tells of the commits of other connections, so it has one that never commits anything.
                    self._watching = sqlite3.connect(str(self._address.path), check_same_thread=False)
                return str(self._watching.execute("PRAGMA data_version").fetchone()[0])
            except sqlite3.Error as err:
                raise UnavailableError(f"the catalog '{self.shown_url}' cannot be read: {err}") from err

    def close(self) -> None:
        """Close the pooled connections. A later transaction opens new ones."""
        with self._watching_lock:
            if self._watching is not None:
                self._watching.close()
            self._watching = None
        self._engine.dispose()

    def __repr__(self) -> str:
        return f"Database({self.shown_url!r})"

    @contextmanager
    def _transaction(self, options: dict[str, Any]) -> Iterator[Connection]:
        try:
            with self._engine.connect() as raw:
                connection = raw.execution_options(**options)
                connection.begin()
                if options.get(_BEGIN) == "advisory":
                    self._take_turn(connection)
                try:
                    yield connection
                except BaseException:
                    # A broken connection cannot roll back; the server does it, and the first error is the one to tell.
                    with suppress(SQLAlchemyError):
                        connection.rollback()
                    raise
                self._commit(connection)
        except SQLAlchemyError as err:
            raise translate(err, self.shown_url) from err

    def _commit(self, connection: Connection) -> None:
        if self.backend is Backend.POSTGRESQL and _has_failed(connection):
            # COMMIT would roll back and report success.
            raise InternalError("a statement of this transaction failed and its error was not let through")
        try:
            connection.commit()
        except SQLAlchemyError as err:
            with suppress(SQLAlchemyError):
                connection.rollback()
            raise translate_at_commit(err, self.shown_url) from err

    def _take_turn(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITER_LOCK})

    def _prepare(self) -> None:
        path = self._address.path
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as err:
                raise ConfigError(f"cannot make the folder of the catalog '{self.shown_url}': {err.strerror}") from err
        with self.read() as connection:
            current = schema.is_current(connection)
        if not current:
            with self.write() as connection:
                schema.migrate(connection)


def _options(backend: Backend, *, writes: bool) -> dict[str, Any]:
    match backend, writes:
        case Backend.SQLITE, True:
            return {_BEGIN: "BEGIN IMMEDIATE"}
        case Backend.SQLITE, False:
            return {_BEGIN: "BEGIN"}
        case _, True:
            return {_BEGIN: "advisory", "isolation_level": "READ COMMITTED"}
        case _:
            return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def _engine(where: address.Address) -> Engine:
    # Errors are shown to users; statements and their parameters are not.
    common: dict[str, Any] = {"hide_parameters": True, "poolclass": QueuePool, "pool_size": 4, "max_overflow": 28}
    common["pool_timeout"] = where.busy_timeout_seconds
    if where.backend is Backend.POSTGRESQL:
        # A server that restarted meanwhile costs one more connection, not an error.
        engine = create_engine(where.url, pool_pre_ping=True, connect_args={"connect_timeout": 10}, **common)
        event.listen(engine, "connect", lambda made, _: _prepare_postgresql(made, where.busy_timeout_seconds))
        return engine
    waits = {"timeout": where.busy_timeout_seconds, "check_same_thread": False}
    engine = create_engine(where.url, connect_args=waits, **common)
    event.listen(engine, "connect", lambda connection, _: _prepare_sqlite(connection, where.busy_timeout_seconds))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, busy_timeout_seconds: float) -> None:
    # The driver would begin transactions by itself, late and never IMMEDIATE; the "begin" event does it instead.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # Going to write-ahead logging does not wait for other connections as statements do, so the waiting is here.
    patience = time.monotonic() + busy_timeout_seconds
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as err:
            if err.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
            time.sleep(0.01)


def _prepare_postgresql(connection: psycopg.Connection[Any], busy_timeout_seconds: float) -> None:
    # Reads wait for locks too: of whoever alters or locks Iceberg's tables.
    connection.execute("SELECT set_config('lock_timeout', %s, false)", [str(round(busy_timeout_seconds * 1000))])
    # The driver reads moments in the session's time zone, and the last of them is past the year 9999 in some.
    connection.execute("SELECT set_config('timezone', 'UTC', false)")
    connection.commit()


def _has_failed(connection: Connection) -> bool:
    driver: Any = connection.connection.driver_connection
    return driver is not None and driver.info.transaction_status.name == "INERROR"


def _begin_sqlite(connection: Connection) -> None:
    begin = connection.get_execution_options().get(_BEGIN, "BEGIN")
    connection.exec_driver_sql(f"PRAGMA query_only = {'OFF' if begin == 'BEGIN IMMEDIATE' else 'ON'}")
    connection.exec_driver_sql(begin)
