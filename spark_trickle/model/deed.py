"""What a statement of Spark SQL does to tables of the lake, as a value; `spark/queries/deeds.py` makes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from spark_trickle.names import TableName


class DeedKind(StrEnum):
    WRITE = "write"
    """Rows come, go or change."""
    COLUMNS = "columns"
    """Columns come, go, move, or change their name or type."""
    LAYOUT = "layout"
    """How the files of the table are cut or sorted, or what rows it takes."""
    PROPERTIES = "properties"
    """Properties that are the engine's own."""
    RENAME = "rename"
    DROP = "drop"
    REPLACE = "replace"
    """Another table under the same name."""
    REDEFINE = "redefine"
    """A view under that name, perhaps in place of another."""
    CREATE = "create"


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that is done to one table or view."""

    kind: DeedKind
    table: TableName


@dataclass(frozen=True, slots=True)
class Deeds:
    """All that a statement, or a script, may do to tables of the lake. Reading is nothing."""

    each: tuple[Deed, ...] = ()
    deletes_files: bool = False
    """It deletes files at once, so that it could not be taken back."""
    unknown: bool = False
    """A part of it is text, or a name, that is known only when it runs."""

    @property
    def writes(self) -> bool:
        """Whether it may change the rows of a table that exists."""
        return self.unknown or any(deed.kind in (DeedKind.WRITE, DeedKind.REPLACE) for deed in self.each)

    def __add__(self, other: Deeds) -> Deeds:
        return Deeds(
            (*self.each, *other.each), self.deletes_files or other.deletes_files, self.unknown or other.unknown
        )
