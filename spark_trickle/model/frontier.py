"""Frontiers: which version of each source a stream table holds the answer for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one table (or view) of the lake, or of a table of another catalog."""

    table: TableName
    uuid: str
    """Iceberg's table uuid: another one under the same name is another table."""
    snapshot_id: int | None
    """None: the table has no snapshot yet, and so no rows."""
    schema_id: int
    location: str
    """The metadata file. Equal locations mean equal versions, without opening either."""

    @property
    def version(self) -> int | None:
        """What people call it: its snapshot, or the number that the table's own kind gives it."""
        numbered = _NUMBERED.search(self.location)
        return self.snapshot_id if numbered is None else int(numbered.group(1) or numbered.group(2))


@dataclass(frozen=True, slots=True)
class Pointer:
    """A row of an Iceberg catalog: which metadata file a table or view is at."""

    table: TableName
    location: str
    kind: str = "TABLE"
    """TABLE or VIEW."""


@dataclass(frozen=True)
class Frontier(Mapping[str, int | None]):
    """One pin per source. Reads as a mapping from the source's name to its version."""

    pins: tuple[Pin, ...] = ()

    def of(self, table: TableName) -> Pin | None:
        return next((pin for pin in self.pins if pin.table == table), None)

    def __getitem__(self, name: str) -> int | None:
        shown = next((pin for pin in self.pins if str(pin.table) == name), None)
        pin = shown or self.of(TableName.parse(name))
        if pin is None:
            raise KeyError(name)
        return pin.version

    def __iter__(self) -> Iterator[str]:
        return (str(pin.table) for pin in self.pins)

    def __len__(self) -> int:
        return len(self.pins)

    def __hash__(self) -> int:
        return hash(self.pins)

    def __str__(self) -> str:
        return ", ".join(f"{pin.table}@{pin.version}" for pin in self.pins) or "nothing"


_NUMBERED = re.compile(r"\Adelta:.*/_delta_log/(\d{20})\.json#[\d.]+\Z|\A[a-z]+:.*#(\d+)\Z", re.DOTALL)
"""Places of versions of tables that are not Iceberg's."""
_WITHOUT_VERSIONS = "unversioned:"
_COMMIT = re.compile(r"(?:(\d+)-[^/]*|/v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?|/_delta_log/(\d{20})\.json#[\d.]+)\Z")


def commit_number(location: str) -> int:
    """The place of a version among those of its table, by the number that Iceberg gives to metadata files. A table that
    is made again begins anew.

    >>> commit_number("s3://lake/orders/metadata/00012-ab-cd.metadata.json"), commit_number("registered.json")
    (12, -1)
    >>> commit_number("/lake/orders/metadata/v12.metadata.json")
    12
    >>> commit_number("delta:/lake/orders/_delta_log/00000000000000000012.json#1700000000000.812")
    12
    """
    found = _COMMIT.search(location)
    return -1 if found is None else int(found.group(1) or found.group(2) or found.group(3))


def is_lost_when_it_moves(location: str) -> bool:
    """Whether a version cannot be read any more once there is another one: that of a folder, of a database's table.

    >>> is_lost_when_it_moves("unversioned:parquet:/data/orders#12"), is_lost_when_it_moves("/lake/o/v12.metadata.json")
    (True, False)
    """
    return location.startswith(_WITHOUT_VERSIONS)


def is_of_a_look(location: str) -> bool:
    """Whether a version says no more than when somebody looked, as that of a database's table: it is always another.

    >>> is_of_a_look("unversioned:jdbc:shop.orders#1700000000000"), is_of_a_look("unversioned:csv:/data/orders#12")
    (True, False)
    """
    return location.startswith(f"{_WITHOUT_VERSIONS}jdbc:")
