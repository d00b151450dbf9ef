"""Errors of the database drivers, made into ours. The only reader of driver error codes; retries nothing."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from spark_trickle.config import mask_url
from spark_trickle.errors import (
    CommitUnknownError,
    ConfigError,
    InternalError,
    StreamTableError,
    UnavailableError,
)

_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_SQLITE_ILL = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL}
_SQLITE_MISUSED = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_AUTH,
}

_POSTGRES_BUSY = {"40001", "40P01", "55P03", "57014"}
"""Serialization failure, deadlock, lock not available, cancelled by a timeout: rolled back for certain."""
_POSTGRES_AWAY = {"08", "53", "57", "58"}
"""Classes: connection, resources, operator intervention, system."""
_POSTGRES_DENIED = {"28", "3D", "42501"}
"""Authorisation, no such database, no privilege."""
_DENIED_AT_CONNECT = ("authentication failed", "does not exist", "no password supplied", "no pg_hba.conf entry")
"""libpq gives no code for an error while connecting, only text."""


def translate(err: SQLAlchemyError, shown_url: str) -> StreamTableError:
    """Our error for one of the database's, outside COMMIT."""
    text = _text(err)
    facts = {"catalog": shown_url, "code": _code(err)}
    if isinstance(err, PoolTimeoutError) or _is_busy(err):
        return UnavailableError(f"the catalog '{shown_url}' is busy: {text}", hint="Try again", facts=facts)
    if _is_denied(err):
        return ConfigError(
            f"cannot use the catalog '{shown_url}': {text}", hint="Check the setting 'catalog'", facts=facts
        )
    if _is_away(err):
        return UnavailableError(f"the catalog '{shown_url}' cannot be reached: {text}", facts=facts)
    return InternalError(f"the catalog '{shown_url}' refused a statement: {text}", facts=facts)


def translate_at_commit(err: SQLAlchemyError, shown_url: str) -> StreamTableError:
    """Our error for one raised by COMMIT itself: when the connection broke, nobody knows whether it landed.

    A server that answers with any other code has rolled back, and SQLite rolls back when COMMIT fails.
    """
    if not _from_sqlite(err) and (_code(err) is None or (_is_away(err) and not _is_busy(err))):
        return CommitUnknownError(
            f"the connection to the catalog '{shown_url}' broke during COMMIT: {_text(err)}",
            hint="What it published may or may not be there: look at the history before running it again",
            facts={"catalog": shown_url, "code": _code(err)},
        )
    return translate(err, shown_url)


def _text(err: SQLAlchemyError) -> str:
    """The driver's words only: SQLAlchemy's would repeat the statement and its parameters."""
    lines = str(err.orig if isinstance(err, DBAPIError) else err).strip().splitlines()
    return mask_url(lines[0]) if lines else type(err).__name__


def _from_sqlite(err: SQLAlchemyError) -> bool:
    return isinstance(err, DBAPIError) and isinstance(err.orig, sqlite3.Error)


def _code(err: SQLAlchemyError) -> str | None:
    if not isinstance(err, DBAPIError):
        return None
    if isinstance(err.orig, sqlite3.Error):
        return getattr(err.orig, "sqlite_errorname", None)
    return getattr(err.orig, "sqlstate", None)


def _sqlite_code(err: SQLAlchemyError) -> int | None:
    if not isinstance(err, DBAPIError) or not isinstance(err.orig, sqlite3.Error):
        return None
    extended = getattr(err.orig, "sqlite_errorcode", None)
    # The low byte is the primary code; the rest says which kind of BUSY or IOERR it was.
    return None if extended is None else extended & 0xFF


def _is_busy(err: SQLAlchemyError) -> bool:
    return _sqlite_code(err) in _SQLITE_BUSY or (not _from_sqlite(err) and _code(err) in _POSTGRES_BUSY)


def _is_denied(err: SQLAlchemyError) -> bool:
    if _from_sqlite(err):
        return _sqlite_code(err) in _SQLITE_MISUSED
    code = _code(err)
    if code is not None:
        return code in _POSTGRES_DENIED or code[:2] in _POSTGRES_DENIED
    return isinstance(err, DBAPIError) and any(words in str(err.orig) for words in _DENIED_AT_CONNECT)


def _is_away(err: SQLAlchemyError) -> bool:
    if _from_sqlite(err):
        return _sqlite_code(err) in _SQLITE_ILL
    if not isinstance(err, DBAPIError):
        return False
    code = _code(err)
    if code is not None:
        return code[:2] in _POSTGRES_AWAY
    return err.connection_invalidated or type(err.orig).__name__ in {"OperationalError", "ConnectionTimeout"}
