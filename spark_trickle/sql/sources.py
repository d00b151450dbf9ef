"""What the builder needs to know about tables and views, and who tells it. Finding them is somebody else's work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that a query reads."""

    table: TableName
    columns: tuple[tuple[str, str], ...]
    """Name and Spark type of each column, in order."""


@dataclass(frozen=True, slots=True)
class SourceView:
    """A view: its text takes its place."""

    text: str
    default_namespace: str
    """Where names without a namespace are looked up."""
    columns: tuple[str, ...] = ()
    """What its columns are called, fixed when it was made. Nothing: as in its text."""
    converted: tuple[str, ...] = ()
    """The types of its columns, fixed as well, where its text gives others by now; "" where it does not."""


class SourceCatalog(Protocol):
    """Tells what a name in a FROM clause is."""

    def resolve(self, parts: tuple[str, ...]) -> SourceTable | SourceView:
        """Find a table or view by the parts of its name; `NotFoundError` if there is none."""
        ...
