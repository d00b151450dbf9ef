"""Tables that are not Iceberg's, of any kind: the port, with a module for each kind that has versions, and who asks.

A kind says which version of a table is the newest, what a version consists of, and what lies between two of them, in
terms of Iceberg. Everything else follows from that; what a version is called tells which kind it is of. Tables without
versions are in `unversioned`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from spark_trickle.elsewhere.delta import DeltaTables
from spark_trickle.elsewhere.delta_log import LogError
from spark_trickle.elsewhere.files import Files, LocalFiles, is_local, plain
from spark_trickle.elsewhere.heads import Found, missing, unreachable
from spark_trickle.elsewhere.unversioned import JDBC, OF_FILES, NoFilesError, Place, pin_files, pin_moment
from spark_trickle.errors import NotFoundError, SourceAwayError, StreamTableError, UserError
from spark_trickle.model.borrowed import BorrowedVersion, Step
from spark_trickle.model.publication import Away
from spark_trickle.names import BY_PLACE, TableName


class SourceFormat(Protocol):
    """One kind of tables that have versions. Asked by any thread."""

    def pin(self, place: str) -> str:
        """What the newest version is called. FileNotFoundError: there is none; OSError: it cannot be told now."""
        ...

    def called(self, location: str, number: int) -> str | None:
        """What another version of a table is called; None: there is none of that number."""
        ...

    def read_at(self, location: str) -> BorrowedVersion:
        """A version. LogError: it cannot be read."""
        ...

    def window(self, since: Sequence[str], until: str) -> tuple[list[Step], dict[int, str]]:
        """Older versions, what matters of those in between, and a last one; why others are gone, by their ids."""
        ...

    def id_of(self, location: str) -> int:
        """What Iceberg calls a version, which need not be there any more."""
        ...

    def notices(self, location: str) -> list[str]:
        """What a reader should know of how the table is read."""
        ...


KINDS: Mapping[str, Callable[[Callable[[str], Files]], SourceFormat]] = {"delta": DeltaTables}
"""Kinds that have versions, by what Spark calls their provider: what their versions are called begins with that and a
colon, and ends with a hash and what can be shown as a number. Made of who reads the store that a place is in.
"""


class Formats:
    """The kinds that there are."""

    def __init__(
        self,
        far_files: Callable[[], Files],
        locate: Callable[[TableName], Place | Away],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Args:
        far_files: reads what is not on a disk of this machine; starts a JVM where there is none.
        locate: asks a catalog where a table is, by Spark.
        """
        local = LocalFiles()
        self._locate = locate
        self._now = now
        self._files_of: Callable[[str], Files] = lambda place: local if is_local(place) else far_files()
        self._kinds = {name: make(self._files_of) for name, make in KINDS.items()}

    def of(self, tables: Iterable[TableName]) -> Found:
        """What the newest versions of tables are called."""
        return {table: self._newest(table) for table in tables}

    def close(self) -> None:
        """Nothing is open."""

    def read_at(self, table: TableName, location: str) -> BorrowedVersion:
        """A version of a table. UserError: it cannot be read; SourceAwayError: it cannot be read now."""
        try:
            return self._kind(location).read_at(location)
        except (LogError, OSError) as err:
            raise _unreadable(table, err) from err

    def window(self, table: TableName, since: Sequence[str], until: str) -> tuple[list[Step], dict[int, str]]:
        try:
            return self._kind(until).window(since, until)
        except (LogError, OSError) as err:
            raise _unreadable(table, err) from err

    def called(self, table: TableName, location: str, number: int) -> str:
        """What another version of a table is called. NotFoundError: there is none."""
        try:
            found = self._kind(location).called(location, number)
        except OSError as err:
            raise _unreadable(table, err) from err
        if found is None:
            raise NotFoundError(f"version {number} of", table)
        return found

    def id_of(self, location: str) -> int:
        return self._kind(location).id_of(location)

    def notices(self, table: TableName, location: str) -> list[str]:
        try:
            return [f"'{table}': {each}" for each in self._kind(location).notices(location)]
        except (LogError, OSError) as err:
            raise _unreadable(table, err) from err

    def _newest(self, table: TableName) -> str | Away:
        place: Place | Away
        if table.catalog in BY_PLACE and not table.levels:
            place = Place(table.catalog, plain(table.name))
        else:
            place = self._locate(table)
        if isinstance(place, Away):
            return place
        if place.format == JDBC:
            return pin_moment(place, self._now)
        kind = self._kinds.get(place.format)
        if kind is None and place.format not in OF_FILES:
            return no_source(table, f"it is a table of kind '{place.format}'")
        try:
            return pin_files(self._files_of(place.path), place) if kind is None else kind.pin(place.path)
        except FileNotFoundError:
            return missing(table) if kind is not None else without_folder(table, place.path)
        except NoFilesError:
            return without_files(table)
        except OSError as err:
            return unreachable(table.catalog, f"{place.path} cannot be read ({err})")

    def _kind(self, location: str) -> SourceFormat:
        return self._kinds[location.partition(":")[0]]


def is_borrowed(location: str) -> bool:
    """Whether a version is one of a table that is not Iceberg's."""
    return location.partition(":")[0] in KINDS


def no_source(table: TableName, why: str) -> Away:
    """It is there, and cannot be followed."""
    return Away(
        f"'{table}' cannot be a source: {why}, which we cannot follow",
        f"load it into an Iceberg or a Delta table, and read that instead of '{table}'",
    )


def without_folder(table: TableName, path: str) -> Away:
    """It is known, and what it consists of is not there: a disk may be away, which is no reason to hold nothing."""
    return Away(
        f"'{table}' cannot be read: there is nothing at {path}",
        f"bring {path} back; if the table is to be empty, make an empty folder there",
    )


def without_files(table: TableName) -> Away:
    """It is there, and says nothing of its columns."""
    return Away(
        f"'{table}' has no files, so nothing says which columns it has",
        "write a file into it, or read it as a table of Spark's own catalog, which knows its columns "
        f"(CREATE TABLE spark_catalog.namespace.name (...) USING {table.catalog} LOCATION ...)",
    )


def _unreadable(table: TableName, err: LogError | OSError) -> StreamTableError:
    facts = {"source": str(table), "catalog": table.catalog}
    if isinstance(err, OSError):
        return SourceAwayError(f"'{table}' cannot be read now: {err}", hint="It is tried again by itself", facts=facts)
    return UserError(f"'{table}' cannot be read: {err}", facts=facts)
