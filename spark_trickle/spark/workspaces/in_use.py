"""Which versions of tables are being read in this process: by refreshes, users' transactions and consistent reads, and
by frames of changes, which users may run at any time.

Maintenance keeps what they read, and what they may have written. What other processes read is protected by age only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from spark_trickle.model.frontier import Pointer
from spark_trickle.names import TableName


@dataclass(frozen=True, eq=False, slots=True)
class Late:
    """What is read late, for as long as somebody can still run what reads it."""

    pointer: Pointer
    snapshots: frozenset[int]
    alive: Callable[[], bool]
    release: Callable[[], object]
    """Called once, when it is not."""


class InUse:
    """Versions held by readers. A reader is any object; one that is forgotten holds nothing any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._late: list[Late] = []
        self._held: WeakKeyDictionary[object, tuple[float, dict[TableName, str]]] = WeakKeyDictionary()

    def hold(self, reader: object, pointers: Iterable[Pointer]) -> None:
        """These versions and no others are read by it from now on."""
        locations = {pointer.table: pointer.location for pointer in pointers}
        with self._lock:
            self._held[reader] = (time.time(), locations)

    def release(self, reader: object) -> None:
        with self._lock:
            self._held.pop(reader, None)

    def hold_late(self, late: Late) -> None:
        """These snapshots are read by somebody who is not here, from now on."""
        self._let_go()
        with self._lock:
            self._late.append(late)

    def snapshots(self, table: TableName) -> frozenset[int]:
        """Snapshots of a table that are read late."""
        self._let_go()
        with self._lock:
            return frozenset(found for late in self._late if late.pointer.table == table for found in late.snapshots)

    def locations(self, table: TableName | None = None) -> frozenset[str]:
        """The metadata files of the versions that are read, of one table or of all."""
        self._let_go()
        with self._lock:
            held = [locations for _, locations in self._held.values()]
            held += [{late.pointer.table: late.pointer.location} for late in self._late]
        if table is None:
            return frozenset(location for locations in held for location in locations.values())
        return frozenset(locations[table] for locations in held if table in locations)

    def since_ms(self) -> int | None:
        """When the oldest of those that are at work began: files written later may be theirs."""
        with self._lock:
            began = [moment for moment, _ in self._held.values()]
        return int(min(began) * 1000) if began else None

    def _let_go(self) -> None:
        with self._lock:
            late = list(self._late)
        gone = [each for each in late if not each.alive()]  # asks a JVM: not under the lock
        with self._lock:
            mine = [each for each in gone if each in self._late]
            self._late = [each for each in self._late if each not in mine]
        for each in mine:
            each.release()


IN_USE = InUse()
"""One for the process, because several engines may work on one lake."""
