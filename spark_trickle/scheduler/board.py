"""The graph as the scheduler sees it: units by number, who is above and below whom, and each one's rhythm. Pure.

Made when the graph changes and kept until then. The number of a unit is its place in the order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from spark_trickle.graph.units import Unit
from spark_trickle.holds.rule import Situation
from spark_trickle.model.publication import Cut
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import DiamondSchedulePolicy, RefreshMode, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.scheduler.due import AT_ONCE, Rhythm, due_at, rhythms, unit_due_at

Tables = Mapping[TableName, StreamTable]


@dataclass(frozen=True, slots=True)
class Board:
    """Everything about the graph that a tick asks for."""

    units: tuple[Unit, ...]
    unit_of: Mapping[TableName, int]
    above: tuple[frozenset[int], ...]
    below: tuple[frozenset[int], ...]
    readers: Mapping[TableName, tuple[TableName, ...]]
    rhythms: Mapping[TableName, Rhythm]
    watchers: Mapping[TableName, frozenset[int]]
    """The units that have something to do when a table is elsewhere: those that read it, and the one that keeps it."""
    immediate: bool
    """Whether there is any IMMEDIATE stream table: without one, nothing has followers."""

    def members(self, unit: int, tables: Tables) -> list[StreamTable]:
        return [tables[name] for name in self.units[unit].members]

    def group(self, unit: int) -> str | None:
        group = self.units[unit].group
        return None if group is None else group.id

    def policy(self, unit: int) -> DiamondSchedulePolicy:
        group = self.units[unit].group
        return DiamondSchedulePolicy.FASTEST if group is None else group.policy

    def due_at(
        self, unit: int, tables: Tables, standings: Mapping[TableName, Standing], quiet: datetime | None
    ) -> datetime:
        """When a unit is due; `quiet`: until when it was known to have nothing to do."""
        members = self.members(unit, tables)
        moments = {
            table.name: due_at(
                self.rhythms[table.name],
                table.last_refresh_at,
                standings[table.name].slowed if table.name in standings else 1,
                quiet,
            )
            for table in members
            if table.effective_mode is not RefreshMode.IMMEDIATE
        }
        awaited = [table for table in members if table.name in moments]
        return unit_due_at(awaited, moments, self.policy(unit)) if awaited else AT_ONCE

    def rhythm(self, unit: int) -> Rhythm:
        """The rhythm of a unit: that of its fastest or its slowest member."""
        found = [self.rhythms[name] for name in self.units[unit].members]
        timed = [rhythm for rhythm in found if rhythm.interval is not None]
        if not timed:
            return found[0]
        choose = min if self.policy(unit) is DiamondSchedulePolicy.FASTEST else max
        return choose(timed, key=lambda rhythm: rhythm.interval or timedelta())

    def situation(self, cut: Cut, now: datetime, **more: Any) -> Situation:
        """What the rules of `holds` are asked about; who reads whom and what runs together is known here."""
        return Situation(
            cut=cut,
            now=now,
            readers=lambda name: self.readers.get(name, ()),
            together=lambda name: self.with_followers(self.unit_of[name], cut.tables),
            **more,
        )

    def with_followers(self, unit: int, tables: Tables) -> tuple[TableName, ...]:
        """The members, then the IMMEDIATE stream tables that follow them: they are published together."""
        members = self.units[unit].members
        if not self.immediate:
            return members
        found = dict.fromkeys(members)
        for name in self._order_below(members, tables):
            found[name] = None
        return tuple(found)

    def _order_below(self, members: Sequence[TableName], tables: Tables) -> list[TableName]:
        pending, seen = list(members), set(members)
        while pending:
            for reader in self.readers.get(pending.pop(), ()):
                table = tables[reader]
                immediate = table.effective_mode is RefreshMode.IMMEDIATE and table.status is Status.ACTIVE
                if immediate and reader not in seen:
                    seen.add(reader)
                    pending.append(reader)
        place = {name: i for unit in self.units for i, name in enumerate(unit.members)} if len(seen) > 1 else {}
        found = seen.difference(members)
        return sorted(found, key=lambda name: (self.unit_of[name], place[name]))


def make_board(found: Iterable[Unit], tables: Tables, default: timedelta) -> Board:
    """Number the units and draw the lines between them."""
    units = tuple(found)
    unit_of = {name: i for i, unit in enumerate(units) for name in unit.members}
    above: list[set[int]] = [set() for _ in units]
    below: list[set[int]] = [set() for _ in units]
    readers: dict[TableName, list[TableName]] = defaultdict(list)
    watchers: dict[TableName, set[int]] = defaultdict(set)
    for name, table in tables.items():
        for watched in (*table.tables, *(source.table for source in table.sources)):
            watchers[watched].add(unit_of[name])
        for source in table.sources:
            readers[source.table].append(name)
            if source.table in unit_of and unit_of[source.table] != unit_of[name]:
                above[unit_of[name]].add(unit_of[source.table])
                below[unit_of[source.table]].add(unit_of[name])
    return Board(
        units=units,
        unit_of=unit_of,
        above=tuple(frozenset(each) for each in above),
        below=tuple(frozenset(each) for each in below),
        readers={name: tuple(sorted(each)) for name, each in readers.items()},
        rhythms=rhythms(tables, default),
        watchers={name: frozenset(each) for name, each in watchers.items()},
        immediate=any(table.effective_mode is RefreshMode.IMMEDIATE for table in tables.values()),
    )
