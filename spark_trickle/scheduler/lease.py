"""One scheduler at a time: a lease that is renewed while it is held, and a token that fences off who lost it.

A scheduler that is killed renews nothing, and another takes over when the lease has ended. One that only seemed dead
finds its token outdated when it publishes, and publishes nothing; see `catalog/lease.py`.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from spark_trickle.clock import Clock
from spark_trickle.errors import DeposedError, SchedulerBusyError, TransientError
from spark_trickle.model.standing import UnderWay
from spark_trickle.ports import SchedulerCatalog

_RENEWALS = 4
"""How often a lease is renewed before it would end."""
_LOOK_SECONDS = 0.5
_WORTH_TELLING = timedelta(seconds=0.5)
"""How long a refresh runs before others are told of it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of one lake, as one scheduler sees it."""

    catalog: SchedulerCatalog
    clock: Clock
    seconds: float
    holder: str
    running: Callable[[], tuple[UnderWay, ...]] = tuple
    """What is being refreshed now, for people to see."""

    @contextmanager
    def held(self, *, wait: Callable[[float], bool] | None = None) -> Iterator[int]:
        """Hold it and give its token; in a thread beside, it is renewed.

        `wait` pauses for that long and says whether to give up; without it, a lease that somebody else holds is a
        SchedulerBusyError.
        """
        token = self._take(wait)
        done = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(token, done), name="trickle-lease", daemon=True)
        renewing.start()
        try:
            yield token
        finally:
            done.set()
            renewing.join()
            self._give_back(token)

    def _take(self, wait: Callable[[float], bool] | None) -> int:
        while True:
            now = self.clock.now()
            taken = self.catalog.take_lease(self.holder, now, now + timedelta(seconds=self.seconds))
            if taken is not None:
                return taken.token
            found = self.catalog.lease()
            if wait is None or wait(self.seconds / _RENEWALS):
                raise SchedulerBusyError(found.holder, found.expires_at)

    def _renew(self, token: int, done: threading.Event) -> None:
        every = self.seconds / _RENEWALS
        told: tuple[UnderWay, ...] = ()
        renewed = time.monotonic()
        while not done.wait(min(every, _LOOK_SECONDS)):
            now = self.clock.now()
            # What is done in a moment is not worth a transaction.
            running = tuple(each for each in self.running() if now - each.since >= _WORTH_TELLING)
            if running == told and time.monotonic() - renewed < every:
                continue
            try:
                self.catalog.renew_lease(token, now + timedelta(seconds=self.seconds), now, running)
                renewed, told = time.monotonic(), running
            except DeposedError:
                return  # the next publication says so
            except TransientError:
                continue  # the database may be back before the lease ends

    def _give_back(self, token: int) -> None:
        try:
            self.catalog.give_back_lease(token)
        except TransientError:
            return  # it ends by itself


def holder_name() -> str:
    """Who holds a lease, for people to find the process."""
    return f"process {os.getpid()} on {socket.gethostname()} ({uuid.uuid4().hex[:6]})"
