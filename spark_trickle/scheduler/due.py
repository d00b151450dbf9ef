"""When a stream table is due: durations, cron lines, `calculated`, and units by their fastest or slowest member. Pure.

A schedule says how old a stream table may become. Nothing is due before there is something to do: that a unit has
work is `plan`'s question, this module only knows moments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim

from spark_trickle.model.schedule import Calculated, Cron, Every, parse_schedule
from spark_trickle.model.stream_table import DiamondSchedulePolicy, RefreshMode, StreamTable
from spark_trickle.names import TableName

AT_ONCE = datetime.min.replace(tzinfo=UTC)
NEVER = datetime.max.replace(tzinfo=UTC)
MOST_SLOWED = 8


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When somebody wants a stream table refreshed, with `calculated` worked out."""

    interval: timedelta | None
    crons: frozenset[str] = frozenset()
    declared: bool = True
    """Whether a user wrote the interval. The default is how often we look, not a promise that can be missed."""

    def __str__(self) -> str:
        parts = [] if self.interval is None else [f"every {self.interval.total_seconds():g} s"]
        return " or ".join([*parts, *(f"at '{line}'" for line in sorted(self.crons))])


def rhythms(tables: Mapping[TableName, StreamTable], default: timedelta) -> dict[TableName, Rhythm]:
    """The rhythm of each stream table.

    A `calculated` one, and an IMMEDIATE one between others, has whatever those that read it have: the smallest
    interval and all cron lines; the default where nobody reads it.
    """
    readers: dict[TableName, list[TableName]] = defaultdict(list)
    for table in tables.values():
        for source in table.sources:
            readers[source.table].append(table.name)
    found: dict[TableName, Rhythm] = {}
    entered: set[TableName] = set()
    # Depth first without recursion: a chain of stream tables may be longer than Python's stack.
    pending = list(tables)[::-1]
    while pending:
        name = pending[-1]
        own = _own(tables[name])
        unknown = [] if own else [r for r in readers[name] if r not in found and r not in entered]
        if unknown and name not in found:
            entered.add(name)
            pending.extend(unknown)
            continue
        pending.pop()
        if name not in found:
            found[name] = own or _joined((found[r] for r in readers[name] if r in found), default)
    return found


def due_at(rhythm: Rhythm, last: datetime | None, slowed: int = 1, quiet: datetime | None = None) -> datetime:
    """The first moment at which it is due again after its last refresh.

    `quiet`: until when it was known to have nothing to do. A cron line that came round before then was served: what
    changed later waits for the next time.
    """
    if last is None:
        return AT_ONCE
    moments = [] if rhythm.interval is None else [last + rhythm.interval * slowed]
    served = last if quiet is None else max(last, quiet)
    return min([*moments, *(_next(line, served) for line in rhythm.crons)], default=NEVER)


def unit_due_at(
    members: Iterable[StreamTable], moments: Mapping[TableName, datetime], policy: DiamondSchedulePolicy
) -> datetime:
    """When a unit is due: with its fastest member, or with its slowest one.

    A member that holds nothing yet makes the unit due at once, whatever the policy: nobody can read it before.
    """
    found = []
    for table in members:
        if not table.populated:
            return AT_ONCE
        found.append(moments[table.name])
    choose = min if policy is DiamondSchedulePolicy.FASTEST else max
    return choose(found, default=NEVER)


def slowed_after(slowed: int, rhythm: Rhythm, took: timedelta) -> int:
    """The factor on the interval after a refresh: doubled each time that it took longer, 1 after the first in time."""
    if rhythm.interval is None or not rhythm.declared or took <= rhythm.interval:
        return 1
    return min(MOST_SLOWED, slowed * 2)


def _own(table: StreamTable) -> Rhythm | None:
    """What its schedule says by itself."""
    if table.effective_mode is RefreshMode.IMMEDIATE:
        return None
    match parse_schedule(table.options.schedule):
        case Every(interval):
            return Rhythm(interval)
        case Cron(line):
            return Rhythm(None, frozenset({line}))
        case Calculated():
            return None


def _joined(rhythms: Iterable[Rhythm], default: timedelta) -> Rhythm:
    known = list(rhythms)
    if not known:
        return Rhythm(default, declared=False)
    timed = [(rhythm.interval, not rhythm.declared) for rhythm in known if rhythm.interval is not None]
    interval, by_default = min(timed, default=(None, False))
    return Rhythm(interval, frozenset().union(*(rhythm.crons for rhythm in known)), not by_default)


def _next(line: str, after: datetime) -> datetime:
    return next(CronSim(line, after), NEVER)
