"""What a rule is: a function from a situation to whom it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from spark_trickle.model.hold import Hold
from spark_trickle.model.publication import Cut
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName

Readers = Callable[[TableName], Iterable[TableName]]
"""Which stream tables read a table directly."""

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

    def with_table(self, table: StreamTable) -> Situation:
        """The same, with one stream table as it will be."""
        return replace(self, cut=replace(self.cut, tables={**self.cut.tables, table.name: table}), readers=None)


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to hold. It must cost nothing where there is nothing to hold: it is asked at every tick."""

    find: Callable[[Situation], Held]
    of_sources: bool = False
    """Whether it is about what a stream table reads: then it also keeps one that is created from being loaded."""
    passing: bool = False
    """Whether the answer may change though the cut does not: with time, or with what the scheduler remembers."""
