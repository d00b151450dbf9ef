"""How often a schedule was kept: of the changes that a stream table took in, how many were in when it promised. Pure.

A promise is made for each refresh that took in something: the first of its changes, made at t, is to be published when
the stream table is next due after t, and a grace of five seconds. A change that is overdue and still not in is a broken
promise, too. Where nothing changed nothing was promised. Refreshes that failed or were held are not counted by
themselves: what they leave out comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_trickle.conditions import GRACE, Condition, overdue, promised
from spark_trickle.lag import first_change
from spark_trickle.metadata_files import TableMetadata
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.refresh import HistoryRow
from spark_trickle.names import TableName
from spark_trickle.scheduler.due import Rhythm

DAY, WEEK = timedelta(days=1), timedelta(days=7)
MOST_ROWS = 20_000
"""Lines of the history that are read for one answer, shared by the stream tables that it is about."""
FEWEST_ROWS = 50
"""Of each."""

MetadataOf = Callable[[TableName], TableMetadata | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sla:
    """How well one stream table kept its schedule, over the last 24 hours and the last 7 days."""

    name: str
    schedule: str
    """As it is now: also what is older is measured by it."""
    promised: bool
    """Whether somebody wrote a schedule, here or for one that reads it: otherwise nothing is promised, or counted."""
    day_kept: int = 0
    day_missed: int = 0
    day_percent: float | None = None
    """Kept of kept and missed; None: nothing was promised."""
    day_worst_seconds: float | None = None
    """The longest from a change until it was published."""
    week_kept: int = 0
    week_missed: int = 0
    week_percent: float | None = None
    week_worst_seconds: float | None = None
    week_unknown: int = 0
    """Refreshes of which nobody can tell any more when their changes were made: snapshots have expired, or their
    metadata is not in a folder of this machine. They are not counted."""
    counted_since: datetime
    """A week ago; later, where there is more history than is read, or less than that."""


@dataclass(frozen=True, slots=True)
class _Promise:
    at: datetime
    """When the change was published; now, if it is not yet."""
    lag: timedelta
    kept: bool


def sla_of(
    name: str,
    rhythm: Rhythm,
    rows: Sequence[HistoryRow],
    condition: Condition | None,
    metadata_of: MetadataOf,
    now: datetime,
) -> Sla:
    """Of one stream table. `rows`: its refreshes that went well, newest first, as far back as they are read."""
    week_ago = now - WEEK
    since = max(week_ago, rows[-1].started_at) if rows else week_ago
    if not rhythm.declared:
        return Sla(name=name, schedule=str(rhythm), promised=False, counted_since=since)
    made = list(_promises(rows, rhythm, metadata_of))
    known = [each for each in made if each is not None and each.at >= week_ago]
    if condition is not None and condition.behind_since is not None and overdue(condition, rhythm, now):
        known.append(_Promise(now, now - condition.behind_since, kept=False))
    today = [each for each in known if each.at >= now - DAY]
    return Sla(
        name=name,
        schedule=str(rhythm),
        promised=True,
        day_kept=sum(each.kept for each in today),
        day_missed=sum(not each.kept for each in today),
        day_percent=_percent(today),
        day_worst_seconds=_worst(today),
        week_kept=sum(each.kept for each in known),
        week_missed=sum(not each.kept for each in known),
        week_percent=_percent(known),
        week_worst_seconds=_worst(known),
        week_unknown=sum(each is None for each in made),
        counted_since=since,
    )


def rows_each(tables: int) -> int:
    """How many lines of the history are read of each, when so many are asked about."""
    return max(FEWEST_ROWS, MOST_ROWS // max(1, tables))


def _promises(rows: Sequence[HistoryRow], rhythm: Rhythm, metadata_of: MetadataOf) -> Iterator[_Promise | None]:
    """One for each refresh that took in a change; None: when that was made is not known."""
    before: Frontier | None = None
    for row in reversed(rows):
        earlier, before = before, row.frontier
        if earlier is None or not _moved(earlier, row.frontier):
            continue
        first = first_change(earlier, row.frontier, metadata_of)
        if first is None:
            yield None
            continue
        ended = row.started_at + timedelta(milliseconds=row.duration_ms)
        yield _Promise(ended, max(timedelta(), ended - first), kept=ended <= promised(rhythm, first) + GRACE)


def _moved(before: Frontier, after: Frontier) -> bool:
    return any((was := before.of(pin.table)) is not None and was.snapshot_id != pin.snapshot_id for pin in after.pins)


def _percent(promises: Sequence[_Promise]) -> float | None:
    return round(100 * sum(each.kept for each in promises) / len(promises), 2) if promises else None


def _worst(promises: Sequence[_Promise]) -> float | None:
    return max((each.lag.total_seconds() for each in promises), default=None)
