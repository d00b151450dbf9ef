"""Pieces: some columns of one data file, or the sorted keys of one, as a file on the local disk.

A piece is written beside its place, brought to the disk, and then moved there; what a crash leaves half-written has
another name. It says itself whose it is, so that a folder can be read again by whoever comes after. It is read by
mapping it into memory: what nobody looks at takes no memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

SUFFIX = ".rows"
_UNFINISHED = ".part"
_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table: it never changes, whatever happens to its rows."""

    table: str
    """The table's uuid: files that were added by their names may be written anew for another one."""
    location: str
    rows: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What is in a piece."""

    file: DataFile
    columns: tuple[str, ...]
    """Which columns, by what tells them apart for good; of sorted keys the one that they are of."""
    sorted_keys: bool = False

    @property
    def name(self) -> str:
        """Where it is: the same for all that write the same."""
        said = json.dumps([self.file.table, self.file.location, self.file.rows, self.columns, self.sorted_keys])
        return hashlib.sha256(said.encode()).hexdigest()[:40] + SUFFIX


def write(folder: Path, piece: Piece, rows: pa.Table) -> int:
    """Put a piece in its place; how many bytes it takes."""
    file = piece.file
    about = {"format": _FORMAT, "table": file.table, "location": file.location, "rows": file.rows}
    told = json.dumps({**about, "columns": piece.columns, "sorted_keys": piece.sorted_keys})
    # Kept columns are numbered: names of users' columns are no matter here.
    named = rows.combine_chunks().replace_schema_metadata({b"piece": told.encode()})
    unfinished = folder / f"{uuid.uuid4().hex}{_UNFINISHED}"
    with unfinished.open("wb") as stream:
        with pa.ipc.new_file(stream, named.schema) as writer:
            writer.write_table(named)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(folder / piece.name)
    return int((folder / piece.name).stat().st_size)


def read(path: Path) -> tuple[Piece, pa.Table] | None:
    """What a piece says it is, and its rows; None: it cannot be trusted."""
    try:
        with pa.memory_map(str(path)) as source:
            rows = pa.ipc.open_file(source).read_all()
        told = json.loads(rows.schema.metadata[b"piece"])
        piece = Piece(
            DataFile(told["table"], told["location"], told["rows"]), tuple(told["columns"]), told["sorted_keys"]
        )
        trusted = told["format"] == _FORMAT and piece.name == path.name
        whole = piece.sorted_keys or rows.num_rows == piece.file.rows
        fits = rows.num_columns == (2 if piece.sorted_keys else len(piece.columns))
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError):
        return None
    return (piece, rows) if trusted and whole and fits else None


def remove_unfinished(folder: Path, older_than: float) -> None:
    """Take away what crashes left half-written before a moment."""
    for path in folder.glob(f"*{_UNFINISHED}"):
        try:
            if path.stat().st_mtime < older_than:
                path.unlink(missing_ok=True)
        except FileNotFoundError:  # its writer has just finished it
            continue
