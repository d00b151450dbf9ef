"""Which stream tables read a source, as far as this process has seen.

Those that hold the answer for the same version of it will ask for the same change, if not in this refresh then in one
of the next: it is brought with the columns that they need, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.storage.newest import Newest

MOST_SOURCES = 10_000
MOST_READERS = 2_000
"""Of one source. Whoever is forgotten is as one that has not been seen: what it needs is brought for itself."""

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Reader:
    at: Pin
    columns: Columns
    kept: bool
    """Whether a small change was carried out here: then it is known what it looks up."""


class Readers:
    """Stream tables by the sources that they read. Any thread may ask."""

    def __init__(self) -> None:
        self._readers: Newest[str, Newest[TableName, _Reader]] = Newest(MOST_SOURCES)
        self._lookers: Newest[tuple[str, int, str], Newest[tuple[TableName, str], str]] = Newest(MOST_SOURCES)
        self._lock = threading.Lock()

    def note(self, source: Pin, reader: TableName, columns: Columns, *, kept: bool) -> None:
        """A stream table holds the answer for this version of a source.

        Args:
            kept: it was brought there by a small change, with whatever it looks up for that.
        """
        with self._lock:
            known = self._readers.get(source.uuid) or Newest(MOST_READERS)
            former = known.get(reader)
            known.put(reader, _Reader(source, columns, kept or (former is not None and former.kept)))
            self._readers.put(source.uuid, known)

    def waiting(self, since: Pin, here: Pin) -> dict[TableName, Columns]:
        """Who will ask what changed in a source from one version to another, with the columns that are read of it.

        Nobody, where its columns have changed: what they were to somebody they may no longer be.
        """
        if since.schema_id != here.schema_id:
            return {}
        with self._lock:
            known = self._readers.get(since.uuid)
            return {
                name: reader.columns
                for name, reader in (known.items() if known is not None else ())
                if (reader.at.snapshot_id, reader.at.schema_id) == (since.snapshot_id, since.schema_id)
            }

    def looks(self, source: Pin, column: str, reader: TableName, called: str) -> None:
        """A stream table looks up rows of a source by one of its columns, with keys that have a name elsewhere."""
        with self._lock:
            place = (source.uuid, source.schema_id, column)
            did = self._lookers.get(place) or Newest(MOST_READERS)
            did.put((reader, called), called)
            self._lookers.put(place, did)

    def looking(self, source: Pin, column: str, among: Mapping[TableName, Columns]) -> dict[TableName, Columns]:
        """Of these readers of a source those that look up rows by a column: who did, and who may."""
        with self._lock:
            did = {name for name, _ in self._looked(source, column)}
            known = self._readers.get(source.uuid)
            kept = {name for name, reader in (known.items() if known is not None else ()) if reader.kept}
            return {name: columns for name, columns in among.items() if name in did or name not in kept}

    def called(self, source: Pin, column: str, among: Iterable[TableName]) -> set[str]:
        """What the keys are called with which these stream tables looked up rows of a source by a column."""
        with self._lock:
            wanted = set(among)
            return {called for name, called in self._looked(source, column) if name in wanted}

    def forget(self, reader: TableName) -> None:
        """It is no more."""
        with self._lock:
            for _, known in self._readers.items():
                known.forget(reader)
            for _, did in self._lookers.items():
                for key, _ in did.items():
                    if key[0] == reader:
                        did.forget(key)

    def _looked(self, source: Pin, column: str) -> list[tuple[TableName, str]]:
        did = self._lookers.get((source.uuid, source.schema_id, column))
        return [] if did is None else [key for key, _ in did.items()]
