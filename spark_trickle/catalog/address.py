"""Where the catalog's database is: one URL, as SQLAlchemy, people and Iceberg's JDBC catalog each need it.

Both sides must mean the same database. So what one of them would fill in from its surroundings (host, database, folder)
has to be in the URL, and a URL that only one of them understands is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, urlencode

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from spark_trickle.catalog.passwords import password_of, user_of
from spark_trickle.config import mask_url
from spark_trickle.errors import ConfigError

_POSTGRES_DRIVER = "postgresql+psycopg"
_POSTGRES_PORT = 5432
_JDBC_OPTIONS = {
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "options": "options",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}
"""libpq's options that pgjdbc has too, and its names for them."""


class Backend(StrEnum):
    """The databases a catalog can live in."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A checked URL."""

    url: URL
    backend: Backend
    path: Path | None
    """The file, on SQLite."""
    busy_timeout_seconds: float

    @property
    def shown(self) -> str:
        """The URL with its secrets masked: for messages, logs and pages."""
        return mask_url(self.url.render_as_string(hide_password=True))

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def jdbc_url(self) -> str:
        """The same database for Java, without user and password."""
        if self.path is not None:
            return f"jdbc:sqlite:{self.path}?busy_timeout={round(self.busy_timeout_seconds * 1000)}&journal_mode=WAL"
        host = f"[{self.url.host}]" if ":" in (self.url.host or "") else self.url.host
        options = {_JDBC_OPTIONS[key]: str(value) for key, value in self.url.query.items() if key in _JDBC_OPTIONS}
        query = f"?{urlencode(options, quote_via=quote)}" if options else ""
        return f"jdbc:postgresql://{host}:{self.url.port}/{quote(self.url.database or '', safe='')}{query}"

    def jdbc_properties(self) -> dict[str, str]:
        """User and password for Java, to be set under `spark.sql.catalog.<name>.jdbc.`; empty on SQLite."""
        if self.backend is Backend.SQLITE:
            return {}
        where = (self.url.host or "", self.url.port or _POSTGRES_PORT, self.url.database or "")
        user, passfile = user_of(self.url.username), self.url.query.get("passfile")
        password = self.url.password or password_of(*where, user, passfile if isinstance(passfile, str) else None)
        given = {"user": user, "password": password}
        return {key: str(value) for key, value in given.items() if value}


def with_password_of(text: str, file: str) -> str:
    """The URL with the password that a file holds, if one is named and the URL has none of its own."""
    if not file:
        return text
    try:
        url, password = make_url(text), Path(file).expanduser().read_text(encoding="utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as err:
        raise ConfigError(
            f"the password file '{file}' cannot be read: {getattr(err, 'strerror', None) or 'it is not text'}",
            hint="Check the setting 'catalog_password_file'",
        ) from err
    except (ArgumentError, ValueError):
        return text  # it is refused for that
    if url.get_backend_name() != Backend.POSTGRESQL.value or url.password is not None:
        return text
    return url.set(password=password).render_as_string(hide_password=False)


def parse(text: str, busy_timeout_seconds: float) -> Address:
    """Read and check a catalog URL."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as err:
        raise _refused(text, "it is not a database URL") from err
    match url.get_backend_name():
        case Backend.SQLITE.value:
            return _sqlite(text, url, busy_timeout_seconds)
        case Backend.POSTGRESQL.value:
            return _postgresql(text, url, busy_timeout_seconds)
        case other:
            raise _refused(text, f"'{other}' is not a database it can live in")


def _sqlite(text: str, url: URL, busy_timeout_seconds: float) -> Address:
    if url.drivername not in {"sqlite", "sqlite+pysqlite"}:
        raise _refused(text, f"the driver of '{url.drivername}' is not known")
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise _refused(text, "Spark opens it too, so it has to be a plain file")
    if url.query:
        raise _refused(text, "options after '?' are not for SQLite")
    # Java and Python may have different working directories.
    path = Path(url.database).expanduser().absolute()
    if "?" in str(path):
        raise _refused(text, "the path contains '?', which Java would read as the start of options")
    return Address(url.set(drivername="sqlite", database=str(path)), Backend.SQLITE, path, busy_timeout_seconds)


def _postgresql(text: str, url: URL, busy_timeout_seconds: float) -> Address:
    if url.drivername not in {"postgresql", _POSTGRES_DRIVER}:
        raise _refused(text, f"the driver of '{url.drivername}' is not installed")
    if not url.host or url.host.startswith("/") or "host" in url.query or "hostaddr" in url.query:
        raise _refused(text, "it has to name the host between '//' and '/': Java connects over TCP only")
    if "," in url.host:
        raise _refused(text, "several hosts are not supported")
    if not url.database:
        raise _refused(text, "it has to name the database")
    for secret in ("password", "user", "service"):
        if secret in url.query:
            raise _refused(text, f"write {secret} before the '@', not as an option: Java would not see it")
    checked = url.set(drivername=_POSTGRES_DRIVER, port=url.port or _POSTGRES_PORT)
    return Address(checked, Backend.POSTGRESQL, None, busy_timeout_seconds)


def _refused(text: str, why: str) -> ConfigError:
    shown = mask_url(text)
    return ConfigError(
        f"catalog '{shown}' cannot be used: {why}",
        hint="Write sqlite:///folder/trickle.db or postgresql+psycopg://user:password@host:5432/database",
        facts={"key": "catalog", "catalog": shown},
    )
