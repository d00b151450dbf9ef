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
        self._readers: dict[str, dict[TableName, _Reader]] = {}
        self._lookers: dict[tuple[str, int, str], dict[TableName, set[str]]] = {}
        self._lock = threading.Lock()

    def note(self, source: Pin, reader: TableName, columns: Columns, *, kept: bool) -> None:
        """A stream table holds the answer for this version of a source.

        Args:
            kept: it was brought there by a small change, with whatever it looks up for that.
        """
        with self._lock:
            known = self._readers.setdefault(source.uuid, {})
            known[reader] = _Reader(source, columns, kept or (reader in known and known[reader].kept))

    def waiting(self, since: Pin, here: Pin) -> dict[TableName, Columns]:
        """Who will ask what changed in a source from one version to another, with the columns that are read of it.

        Nobody, where its columns have changed: what they were to somebody they may no longer be.
        """
        if since.schema_id != here.schema_id:
            return {}
        with self._lock:
            known = self._readers.get(since.uuid, {})
            return {
                name: reader.columns
                for name, reader in known.items()
                if (reader.at.snapshot_id, reader.at.schema_id) == (since.snapshot_id, since.schema_id)
            }

    def looks(self, source: Pin, column: str, reader: TableName, called: str) -> None:
        """A stream table looks up rows of a source by one of its columns, with keys that have a name elsewhere."""
        with self._lock:
            self._lookers.setdefault((source.uuid, source.schema_id, column), {}).setdefault(reader, set()).add(called)

    def looking(self, source: Pin, column: str, among: Mapping[TableName, Columns]) -> dict[TableName, Columns]:
        """Of these readers of a source those that look up rows by a column: who did, and who may."""
        with self._lock:
            did = self._lookers.get((source.uuid, source.schema_id, column), {})
            known = self._readers.get(source.uuid, {})
            return {
                name: columns
                for name, columns in among.items()
                if name in did or name not in known or not known[name].kept
            }

    def called(self, source: Pin, column: str, among: Iterable[TableName]) -> set[str]:
        """What the keys are called with which these stream tables looked up rows of a source by a column."""
        with self._lock:
            did = self._lookers.get((source.uuid, source.schema_id, column), {})
            return {called for name in among for called in did.get(name, ())}
