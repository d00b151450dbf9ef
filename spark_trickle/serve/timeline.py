"""The last hour by unit: what was refreshed when. Pure.

It is put into slots, so that a busy hour is no larger than a quiet one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from spark_trickle.model.refresh import Action, Activity, Outcome

SLOTS = 180
LANES = 24


class Kind(StrEnum):
    """What a refresh came to; the worst of a slot is shown."""

    FAILED = "failed"
    HELD = "held"
    FULL = "full"
    DIFFERENTIAL = "differential"
    NOTHING = "nothing"


_WORST_FIRST = tuple(Kind)


@dataclass(frozen=True, slots=True)
class Slot:
    """What happened in one slot of a lane."""

    at: int
    """Which slot, from 0."""
    kind: Kind
    refreshes: int
    rows: int
    longest_ms: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One unit."""

    unit: str
    members: tuple[str, ...]
    slots: tuple[Slot, ...]
    refreshes: int
    failures: int


@dataclass(frozen=True, slots=True)
class Timeline:
    start: datetime
    end: datetime
    slots: int
    lanes: tuple[Lane, ...]
    omitted: int
    """Units with something to show that are not among the lanes."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A stream table and how much of something it had."""

    name: str
    value: float
    refreshes: int


def kind_of(row: Activity) -> Kind:
    if row.status is Outcome.FAILED:
        return Kind.FAILED
    if row.status is Outcome.SKIPPED or row.action is Action.SKIP:
        return Kind.HELD
    if row.action is Action.NO_DATA:
        return Kind.NOTHING
    return Kind.DIFFERENTIAL if row.action is Action.DIFFERENTIAL else Kind.FULL


def timeline(
    rows: Iterable[Activity], end: datetime, window: timedelta, unit_of: Mapping[str, tuple[str, tuple[str, ...]]]
) -> Timeline:
    """`unit_of`: the id and the members of the unit that a stream table is in."""
    start, width = end - window, window / SLOTS
    by_unit: dict[str, dict[int, list[Activity]]] = defaultdict(lambda: defaultdict(list))
    members: dict[str, tuple[str, ...]] = {}
    for row in rows:
        unit, whole = unit_of.get(row.name, (row.name, (row.name,)))
        slot = min(SLOTS - 1, max(0, int((row.started_at - start) / width)))
        by_unit[unit][slot].append(row)
        members[unit] = whole
    lanes = [_lane(unit, members[unit], slots) for unit, slots in by_unit.items()]
    # Where something failed first, then what was busy, then by name: the order holds still from one look to the next.
    lanes.sort(key=lambda lane: (-min(lane.failures, 1), -len(lane.slots), lane.unit))
    return Timeline(start, end, SLOTS, tuple(lanes[:LANES]), max(0, len(lanes) - LANES))


def slowest(rows: Iterable[Activity], most: int = 5) -> tuple[Ranked, ...]:
    """By their longest refresh, in milliseconds."""
    return _ranked(rows, most, lambda done: max(row.duration_ms for row in done))


def busiest(rows: Iterable[Activity], most: int = 5) -> tuple[Ranked, ...]:
    """By the time that their refreshes took together, in milliseconds."""
    return _ranked(rows, most, lambda done: sum(row.duration_ms for row in done))


def _ranked(rows: Iterable[Activity], most: int, measure: Callable[[list[Activity]], float]) -> tuple[Ranked, ...]:
    by_name: dict[str, list[Activity]] = defaultdict(list)
    for row in rows:
        if row.status is Outcome.COMPLETED:
            by_name[row.name].append(row)
    found = [Ranked(name, measure(done), len(done)) for name, done in by_name.items()]
    return tuple(sorted(found, key=lambda each: (-each.value, each.name))[:most])


def _lane(unit: str, members: tuple[str, ...], slots: Mapping[int, list[Activity]]) -> Lane:
    made = []
    for at in sorted(slots):
        kinds = {kind_of(row) for row in slots[at]}
        made.append(
            Slot(
                at,
                next(kind for kind in _WORST_FIRST if kind in kinds),
                len(slots[at]),
                sum(row.rows_inserted + row.rows_deleted for row in slots[at]),
                max(row.duration_ms for row in slots[at]),
            )
        )
    rows = [row for each in slots.values() for row in each]
    return Lane(unit, members, tuple(made), len(rows), sum(row.status is Outcome.FAILED for row in rows))
