"""What a tick will do, from what is known at its cut: which units run, in which order, and which are held. Pure.

A unit passes or is held whole. Units that have nothing to do are not even looked at: the walk starts at those whose
sources have moved and goes down the graph, so a tick in which nothing happened costs nothing.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_trickle.model.frontier import Pointer
from spark_trickle.model.standing import Hold, HoldCode, Standing
from spark_trickle.model.stream_table import Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.refresh.decide import untouched

Tables = Mapping[TableName, StreamTable]

_STOPPED = (Status.SUSPENDED, Status.ERROR)


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


def holds(
    tables: Tables, unit_of: Mapping[TableName, int], gated: Mapping[TableName, Sequence[object]]
) -> dict[int, tuple[Hold, ...]]:
    """Every unit that is held by a member's status or a closed gate, and by what."""
    found: dict[int, list[Hold]] = defaultdict(list)
    for name, table in tables.items():
        if table.status in _STOPPED:
            found[unit_of[name]].append(_by_status(table))
    for name, reasons in gated.items():
        text = "; ".join(str(reason) for reason in reasons)
        found[unit_of[name]].append(Hold(code=HoldCode.GATED, member=name, text=text))
    return _sorted(found)


def backing_off(
    tables: Tables, unit_of: Mapping[TableName, int], standings: Mapping[TableName, Standing], now: datetime
) -> dict[int, tuple[Hold, ...]]:
    """Every unit with a member that failed so recently that it is not tried again yet."""
    found: dict[int, list[Hold]] = defaultdict(list)
    for name, standing in standings.items():
        if name in unit_of and backs_off(tables[name], standing, now):
            found[unit_of[name]].append(_by_failure(tables[name], standing))
    return _sorted(found)


def backs_off(table: StreamTable, standing: Standing | None, now: datetime) -> bool:
    """Whether it failed so recently that it is not tried again yet. Whoever mends it clears its errors."""
    if standing is None or standing.retry_at is None or table.consecutive_errors == 0:
        return False
    return table.status not in _STOPPED and standing.retry_at > now


def told(reasons: Iterable[Hold], name: TableName, group: str | None) -> str:
    """Why one stream table is skipped: its own reasons, or which member holds its group."""
    parts = []
    for hold in reasons:
        own = hold.text if hold.member == name else f"'{hold.member}' holds it: {hold.text}"
        parts.append(own if hold.member == name or group is None else f"group {group}: {own}")
    return "; ".join(parts)


def worth_recording(reasons: Iterable[Hold]) -> list[Hold]:
    """The reasons that belong in the history: a failure is there already, and to be overtaken passes with the tick."""
    return [hold for hold in reasons if hold.code not in (HoldCode.BACKING_OFF, HoldCode.OVERTAKEN)]


def _sorted(found: Mapping[int, list[Hold]]) -> dict[int, tuple[Hold, ...]]:
    return {unit: tuple(sorted(each, key=lambda hold: (hold.member, hold.code))) for unit, each in found.items()}


def _by_status(table: StreamTable) -> Hold:
    code = HoldCode.SUSPENDED if table.status is Status.SUSPENDED else HoldCode.ERROR
    what = "it is suspended" if table.status is Status.SUSPENDED else "it is in error"
    because = f": {table.status_reason}" if table.status_reason else ""
    return Hold(code=code, member=table.name, text=f"{what}{because}")


def _by_failure(table: StreamTable, standing: Standing) -> Hold:
    times = "its last refresh" if table.consecutive_errors == 1 else f"its last {table.consecutive_errors} refreshes"
    text = f"{times} failed and it waits before the next try: {standing.error}"
    return Hold(code=HoldCode.BACKING_OFF, member=table.name, text=text, until=standing.retry_at)
