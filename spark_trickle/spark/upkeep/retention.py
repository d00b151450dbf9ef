"""Which snapshots of our own tables may go: a decision from values, without Spark. `expire` carries it out.

A snapshot is needed by name (a dependent's frontier, a published version, a branch or tag), because somebody may be
reading it right now, or because it lies on the way from a needed one to the current one: without the way, compactions
on it could no longer be told from changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_BETWEEN = 1000
"""A way longer than this is given up, so that a stream table suspended for weeks does not keep every snapshot of its
sources. The change since its frontier can still be told exactly then, by comparing both ends: only more slowly."""


@dataclass(frozen=True, slots=True)
class Version:
    """One snapshot of a table."""

    id: int
    parent: int | None
    sequence: int
    """Grows with each commit."""
    written_ms: int


def unneeded(
    versions: Sequence[Version], *, current: int | None, needed: Collection[int], current_since_ms: int
) -> tuple[int, ...]:
    """The snapshots that can be expired, oldest first.

    `needed` are kept, and so is everything that was the current version at some time after `current_since_ms`: a
    refresh or a reader that looked then may still be at work. How old a snapshot is does not matter, only for how long
    it has not been current.
    """
    by_id = {version.id: version for version in versions}
    ordered = sorted(versions, key=lambda version: (version.sequence, version.written_ms))
    kept = set(needed)
    if current is not None:
        kept.add(current)
        kept |= _ways(by_id, current, needed)
    kept |= {older.id for older, newer in pairwise(ordered) if newer.written_ms >= current_since_ms}
    kept |= {version.id for version in ordered[-1:] if version.written_ms >= current_since_ms}
    return tuple(version.id for version in ordered if version.id not in kept)


def _ways(by_id: Mapping[int, Version], current: int, needed: Collection[int]) -> set[int]:
    """All snapshots between the current one and those needed ones that it was made from."""
    lineage: list[int] = []
    at: int | None = current
    farthest = 0
    while at is not None and at in by_id and len(lineage) <= MOST_BETWEEN:
        lineage.append(at)
        if at in needed:
            farthest = len(lineage)
        at = by_id[at].parent
    return set(lineage[:farthest])
