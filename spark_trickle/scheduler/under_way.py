"""What is being refreshed at this moment, by unit.

The threads that refresh write it, the one that renews the lease reads it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spark_trickle.clock import Clock
from spark_trickle.model.standing import UnderWay
from spark_trickle.names import TableName


class Running:
    """The units under way in this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._units: list[UnderWay] = []

    def __call__(self) -> tuple[UnderWay, ...]:
        with self._lock:
            return tuple(self._units)

    @contextmanager
    def refreshing(self, tables: tuple[TableName, ...]) -> Iterator[None]:
        unit = UnderWay(tables, self._clock.now())
        with self._lock:
            self._units.append(unit)
        try:
            yield
        finally:
            with self._lock:
                self._units.remove(unit)
