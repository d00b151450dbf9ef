"""Who has become late, for hooks and logs: looked at while a scheduler is at work, beside it and never in its way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from spark_trickle.conditions import State, overdue
from spark_trickle.errors import StreamTableError
from spark_trickle.events import Late, Observer
from spark_trickle.names import TableName
from spark_trickle.watching import Watch

_LOG = logging.getLogger("spark_trickle")

EVERY_SECONDS = 5.0


@dataclass(slots=True)
class Lateness:
    """Tells each stream table once when it becomes late, and again only after it was in time."""

    watch: Watch
    notify: Observer
    wanted: bool
    """Whether anybody is to be told: looking at a thousand tables is not for nothing."""
    every_seconds: float = EVERY_SECONDS
    _late: set[TableName] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> None:
        """Once."""
        if not self.wanted:
            return
        with self._lock:
            moment = self.watch.moment()
            late = {
                name: condition
                for name, condition in moment.conditions.items()
                if condition.state is not State.FAILED and overdue(condition, moment.board.rhythms[name], moment.now)
            }
            new, self._late = late.keys() - self._late, set(late)
        for name in sorted(new):
            since = late[name].behind_since
            assert since is not None
            self.notify(Late(str(name), late[name].because, since))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Again and again, in a thread of its own, for as long as the block lasts."""
        if not self.wanted:
            yield
            return
        stop = threading.Event()
        thread = threading.Thread(target=self._watch, args=(stop,), name="trickle-lateness", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _watch(self, stop: threading.Event) -> None:
        while not stop.wait(self.every_seconds):
            try:
                self.look()
            except StreamTableError as err:
                # The database is away, for example: the scheduler says so, too.
                _LOG.info("who is late cannot be seen now: %s", err)
