"""What a process remembers from one refresh to the next. All of it follows from versions that never change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from spark_trickle.spark.analysis import AnalyzedQuery
from spark_trickle.spark.held import Held
from spark_trickle.spark.lookups import RecentLookups
from spark_trickle.spark.readers import Readers
from spark_trickle.spark.sharing import RecentChanges
from spark_trickle.storage.bounds import FileBounds
from spark_trickle.storage.changes import SeenFiles
from spark_trickle.storage.newest import Newest

MOST_PLANS = 5_000
"""Of more stream tables than this, those that were refreshed least recently are planned again."""

PlanKey = tuple[str, tuple[tuple[str, int], ...]]


class Plans:
    """Plans already made in this process. A plan follows from the query and the shapes of its sources."""

    def __init__(self, most: int = MOST_PLANS) -> None:
        # Shapes that were do not come again: of each query the last plan is kept.
        self._made: Newest[PlanKey, AnalyzedQuery] = Newest(most, family=lambda key: key[0], most_of_family=1)

    def get(self, key: PlanKey, make: Callable[[], AnalyzedQuery]) -> AnalyzedQuery:
        found = self._made.get(key)
        if found is None:
            found = make()
            self._made.put(key, found)
        return found


@dataclass(frozen=True, slots=True)
class Remembered:
    """What benches of one lake share over time."""

    held: Held
    plans: Plans = field(default_factory=Plans)
    files: SeenFiles = field(default_factory=SeenFiles)
    bounds: FileBounds = field(default_factory=FileBounds)
    readers: Readers = field(default_factory=Readers)
    changes: RecentChanges = field(default_factory=RecentChanges)
    lookups: RecentLookups = field(default_factory=RecentLookups)
