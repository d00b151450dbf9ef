"""What a tick will do, from what is known at its cut: which units run and in which order, around those that are held.
Pure; who is held is said in `holds`.

A unit passes or is held whole. Units that have nothing to do are not even looked at: the walk starts at those whose
sources have moved and goes down the graph, so a tick in which nothing happened costs nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_trickle.model.frontier import Pointer
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName
from spark_trickle.refresh.decide import untouched


@dataclass(frozen=True, slots=True)
class Plan:
    """Units by their number in the board, which is their order."""

    candidates: tuple[int, ...]
    """Due, not held, and with something to do, or below one that has."""
    held: Mapping[int, tuple[Hold, ...]]
    waiting: Mapping[int, datetime]
    """With something to do, but not due before that moment."""


def make_plan(
    touched: Iterable[int],
    below: Sequence[Collection[int]],
    held: Mapping[int, tuple[Hold, ...]],
    due_at: Callable[[int], datetime],
    now: datetime,
) -> Plan:
    """Walk down from what has moved. A unit that is held or not due passes nothing on: it will not have changed."""
    pending = sorted(set(touched))
    seen = set(pending)
    candidates: list[int] = []
    waiting: dict[int, datetime] = {}
    while pending:
        unit = heapq.heappop(pending)
        if unit in held:
            continue
        moment = due_at(unit)
        if moment > now:
            waiting[unit] = moment
            continue
        candidates.append(unit)
        for reader in below[unit]:
            if reader not in seen:
                seen.add(reader)
                heapq.heappush(pending, reader)
    return Plan(tuple(candidates), held, waiting)


def has_work(members: Iterable[StreamTable], heads: Mapping[TableName, Pointer]) -> bool:
    """Whether a source of a member has moved, or a member holds nothing yet. Compares locations; opens no file."""
    return any(not untouched(table, heads) for table in members)


def told(reasons: Iterable[Hold], name: TableName, group: str | None, *, short: bool = False) -> str:
    """Why one stream table is skipped: its own reasons, or which members hold its group, and why.

    `short`: without numbers that move; if that is the same as last time, it is not told again.
    """
    by_member: dict[TableName, list[str]] = {}
    for hold in reasons:
        by_member.setdefault(hold.member, []).append(hold.in_short if short else hold.text)
    parts = []
    for member, texts in by_member.items():
        what = "; ".join(texts)
        own = what if member == name else f"'{member}' holds it: {what}"
        parts.append(own if member == name or group is None else f"group {group}: {own}")
    return "; ".join(parts)


def worth_recording(reasons: Iterable[Hold]) -> list[Hold]:
    """The reasons that belong in the history: a failure is there already, and to be overtaken passes with the tick."""
    return [hold for hold in reasons if hold.code not in (HoldCode.BACKING_OFF, HoldCode.OVERTAKEN)]
