"""Where the tables of one catalog are now: the port, which each kind of catalog has a module for.

What cannot be told is a value, too (`Away`): a catalog that is away holds those that read it, and nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from spark_trickle.model.publication import Away
from spark_trickle.names import TableName

Found = Mapping[TableName, str | Away]
"""For each table its metadata file, or why it is not known."""


class Heads(Protocol):
    """Reads where tables of one catalog are. Asked again and again, by any thread."""

    def of(self, tables: Iterable[TableName]) -> Found: ...

    def close(self) -> None: ...


def unreachable(catalog: str, why: object) -> Away:
    """The catalog does not answer."""
    return Away(
        f"catalog '{catalog}' cannot be reached: {why}",
        f"nothing, if it comes back by itself; else see to the catalog, or to the settings spark.sql.catalog.{catalog}",
    )


def refused(catalog: str, why: object) -> Away:
    """The catalog answers, and will not tell us."""
    return Away(
        f"catalog '{catalog}' refuses to say where tables are: {why}",
        f"renew the token or the rights that spark.sql.catalog.{catalog} gives",
    )


def missing(table: TableName) -> Away:
    """The catalog says that there is no such table."""
    return Away(
        f"table '{table}' does not exist in catalog '{table.catalog}': it was dropped or renamed there",
        f"make '{table}' again or rename it back, or alter_stream_table(..., query=...)",
    )


def not_configured(table: TableName) -> Away:
    """Nobody here knows the catalog."""
    return Away(
        f"catalog '{table.catalog}' of table '{table}' is not configured here",
        f"set spark.sql.catalog.{table.catalog} in spark_conf, or in the session that is given to connect",
    )
