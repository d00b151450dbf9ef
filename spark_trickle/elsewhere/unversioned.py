"""Tables without versions: files that Spark reads as they are, tables of databases. What such a table was cannot be
read again, so stream tables over them are computed whole.

Whether anything changed is told by the files: their names, sizes and times are the pin. A database does not tell, so
the moment at which somebody looked is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from spark_trickle.elsewhere.files import Files
from spark_trickle.names import TableName

PREFIX = "unversioned:"
JDBC = "jdbc"
OF_FILES = {"parquet": "Parquet", "orc": "ORC", "csv": "CSV", "json": "JSON", "text": "text"}
"""Kinds of files that Spark reads, and how they are called."""

INSTEAD = "To have it kept incrementally, load it into an Iceberg or a Delta table, and read that"


class NoFilesError(Exception):
    """There is a folder, and nothing in it that says which columns it has."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table is, as its catalog says."""

    format: str
    """Its provider: delta, parquet, jdbc, ..."""
    path: str
    """Its folder; of a table without files its name."""
    more: tuple[str, ...] = ()
    """Folders of its partitions, where its catalog lists them."""
    told: str = ""
    """What else its catalog says of how it is read; nothing: it is its folder, and no catalog knows it."""


def is_unversioned(location: str) -> bool:
    return location.startswith(PREFIX)


def kind_of(location: str) -> str:
    """parquet, ..., jdbc."""
    return location.split(":", 2)[1]


def place_in(location: str) -> str:
    return location.split(":", 2)[2].rpartition("#")[0]


def number_of(location: str) -> int:
    """What a version is called where numbers are shown: of files made of what is listed, else the moment of a look."""
    return int(location.rpartition("#")[2])


def what_it_is(table: TableName, location: str) -> str:
    """
    >>> what_it_is(TableName.elsewhere("parquet", (), "/data/orders"), "unversioned:parquet:/data/orders#1")
    "'parquet.`/data/orders`' consists of Parquet files and has no versions"
    """
    kind = kind_of(location)
    made_of = "is a table of a JDBC database" if kind == JDBC else f"consists of {OF_FILES[kind]} files"
    return f"'{table}' {made_of} and has no versions"


def why_full(table: TableName, location: str) -> str:
    """Why a query over it is computed whole, and when."""
    if kind_of(location) == JDBC:
        untold = (
            "neither what changed in it nor whether anything did can be told: it is computed again whenever it is due"
        )
    else:
        untold = "what changed in it cannot be told: it is computed again when its files have changed"
    return f"{what_it_is(table, location)}, so {untold}"


def pin_files(files: Files, place: Place) -> str:
    """What is there now is called. FileNotFoundError: the folder is not there; OSError: nobody can tell."""
    seen = blake2b(digest_size=7)
    seen.update(place.told.encode())
    count = 0
    for folder in dict.fromkeys((place.path, *place.more)):
        try:
            found = [each for each in files.list(folder, deep=True) if not _is_hidden(each.path)]
        except FileNotFoundError:
            if folder == place.path:
                raise
            continue  # a partition without files
        count += len(found)
        for each in sorted(found, key=lambda each: each.path):
            seen.update(f"{folder}\0{each.path}\0{each.size}\0{each.modified}\n".encode())
    if not count and not place.told:
        raise NoFilesError(place.path)
    return f"{PREFIX}{place.format}:{place.path}#{int.from_bytes(seen.digest())}"


def pin_moment(place: Place, now: Callable[[], datetime]) -> str:
    """What a table of a database is called when somebody looks."""
    return f"{PREFIX}{JDBC}:{place.path}#{int(now().timestamp() * 1000)}"


def _is_hidden(path: str) -> bool:
    """Whether Spark does not read it: what is being written, and what is said about files."""
    return any(part.startswith((".", "_")) and "=" not in part for part in path.split("/"))
