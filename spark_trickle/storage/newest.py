"""What is remembered, up to a size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

Key = TypeVar("Key")
Value = TypeVar("Value")


class Newest(Generic[Key, Value]):
    """Values by their keys; what was asked for least recently goes first. Any thread may ask."""

    def __init__(self, most: int, size: Callable[[Value], int] = lambda _: 1) -> None:
        """Args:
        most: what all of them may come to.
        size: what one of them counts.
        """
        self._most = most
        self._size = size
        self._total = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
            return found

    def put(self, key: Key, value: Value) -> None:
        """Remember a value in the place of what was known under its key, unless it alone is too large."""
        with self._lock:
            former = self._values.pop(key, None)
            self._total -= 0 if former is None else self._size(former)
            if self._size(value) > self._most:
                return
            self._values[key] = value
            self._total += self._size(value)
            while self._total > self._most:
                _, gone = self._values.popitem(last=False)
                self._total -= self._size(gone)


def size_in_bytes(rows: pa.Table | pa.Array) -> int:
    """What rows take in memory. Not `nbytes`: it kills the process where a nested list is empty and has no offsets, as
    Java sends it.
    """
    return int(rows.get_total_buffer_size())
