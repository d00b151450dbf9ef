"""What lies between two versions of a table, and what follows from it: values and decisions, no Spark.

`Window` is what callers hold. `stretches` cuts a history so that compactions are never compared, `compare` tells which
files differ, and how, between two snapshots. Whether columns still mean the same is in `columns`; reading files is in
`changes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_trickle.names import TableName
from spark_trickle.ports import Broken

if TYPE_CHECKING:
    from spark_trickle.storage.iceberg import Java, JavaTable

__all__ = [
    "Broken",
    "Comparison",
    "DeleteFile",
    "FileState",
    "Snapshot",
    "Span",
    "Stretch",
    "Touched",
    "Window",
    "compare",
    "stretches",
]

COMPACTION = "replace"
"""Operation of snapshots that store the same rows otherwise. They change nothing, by Iceberg's definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Data files of both versions whose deletes differ. Lists of tasks, each a file with the deletes of one version."""

    before: Java | None
    """None: none of them had a delete before."""
    after: Java | None
    """None: none of them has a delete any more."""
    states_before: tuple[FileState, ...]
    """What each file of the first list is like."""
    states_after: tuple[FileState, ...]
    before_rows: int
    """Rows that were deleted before, at the most."""
    listed_at: int | None
    """Snapshot whose position deletes list all rows deleted before; None: some were deleted by their values."""
    revives: bool
    """Whether a row may be deleted before and not after."""


@dataclass(frozen=True, slots=True)
class Span:
    """What a change follows from. Equal ones are the same rows."""

    uuid: str
    schema_id: int
    since: int | None
    until: int | None


@dataclass(frozen=True, kw_only=True)
class Window:
    """What changed in a table between two versions. Made and read by `ChangeFeed`."""

    name: TableName
    span: Span
    table: JavaTable
    """As of the later version: its schema is the one that rows are read with."""
    added: Java | None = None
    """Tasks of the files that only the later version has."""
    removed: Java | None = None
    touched: tuple[Touched, ...] = ()
    rows: int = 0
    """Changed rows at the most, from file metadata."""
    deleted_rows: int = 0
    """Deleted rows at the most."""

    @property
    def empty(self) -> bool:
        return self.added is None and self.removed is None and not self.touched

    @property
    def insert_only(self) -> bool:
        return self.removed is None and not self.touched

    @property
    def both_signs(self) -> bool:
        """Whether some row may be inserted and deleted: then rows are netted by their contents."""
        inserts = self.added is not None or any(files.revives for files in self.touched)
        return inserts and not self.insert_only


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot of a table's history, as far as it decides what has to be compared."""

    id: int
    parent: int | None
    operation: str
    schema_id: int | None
    """None: written before snapshots recorded their schema."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of history that can be compared end to end."""

    since: int | None
    """None: the empty table."""
    until: int | None
    appends_only: bool
    linear: bool
    """Whether `until` was made from `since`, step by step."""


def stretches(history: Mapping[int, Snapshot], since: int | None, until: int | None) -> list[Stretch]:
    """Cut the way from one snapshot to another at its compactions; nothing where nothing can have changed.

    Where the one was not made from the other (a rollback, expired snapshots in between) there is no way to cut, and
    comparing the two ends is still exact.
    """
    if since == until:
        return []
    path: list[Snapshot] = []
    at = until
    while at is not None and at != since and at in history:
        path.append(history[at])
        at = history[at].parent
    if since is None or at != since:
        return [Stretch(since, until, appends_only=False, linear=False)]
    found: list[Stretch] = []
    start, operations, last = since, set[str](), since
    for snapshot in reversed(path):
        if snapshot.operation == COMPACTION:
            if operations:
                found.append(Stretch(start, last, operations == {"append"}, linear=True))
            start, operations = snapshot.id, set()
        else:
            operations.add(snapshot.operation)
        last = snapshot.id
    if operations:
        found.append(Stretch(start, last, operations == {"append"}, linear=True))
    return found


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file of deletes, or one deletion vector in a file of several."""

    location: str
    offset: str
    """Where the deletion vector is; empty for other deletes."""
    content: str
    rows: int

    @property
    def positional(self) -> bool:
        return self.content == "POSITION_DELETES"


@dataclass(frozen=True, slots=True)
class FileState:
    """A data file in one version, and the deletes that apply to it there."""

    location: str
    rows: int
    deletes: frozenset[DeleteFile] = frozenset()

    def dead(self, deletes: frozenset[DeleteFile]) -> int:
        """Rows that some deletes take from this file, at the most: who deletes by values does not say how many."""
        if any(not delete.positional for delete in deletes):
            return self.rows
        return min(self.rows, sum(delete.rows for delete in deletes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Which files differ between two versions, by index into the lists that were compared."""

    added: tuple[int, ...]
    removed: tuple[int, ...]
    touched_before: tuple[int, ...]
    """Files of both whose deletes differ, as far as they had deletes before."""
    touched_after: tuple[int, ...]
    revives: bool
    inserted_rows: int
    deleted_rows: int
    before_rows: int
    before_positional: bool
    """Whether all rows deleted before were deleted by their positions."""


def compare(before: Sequence[FileState], after: Sequence[FileState], *, linear: bool) -> Comparison:
    """Tell apart the files of two versions.

    In a linear history deletes of a file only grow: a deletion vector, or a position delete file that takes the place
    of another, holds what the one before it held. Elsewhere (a rollback) deletes may also go.
    """
    old = {file.location: index for index, file in enumerate(before)}
    new = {file.location for file in after}
    added: list[int] = []
    touched_before: list[int] = []
    touched_after: list[int] = []
    inserted = deleted = before_rows = 0
    revives, positional = False, True
    for index, file in enumerate(after):
        if file.location not in old:
            added.append(index)
            inserted += file.rows
            continue
        was = before[old[file.location]]
        if was.deletes == file.deletes:
            continue
        if was.deletes:
            touched_before.append(old[file.location])
        if file.deletes:
            touched_after.append(index)
        gained, lost = file.deletes - was.deletes, was.deletes - file.deletes
        deleted += min(file.rows, _grown(file, gained, lost))
        before_rows += file.dead(was.deletes)
        positional = positional and all(delete.positional for delete in was.deletes)
        if lost and not (linear and any(delete.positional for delete in gained)):
            revives = True
            inserted += file.dead(lost)
    removed = [index for index, file in enumerate(before) if file.location not in new]
    deleted += sum(before[index].rows for index in removed)
    return Comparison(
        added=tuple(added),
        removed=tuple(removed),
        touched_before=tuple(touched_before),
        touched_after=tuple(touched_after),
        revives=revives,
        inserted_rows=inserted,
        deleted_rows=deleted,
        before_rows=before_rows,
        before_positional=positional,
    )


def _grown(file: FileState, gained: frozenset[DeleteFile], lost: frozenset[DeleteFile]) -> int:
    """Rows that deletes took from a file: a deletion vector counts those of the one it takes the place of."""
    rows = file.dead(gained)
    if all(delete.offset for delete in gained | lost):
        return max(rows - sum(delete.rows for delete in lost), 0) if gained else 0
    return rows
