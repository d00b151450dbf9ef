"""What is remembered, up to a size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

Key = TypeVar("Key")
Value = TypeVar("Value")


class Newest(Generic[Key, Value]):
    """Values by their keys; what was asked for least recently goes first. Any thread may ask."""

    def __init__(
        self,
        most: int,
        size: Callable[[Value], int] = lambda _: 1,
        *,
        family: Callable[[Key], Hashable] | None = None,
        most_of_family: int = 4,
    ) -> None:
        """Args:
        most: what all of them may come to.
        size: what one of them counts.
        family: which of them belong together, such as versions of one table: of these only the newest few are kept,
            because old ones are not asked for again.
        most_of_family: how many those few are.
        """
        self._most = most
        self._size = size
        self._family = family
        self._most_of_family = most_of_family
        self._families: dict[Hashable, OrderedDict[Key, None]] = {}
        self._total = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                if self._family is not None:
                    self._families[self._family(key)].move_to_end(key)
            return found

    def forget(self, key: Key) -> None:
        with self._lock:
            if key in self._values:
                self._remove(key)

    def items(self) -> list[tuple[Key, Value]]:
        """All of them, which does not count as asking."""
        with self._lock:
            return list(self._values.items())

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: Key, value: Value) -> None:
        """Remember a value in the place of what was known under its key, unless it alone is too large."""
        with self._lock:
            if key in self._values:
                self._remove(key)
            if self._size(value) > self._most:
                return
            self._values[key] = value
            self._total += self._size(value)
            if self._family is not None:
                relatives = self._families.setdefault(self._family(key), OrderedDict())
                relatives[key] = None
                while len(relatives) > self._most_of_family:
                    self._remove(next(iter(relatives)))
            while self._total > self._most:
                self._remove(next(iter(self._values)))

    def _remove(self, key: Key) -> None:
        self._total -= self._size(self._values.pop(key))
        if self._family is not None:
            family = self._family(key)
            del self._families[family][key]
            if not self._families[family]:
                del self._families[family]


BESIDE_ROWS = 16 * 1024
"""Bytes that a small table of Arrow's and its schema take, however few its rows."""


def size_in_bytes(rows: pa.Table | pa.Array) -> int:
    """What rows take in memory. Not `nbytes`: it kills the process where a nested list is empty and has no offsets, as
    Java sends it.
    """
    return BESIDE_ROWS + int(rows.get_total_buffer_size())
