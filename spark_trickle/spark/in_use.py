"""Which versions of tables are being read in this process: by refreshes, users' transactions and consistent reads.

Maintenance keeps what they read, and what they may have written. What other processes read is protected by age only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from spark_trickle.model.frontier import Pointer
from spark_trickle.names import TableName


class InUse:
    """Versions held by readers. A reader is any object; one that is forgotten holds nothing any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: WeakKeyDictionary[object, tuple[float, dict[TableName, str]]] = WeakKeyDictionary()

    def hold(self, reader: object, pointers: Iterable[Pointer]) -> None:
        """These versions and no others are read by it from now on."""
        locations = {pointer.table: pointer.location for pointer in pointers}
        with self._lock:
            self._held[reader] = (time.time(), locations)

    def release(self, reader: object) -> None:
        with self._lock:
            self._held.pop(reader, None)

    def locations(self, table: TableName | None = None) -> frozenset[str]:
        """The metadata files of the versions that are read, of one table or of all."""
        with self._lock:
            held = [locations for _, locations in self._held.values()]
        if table is None:
            return frozenset(location for locations in held for location in locations.values())
        return frozenset(locations[table] for locations in held if table in locations)

    def since_ms(self) -> int | None:
        """When the oldest of those that are at work began: files written later may be theirs."""
        with self._lock:
            began = [moment for moment, _ in self._held.values()]
        return int(min(began) * 1000) if began else None


IN_USE = InUse()
"""One for the process, because several engines may work on one lake."""
