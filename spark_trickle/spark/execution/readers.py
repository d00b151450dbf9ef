"""Which stream tables read a source, as far as this process has seen.

Those that hold the answer for the same version of it will ask for the same change, if not in this refresh then in one
of the next: it is brought with the columns that they need, too.
"""

from __future__ import annotations

import threading
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


class Readers:
    """Stream tables by the sources that they read. Any thread may ask."""

    def __init__(self) -> None:
        self._readers: Newest[str, Newest[TableName, _Reader]] = Newest(MOST_SOURCES)
        self._lock = threading.Lock()

    def note(self, source: Pin, reader: TableName, columns: Columns) -> None:
        """A stream table holds the answer for this version of a source."""
        with self._lock:
            known = self._readers.get(source.uuid) or Newest(MOST_READERS)
            known.put(reader, _Reader(source, columns))
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

    def columns(self, source: str) -> list[Columns]:
        """What each reader reads of a source, by the source's uuid."""
        with self._lock:
            known = self._readers.get(source)
            return [reader.columns for _, reader in known.items()] if known is not None else []

    def forget(self, reader: TableName) -> None:
        """It is no more."""
        with self._lock:
            for _, known in self._readers.items():
                known.forget(reader)
