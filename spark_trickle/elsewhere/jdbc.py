"""Iceberg's JDBC catalog, read as what it is: a table of pointers in SQLite or PostgreSQL. One statement for all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from sqlalchemy import URL, Engine, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from spark_trickle.config import mask_url
from spark_trickle.elsewhere.heads import Found, missing, unreachable
from spark_trickle.elsewhere.settings import CatalogSettings
from spark_trickle.model.publication import Away
from spark_trickle.names import TableName

_SQLITE, _POSTGRESQL = "jdbc:sqlite:", "jdbc:postgresql:"
_ALL = text("SELECT * FROM iceberg_tables WHERE catalog_name = :catalog")
"""Whether there are views among them only newer ones say, in a column that older ones do not have."""
_TIMEOUT_SECONDS = 10


class JdbcHeads:
    """Pointers of one JDBC catalog."""

    def __init__(self, catalog: str, url: URL) -> None:
        self._catalog = catalog
        self._url = url
        arguments = {"timeout": _TIMEOUT_SECONDS} if url.drivername == "sqlite" else {"connect_timeout": 10}
        self._engine: Engine = create_engine(url, pool_pre_ping=True, pool_size=1, connect_args=arguments)

    @classmethod
    def made_of(cls, settings: CatalogSettings) -> JdbcHeads | None:
        """None: of a database that only the JVM can reach."""
        uri, name = settings.properties.get("uri", ""), settings.properties.get("jdbc.user")
        password = settings.properties.get("jdbc.password")
        if uri.startswith(_SQLITE):
            path = uri.removeprefix(_SQLITE).removeprefix("file:").partition("?")[0]
            return cls(settings.name, URL.create("sqlite", database=path)) if path and ":memory:" not in path else None
        if uri.startswith(_POSTGRESQL):
            parts = urlsplit(uri.removeprefix("jdbc:"))
            if not parts.hostname or "," in parts.netloc:
                return None  # of several hosts, or of one that the driver finds out
            given = dict(parse_qsl(parts.query))
            plain = make_url(f"postgresql+psycopg://{parts.netloc}{parts.path}")
            name, password = name or given.pop("user", None), password or given.pop("password", None)
            if set(given) - {"user", "password", "sslmode"}:
                return None
            found = plain.set(username=name or plain.username, password=password or plain.password)
            return cls(settings.name, found.update_query_dict({k: v for k, v in given.items() if k == "sslmode"}))
        return None

    def of(self, tables: Iterable[TableName]) -> Found:
        wanted = list(tables)
        if self._url.drivername == "sqlite" and not Path(self._url.database or "").exists():
            # Opening it would make it.
            return dict.fromkeys(wanted, unreachable(self._catalog, "its database file does not exist"))
        try:
            with self._engine.connect() as connection:
                rows = connection.execute(_ALL, {"catalog": self._catalog}).mappings().all()
        except SQLAlchemyError as err:
            shown = str(getattr(err, "orig", None) or err).strip().partition("\n")[0]
            return dict.fromkeys(wanted, unreachable(self._catalog, mask_url(shown)))
        known = {
            (row["table_namespace"], row["table_name"]): row["metadata_location"]
            for row in rows
            if row.get("iceberg_type") in (None, "TABLE")
        }
        found: dict[TableName, str | Away] = {}
        for table in wanted:
            found[table] = known.get((".".join(table.levels), table.name)) or missing(table)
        return found

    def close(self) -> None:
        self._engine.dispose()
