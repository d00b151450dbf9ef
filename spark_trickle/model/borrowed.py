"""Versions of tables that are not Iceberg's, in its terms: columns with numbers, data files, what is gone of them.

Whoever reads another kind of table makes these; from there on it is a table like any other (`storage.borrowed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Any


@dataclass(frozen=True, slots=True)
class Deletes:
    """A deletion vector: the rows of one data file that are no longer there. In the format that Iceberg's have, too."""

    path: str
    offset: int
    size: int
    """Bytes, with its length before it and its checksum after it."""
    rows: int


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a version."""

    path: str
    size: int
    rows: int
    values: tuple[str | None, ...] = ()
    """Of the partition columns, as text."""
    deletes: Deletes | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a version."""

    id: int
    """Equal ones are the same shape, in every process."""
    schema: Mapping[str, Any] = field(repr=False)
    """In Iceberg's JSON form."""
    mapping: tuple[Any, ...] = field(repr=False)
    """Iceberg's name mapping: how the columns are called in files that do not number them."""
    partitioned_by: tuple[str, ...] = ()


def version_id(number: int, stamp: str) -> int:
    """What Iceberg calls a version. Not its number: a table that is restored from a backup and written again has other
    versions of the same numbers, and whatever is remembered of one is remembered by this.
    """
    return int.from_bytes(blake2b(f"{number} {stamp}".encode(), digest_size=8).digest()) >> 1


@dataclass(frozen=True, slots=True)
class BorrowedVersion:
    """One version of a table."""

    uuid: str
    number: int
    stamp: str
    """Tells it from another history's version of the same number."""
    shape: Shape
    files: tuple[DataFile, ...] = field(repr=False)

    @property
    def id(self) -> int:
        return version_id(self.number, self.stamp)


class Follows(StrEnum):
    """How a version was made from the one before it, by the words that Iceberg has for that."""

    CHANGE = "overwrite"
    SAME_ROWS = "replace"
    """The same rows stored otherwise."""


@dataclass(frozen=True, slots=True)
class Step:
    """A version on the way from one to another."""

    version: BorrowedVersion
    follows: Follows = Follows.CHANGE
    linear: bool = False
    """Whether it was made from the one before it, and no row that was deleted there has come back in its file."""
