"""How old a stream table's answer was each time that it was renewed, against what its schedule promises. Pure.

The lag of a refresh is the time from the first change that it took in until it was published. A stream table whose
sources stand still has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_trickle.metadata_files import TableMetadata
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.refresh import HistoryRow, Outcome
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True)
class LagPoint:
    """One refresh that took in a change."""

    at: datetime
    """When it was published."""
    lag_seconds: float


@dataclass(frozen=True, slots=True)
class Freshness:
    points: tuple[LagPoint, ...]
    """Oldest first."""
    promised_seconds: float | None
    """What the schedule says; None: it says moments, or nothing."""
    kept: int
    """How many were within that, and a grace of five seconds."""


def freshness(
    rows: Sequence[HistoryRow],
    metadata_of: Callable[[TableName], TableMetadata | None],
    promised: timedelta | None,
    grace: timedelta,
) -> Freshness:
    """From the history, newest first, and the snapshots of the sources that have not expired."""
    points: list[LagPoint] = []
    before: Frontier | None = None
    for row in reversed(rows):
        if row.status is not Outcome.COMPLETED:
            continue
        ended = row.started_at + timedelta(milliseconds=row.duration_ms)
        first = None if before is None else first_change(before, row.frontier, metadata_of)
        if first is not None:
            points.append(LagPoint(ended, max(0.0, (ended - first).total_seconds())))
        before = row.frontier
    limit = None if promised is None else promised.total_seconds() + grace.total_seconds()
    kept = len(points) if limit is None else sum(point.lag_seconds <= limit for point in points)
    return Freshness(tuple(points), None if promised is None else promised.total_seconds(), kept)


def first_change(
    before: Frontier, after: Frontier, metadata_of: Callable[[TableName], TableMetadata | None]
) -> datetime | None:
    """When the first of the changes between two frontiers was made."""
    moments = []
    for pin in after.pins:
        earlier = before.of(pin.table)
        if earlier is None or earlier.location == pin.location:
            continue
        known = metadata_of(pin.table)
        moment = None if known is None else known.first_after(earlier.snapshot_id)
        if moment is not None:
            moments.append(moment)
    return min(moments, default=None)
