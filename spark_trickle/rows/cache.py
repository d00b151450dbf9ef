"""The cache of rows: a folder of pieces up to a number of bytes; what was used least recently goes first."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from spark_trickle.rows.encoding import decoded, encoded
from spark_trickle.rows.keys import Wanted, alive, rows_in_run, rows_with_texts, sorted_run
from spark_trickle.rows.pieces import SUFFIX, DataFile, Piece, read, remove_unfinished, write

FILE, PLACE = "file", "place"
"""Columns of what is found: where a row is."""
_LOG = logging.getLogger("spark_trickle")
_UNFINISHED_SECONDS = 3600.0
"""Nobody takes so long to write a piece."""
MOST_OPEN = 4_000
"""Pieces that are mapped at a time: the system allows a process some sixty thousand."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A column, by what tells it apart for good, and the type that its values have for whoever asks."""

    id: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file in one version of a table."""

    file: DataFile
    dead: np.ndarray
    """Rows that are deleted in this version, in order."""


class RowCache:
    """Columns of data files. Any thread may ask; other processes may use the same folder."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._folder = folder
        self._lock = threading.Lock()
        self._bytes: OrderedDict[str, int] = OrderedDict()
        """What each piece takes; those that were used last are last."""
        self._where: dict[tuple[DataFile, bool, str], str] = {}
        """Data file, whether its sorted keys are meant, and column -> piece."""
        self._pieces: dict[str, Piece] = {}
        self._open: OrderedDict[str, tuple[Piece, pa.Table]] = OrderedDict()
        self.let_go = 0
        """How many pieces were deleted to make room."""
        if most_bytes > 0:
            self._reopen()

    @property
    def bytes(self) -> int:
        with self._lock:
            return sum(self._bytes.values())

    def missing(self, files: Iterable[DataFile], kinds: Sequence[Kind]) -> dict[DataFile, tuple[Kind, ...]]:
        """What would have to be put here for these columns of these files to be found."""
        with self._lock:
            found = {
                file: tuple(kind for kind in kinds if (file, False, kind.id) not in self._where)
                for file in files
                if file.rows
            }
        return {file: lacking for file, lacking in found.items() if lacking}

    def unsorted(self, files: Iterable[DataFile], key: Kind) -> list[DataFile]:
        """Files whose keys are not in order here yet."""
        with self._lock:
            return [file for file in files if file.rows and (file, True, key.id) not in self._where]

    def sort(self, file: DataFile, key: Kind) -> pa.Table | None:
        """Put the keys of a column in order; None: the column is not here."""
        kept = self._column(file, key)
        if kept is None:
            return None
        run = sorted_run(kept)
        self._add(Piece(file, (key.id,), sorted_keys=True), run)
        return run

    def put(self, file: DataFile, columns: Mapping[Kind, pa.Array]) -> None:
        """Keep columns of a data file, all of its rows in their order, deleted ones, too."""
        kept = {str(number): encoded(values) for number, values in enumerate(columns.values())}
        self._add(Piece(file, tuple(kind.id for kind in columns)), pa.table(kept))

    def find(
        self, files: Sequence[LiveFile], key: Kind, wanted: Wanted, kinds: Sequence[Kind], most_rows: int
    ) -> pa.Table | None:
        """The live rows whose key is one of the wanted ones, each with its data file and its place there as the last
        columns; None: some column is not here, or they are too many.
        """
        found: list[tuple[DataFile, np.ndarray]] = []
        count = 0
        for live in files:
            rows = self._rows(live.file, key, wanted) if live.file.rows else None
            if rows is None:
                if live.file.rows:
                    return None
                continue
            rows = alive(rows, live.dead)
            count += len(rows)
            if count > most_rows:
                return None
            if len(rows):
                found.append((live.file, rows))
        return self.rows_at(found, kinds)

    def rows_at(self, found: Sequence[tuple[DataFile, np.ndarray]], kinds: Sequence[Kind]) -> pa.Table | None:
        """The rows at these places of data files, deleted ones, too, with the same last columns; None: some column is
        not here."""
        parts: dict[str, list[pa.Array]] = {str(number): [] for number, _ in enumerate(kinds)}
        for file, rows in found:
            places = pa.array(rows)
            for number, kind in enumerate(kinds):
                kept = self._column(file, kind)
                if kept is None:
                    return None
                parts[str(number)].append(decoded(kept.take(places), kind.type))
        columns = [pa.chunked_array(parts[str(number)], kind.type) for number, kind in enumerate(kinds)]
        counts = np.array([len(rows) for _, rows in found], np.int32)
        which = np.repeat(np.arange(len(found), dtype=np.int32), counts)
        locations = pa.array([file.location for file, _ in found], pa.string())
        columns.append(pa.DictionaryArray.from_arrays(pa.array(which), locations))
        columns.append(np.concatenate([rows for _, rows in found], dtype=np.int64) if found else np.empty(0, np.int64))
        return pa.table(columns, names=[*parts, FILE, PLACE])

    def _rows(self, file: DataFile, key: Kind, wanted: Wanted) -> np.ndarray | None:
        if wanted.numbers is None:
            kept = self._column(file, key)
            return None if kept is None else rows_with_texts(kept, wanted.values)
        kept_run = self._piece(file, True, key.id)
        run = self.sort(file, key) if kept_run is None else kept_run[1]
        return None if run is None else rows_in_run(run, wanted.numbers)

    def _column(self, file: DataFile, kind: Kind) -> pa.Array | None:
        found = self._piece(file, False, kind.id)
        return None if found is None else found[1].column(found[0].columns.index(kind.id)).chunk(0)

    def _piece(self, file: DataFile, sorted_keys: bool, column: str) -> tuple[Piece, pa.Table] | None:
        """The piece that has a column, and its rows, of one look: another piece may have it a moment later."""
        with self._lock:
            name = self._where.get((file, sorted_keys, column))
            if name is None:
                return None
            self._bytes.move_to_end(name)
            opened = self._open.get(name)
            if opened is not None:
                self._open.move_to_end(name)
                return opened
        read_here = read(self._folder / name)
        with self._lock:
            if read_here is None:  # somebody deleted it, or it is damaged: it is as if it had never been here
                self._forget(name)
                return None
            self._open[name] = read_here
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return read_here

    def _add(self, piece: Piece, rows: pa.Table) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            size = write(self._folder, piece, rows)
        except OSError as err:
            # Nobody's refresh fails because a cache cannot be written.
            self.most_bytes = 0
            _LOG.warning("the cache of rows in '%s' is off until the next start: %s", self._folder, err.strerror)
            return
        with self._lock:
            self._know(piece, size)
            if sum(self._bytes.values()) > self.most_bytes:
                self._make_room()

    def _make_room(self) -> None:
        """Let go of what was used least recently, until a tenth is free: not of one piece each time."""
        total = sum(self._bytes.values())
        while self._bytes and total > self.most_bytes * 0.9:
            name, size = next(iter(self._bytes.items()))
            self._forget(name)
            (self._folder / name).unlink(missing_ok=True)
            self.let_go += 1
            total -= size

    def _know(self, piece: Piece, size: int) -> None:
        self._bytes[piece.name] = size
        self._bytes.move_to_end(piece.name)
        self._pieces[piece.name] = piece
        self._open.pop(piece.name, None)
        for column in piece.columns:
            self._where[piece.file, piece.sorted_keys, column] = piece.name

    def _forget(self, name: str) -> None:
        self._bytes.pop(name, None)
        self._open.pop(name, None)
        piece = self._pieces.pop(name, None)
        for column in piece.columns if piece is not None else ():
            key = (piece.file, piece.sorted_keys, column) if piece is not None else None
            if key is not None and self._where.get(key) == name:
                del self._where[key]

    def _reopen(self) -> None:
        """Take over what is in the folder, the oldest first."""
        if not self._folder.is_dir():
            return
        remove_unfinished(self._folder, time.time() - _UNFINISHED_SECONDS)
        with os.scandir(self._folder) as listed:
            found = [(entry.stat().st_mtime, entry.name) for entry in listed if entry.name.endswith(SUFFIX)]
        for _, name in sorted(found):
            try:
                size, told = (self._folder / name).stat().st_size, read(self._folder / name)
            except FileNotFoundError:  # another process made room
                continue
            if told is None:
                (self._folder / name).unlink(missing_ok=True)
            else:
                self._know(told[0], int(size))
        if sum(self._bytes.values()) > self.most_bytes:
            self._make_room()
