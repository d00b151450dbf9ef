"""What a rule is: a function from a situation to whom it holds."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from spark_trickle.graph.units import plan_units
from spark_trickle.holds.aligned import HeldBack
from spark_trickle.model.hold import Hold
from spark_trickle.model.publication import Cut
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import TableName

Readers = Callable[[TableName], Iterable[TableName]]
"""Which stream tables read a table directly."""

Together = Callable[[TableName], Iterable[TableName]]
"""Which stream tables are refreshed with one, itself among them: its unit, and what follows that at once."""

Held = Mapping[TableName, tuple[Hold, ...]]
"""Whom something holds, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that a rule may look at."""

    cut: Cut
    now: datetime
    standings: Mapping[TableName, Standing] = field(default_factory=dict)
    readers: Readers | None = None
    """Spares finding out who reads whom, where somebody knows."""
    together: Together | None = None
    """The same for what is refreshed together."""
    back: HeldBack | None = None
    """The same for what is held back."""
    stuck_after: timedelta = timedelta()
    """How long a watermark may stand still; zero: for ever."""

    def who_reads(self) -> Readers:
        return self.readers or readers_of(self.cut.tables.values())

    def who_is_with(self) -> Together:
        return self.together or _units(self.cut)

    def with_table(self, table: StreamTable) -> Situation:
        """The same, with one stream table as it will be."""
        cut = replace(self.cut, tables={**self.cut.tables, table.name: table})
        return replace(self, cut=cut, readers=None, together=None, back=None)


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to hold. It must cost nothing where there is nothing to hold: it is asked at every tick."""

    find: Callable[[Situation], Held]
    of_sources: bool = False
    """Whether it is about what a stream table reads: then it also keeps one that is created from being loaded."""
    passing: bool = False
    """Whether the answer may change though the cut does not: with time, or with what the scheduler remembers."""


def readers_of(tables: Iterable[StreamTable]) -> Readers:
    """Who reads what, from what each one reads."""
    found: dict[TableName, set[TableName]] = defaultdict(set)
    for table in tables:
        for source in table.sources:
            found[source.table].add(table.name)
    return lambda name: sorted(found.get(name, ()))


def dependents(source: TableName, readers: Readers) -> dict[TableName, TableName]:
    """Whoever depends on the source, each with what it reads on its shortest way there; circles end, too."""
    came_from: dict[TableName, TableName] = {}
    pending = deque([source])
    while pending:
        current = pending.popleft()
        for reader in readers(current):
            if reader not in came_from and reader != source:
                came_from[reader] = current
                pending.append(reader)
    return came_from


def _units(cut: Cut) -> Together:
    units, readers = plan_units(cut.tables, cut.groups), readers_of(cut.tables.values())

    def together(name: TableName) -> Iterable[TableName]:
        found = dict.fromkeys(units.of(name).members)
        pending = list(found)
        while pending:
            for reader in readers(pending.pop()):
                if reader not in found and cut.tables[reader].effective_mode is RefreshMode.IMMEDIATE:
                    found[reader] = None
                    pending.append(reader)
        return found

    return together
