"""What a process remembers from one refresh to the next. All of it follows from versions that never change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from spark_trickle.names import TableName
from spark_trickle.spark.execution.held import Held
from spark_trickle.spark.execution.lookups import Lookups
from spark_trickle.spark.execution.sharing import RecentChanges
from spark_trickle.spark.queries.analysis import AnalyzedQuery
from spark_trickle.storage.bounds import FileBounds
from spark_trickle.storage.newest import Newest
from spark_trickle.storage.seen import SeenFiles

MOST_PLANS = 5_000
"""Of more stream tables than this, those that were refreshed least recently are planned again."""

PlanKey = tuple[TableName, str, tuple[tuple[str, int], ...]]
"""A stream table, its query, and the shapes of its sources."""


class Plans:
    """Plans already made in this process. A plan follows from the query and the shapes of its sources."""

    def __init__(self, most: int = MOST_PLANS) -> None:
        # Shapes and queries that were do not come again: of each stream table the last plan is kept.
        self._made: Newest[TableName, tuple[PlanKey, AnalyzedQuery]] = Newest(most)

    def get(self, key: PlanKey, make: Callable[[], AnalyzedQuery]) -> AnalyzedQuery:
        found = self._made.get(key[0])
        if found is None or found[0] != key:
            found = key, make()
            self._made.put(key[0], found)
        return found[1]

    def forget(self, name: TableName) -> None:
        self._made.forget(name)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What benches of one lake share over time."""

    held: Held
    lookups: Lookups
    plans: Plans = field(default_factory=Plans)
    files: SeenFiles = field(default_factory=SeenFiles)
    bounds: FileBounds = field(default_factory=FileBounds)
    changes: RecentChanges = field(default_factory=RecentChanges)

    def forget(self, table: TableName) -> None:
        """A stream table is dropped: nobody will ask for what follows from its query."""
        self.plans.forget(table)
        self.lookups.readers.forget(table)
