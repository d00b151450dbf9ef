"""Turns: what two threads want at once, one of them does, and the other finds it done."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """A lock for each key. Whoever has a turn, or waits for it, holds its lock; the others are forgotten."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        self._finding = threading.Lock()

    def of(self, key: Hashable) -> threading.Lock:
        with self._finding:
            lock = self._locks.get(key)
            if lock is None:
                lock = self._locks[key] = threading.Lock()
            return lock

    def __len__(self) -> int:
        return len(self._locks)
