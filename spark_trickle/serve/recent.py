"""The history of the last hour, kept: each time only what is new is read."""

from __future__ import annotations

import threading
from collections import deque
from datetime import timedelta

from spark_trickle.model.refresh import Activity
from spark_trickle.watching import Watch

HOUR = timedelta(hours=1)
MOST = 20_000
"""More lines than that are not kept: the oldest go first, and it is told."""


class RecentHistory:
    """For several threads."""

    def __init__(self, watch: Watch, window: timedelta = HOUR, most: int = MOST) -> None:
        self._watch = watch
        self._window = window
        self._most = most
        self._lock = threading.Lock()
        self._rows: deque[Activity] = deque()
        self._last = 0

    def __call__(self) -> tuple[Activity, ...]:
        """Oldest first."""
        since = self._watch.clock.now() - self._window
        with self._lock:
            new = self._watch.catalog.activity(self._last, since, self._most)
            if new:
                self._last = new[-1].id
                self._rows.extend(new)
            while self._rows and (self._rows[0].started_at < since or len(self._rows) > self._most):
                self._rows.popleft()
            return tuple(self._rows)
