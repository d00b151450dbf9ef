"""How each stream table is doing, in one word and a sentence: fresh, due, late, being refreshed, held, failed. Pure.

A schedule is a promise about changes: what a source got is there when the stream table is next due. So nothing is late
as long as its sources stand still, however long ago its last refresh was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from spark_trickle.holds.held_back import held_back
from spark_trickle.holds.rules import by_unit, held
from spark_trickle.known import Known
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.standing import UnderWay
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.scheduler.board import Board
from spark_trickle.scheduler.due import Rhythm, due_at
from spark_trickle.scheduler.plan import has_work

GRACE = timedelta(seconds=5)
"""A tick and a refresh take a moment: that is not late yet."""
UNPROMISED = timedelta(minutes=1)
"""What counts as late where nobody wrote a schedule."""

ChangedSince = Callable[[Pin, Pointer], datetime | None]
"""When a source, now at the pointer, first became other than at the pin; None: nobody knows."""


class State(StrEnum):
    FRESH = "fresh"
    DUE = "due"
    """Something has changed, and the next tick takes it in."""
    LATE = "late"
    """Something has changed that should be in by now."""
    REFRESHING = "refreshing"
    HELD = "held"
    FAILED = "failed"
    EMPTY = "empty"
    """Made, and not loaded yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How one stream table is doing at a moment."""

    state: State
    because: str
    """In a few words."""
    since: datetime | None = None
    """When it began to be so, where that is known: the failure, the change that is not in yet, the refresh."""
    behind_since: datetime | None = None
    """When the first change was made that is not in yet; None: there is none, or nobody knows."""
    due_at: datetime | None = None
    """When it is refreshed next if its sources have changed; None: nothing is known to be due."""
    codes: tuple[HoldCode, ...] = ()
    """What kinds of holds there are."""
    causes: tuple[str, ...] = ()
    """The tables that hold it."""


def conditions(
    known: Known, board: Board, running: Iterable[UnderWay], changed_since: ChangedSince
) -> dict[TableName, Condition]:
    """All stream tables, by name."""
    situation = board.situation(known.cut, known.now, standings=known.standings, stuck_after=known.stuck_after)
    back = held_back(situation)
    by_name, aligned_of = held(replace(situation, back=back)), back.aligned_of
    of_unit = by_unit(by_name, board.unit_of)
    since = {name: each.since for each in running for name in each.tables}
    found = {}
    for name, table in known.cut.tables.items():
        unit = board.unit_of[name]
        aligned = aligned_of.get(name)
        heads = known.cut.pointers if aligned is None else aligned.of(known.cut).pointers
        behind = _behind_since(table, heads, changed_since)
        if name in since:
            condition = Condition(state=State.REFRESHING, because="it is being refreshed", since=since[name])
        elif (stopped := _stopped(table, known, by_name.get(name, ()), of_unit.get(unit, ()))) is not None:
            condition = stopped
        else:
            due = board.due_at(unit, known.cut.tables, known.standings, None)
            condition = _running(table, board.rhythms[name], heads, due, known.now, behind)
        found[name] = replace(condition, behind_since=behind)
    return found


def _moved(table: StreamTable, heads: Mapping[TableName, Pointer]) -> list[Pin]:
    return [pin for pin in table.frontier.pins if pin.table in heads and heads[pin.table].location != pin.location]


def _behind_since(
    table: StreamTable, heads: Mapping[TableName, Pointer], changed_since: ChangedSince
) -> datetime | None:
    moments = (changed_since(pin, heads[pin.table]) for pin in _moved(table, heads))
    return min((moment for moment in moments if moment is not None), default=None)


def _stopped(table: StreamTable, known: Known, own: tuple[Hold, ...], of_unit: tuple[Hold, ...]) -> Condition | None:
    """What keeps it from being refreshed, if anything does."""
    standing = known.standings.get(table.name)
    if table.status is Status.ERROR or table.consecutive_errors:
        error = (standing.error if standing else None) or table.status_reason or "its last refresh failed"
        retry = standing.retry_at if standing and table.status is not Status.ERROR else None
        return Condition(
            state=State.FAILED,
            because=error,
            since=table.status_since,
            due_at=retry,
            codes=(HoldCode.ERROR,),
            causes=(str(table.name),),
        )
    holds = own or of_unit
    if not holds:
        return None
    said = [hold.text if hold.member == table.name else f"'{hold.member}' holds it: {hold.text}" for hold in holds]
    return Condition(
        state=State.HELD,
        because="; ".join(dict.fromkeys(said)),
        since=(standing.held_since if standing else None) or table.status_since,
        due_at=max((hold.until for hold in holds if hold.until), default=None),
        codes=tuple(dict.fromkeys(hold.code for hold in holds)),
        causes=tuple(dict.fromkeys(str(hold.cause) for hold in holds)),
    )


def _running(
    table: StreamTable,
    rhythm: Rhythm,
    heads: Mapping[TableName, Pointer],
    due: datetime,
    now: datetime,
    since: datetime | None,
) -> Condition:
    """Nothing is in its way: whether it has what its sources have."""
    if not table.populated:
        return Condition(state=State.EMPTY, because="it was created and holds nothing yet", since=table.created_at)
    if not has_work([table], heads):
        return Condition(state=State.FRESH, because="nothing that it reads has changed")
    moved = _moved(table, heads)
    what = ", ".join(f"'{pin.table}'" for pin in moved[:3]) or "something that it reads"
    what += f" and {len(moved) - 3} more" if len(moved) > 3 else ""
    if since is not None and now > promised(rhythm, since) + GRACE:
        return Condition(state=State.LATE, because=f"{what} changed, and it has not followed", since=since, due_at=due)
    if due <= now or table.effective_mode is RefreshMode.IMMEDIATE:
        return Condition(state=State.DUE, because=f"{what} changed; the next tick takes it in", since=since, due_at=now)
    return Condition(state=State.FRESH, because=f"{what} changed; it is not due yet", since=since, due_at=due)


def overdue(condition: Condition, rhythm: Rhythm, now: datetime) -> bool:
    """Whether a change is not in that its schedule promised, whatever holds it. Not while it is being refreshed."""
    since = condition.behind_since
    running = condition.state is State.REFRESHING
    return not running and since is not None and now > promised(rhythm, since) + GRACE


def promised(rhythm: Rhythm, since: datetime) -> datetime:
    """By when a change of that moment should be in."""
    return due_at(rhythm, since) if rhythm.declared else since + UNPROMISED
