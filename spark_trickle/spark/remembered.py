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

PlanKey = tuple[str, tuple[tuple[str, int], ...]]


class Plans:
    """Plans already made in this process. A plan follows from the query and the shapes of its sources."""

    def __init__(self) -> None:
        self._made: dict[PlanKey, AnalyzedQuery] = {}

    def get(self, key: PlanKey, make: Callable[[], AnalyzedQuery]) -> AnalyzedQuery:
        found = self._made.get(key)
        if found is None:
            if len(self._made) > 10_000:
                self._made.clear()
            found = self._made[key] = make()
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
