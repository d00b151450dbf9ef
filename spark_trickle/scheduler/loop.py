"""The scheduler: ticks, alone or in a loop, while it holds the lease. One per engine; threads take turns."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import FrameType

from spark_trickle.clock import Clock
from spark_trickle.errors import DeposedError, SchedulerBusyError, TransientError
from spark_trickle.events import Noticed, Observer, TickFinished
from spark_trickle.model.publication import Cut
from spark_trickle.model.tick import TickReport
from spark_trickle.ports import SchedulerCatalog
from spark_trickle.refresh.run import Refresher
from spark_trickle.scheduler.board import Board
from spark_trickle.scheduler.lease import Lease, holder_name
from spark_trickle.scheduler.memory import Memory
from spark_trickle.scheduler.tick import Tick, World
from spark_trickle.scheduler.under_way import Running

SUBJECT = "scheduler"
"""What notices of the scheduler itself are about."""

_LOOK_SECONDS = 0.05
"""How often a pausing scheduler asks whether somebody changed the graph or a gate."""

Told = Callable[[TickReport], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The settings of a scheduler."""

    interval: timedelta
    lease_seconds: float
    workers: int
    one_cut: bool
    stale_gate: timedelta
    stuck_after: timedelta = timedelta()


class Scheduler:
    """Refreshes what is due, at one cut per tick."""

    def __init__(
        self,
        catalog: SchedulerCatalog,
        read_cut: Callable[[], Cut],
        refresher: Refresher,
        *,
        make_board: Callable[[Cut], Board],
        clock: Clock,
        notify: Observer,
        pace: Pace,
        running: Running | None = None,
    ) -> None:
        """Args:
        running: what is being refreshed in this process, by hand, too.
        """
        self._catalog = catalog
        self._clock = clock
        self._notify = notify
        self._pace = pace
        self._stop = threading.Event()
        self._turn = threading.Lock()
        self._memory = Memory(make_board)
        self._token = 0
        running = running or Running(clock)
        self._lease = Lease(catalog, clock, pace.lease_seconds, holder_name(), running)
        self._pool = ThreadPoolExecutor(pace.workers, thread_name_prefix="trickle-refresh")
        self._world = World(
            catalog=catalog,
            read_cut=read_cut,
            refresher=refresher,
            notify=notify,
            executor=self._pool,
            workers=pace.workers,
            one_cut=pace.one_cut,
            stale_gate=pace.stale_gate,
            stuck_after=pace.stuck_after,
            stopping=self._stop.is_set,
            refreshing=running.refreshing,
        )

    def close(self) -> None:
        """Stop a loop that runs in another thread, and let go of the pool."""
        self._stop.set()
        self._pool.shutdown()

    def tick(self, now: datetime | None = None) -> TickReport:
        """One pass. SchedulerBusyError: another process is scheduling."""
        with self._turn, self._lease.held() as fence:
            return self._tick(fence, now)

    def run(self, until: datetime | None = None, told: Told = lambda _: None) -> None:
        """Tick until then, or until SIGTERM or SIGINT: what runs is finished, nothing more is started.

        Waits while another scheduler is at work, and again when another one has taken over.
        """
        with self._turn, _stopped_by_signals(self._stop):
            try:
                while not self._ended(until):
                    self._run_while_ours(until, told)
            finally:
                self._stop.clear()

    def _run_while_ours(self, until: datetime | None, told: Told) -> None:
        try:
            found = self._catalog.lease()
            if found.live(self._clock.now()):
                self._notify(Noticed(SUBJECT, f"another scheduler is at work, waiting for it to end: {found.holder}"))
            with self._lease.held(wait=lambda seconds: self._stop.wait(seconds) or self._ended(until)) as fence:
                self._loop(fence, until, told)
        except DeposedError as err:
            self._notify(Noticed(SUBJECT, str(err)))
        except SchedulerBusyError:
            return  # it was time to end while somebody else was at work
        except TransientError as err:
            self._notify(Noticed(SUBJECT, f"the lease cannot be had: {err}"))
            self._stop.wait(self._pace.interval.total_seconds())

    def _loop(self, fence: int, until: datetime | None, told: Told) -> None:
        while not self._ended(until):
            generation = -1
            try:
                generation = self._catalog.generation()
                told(self._tick(fence, None))
            except TransientError as err:
                # The database, for example, is away: what is due stays due.
                self._notify(Noticed(SUBJECT, f"a tick came to nothing: {err}"))
            self._pause(generation, until)

    def _tick(self, fence: int, now: datetime | None) -> TickReport:
        if fence != self._token and fence != self._token + 1:
            # Somebody else has scheduled meanwhile, and remembers other things.
            self._memory.forget_standings()
        self._token = fence
        report = Tick(self._world, self._memory, fence, self._clock.now() if now is None else now).run()
        self._notify(TickFinished(report))
        return report

    def _pause(self, generation: int, until: datetime | None) -> None:
        """Wait for the next tick; less long when somebody changes the graph or a gate."""
        end = time.monotonic() + self._pace.interval.total_seconds()
        while (left := end - time.monotonic()) > 0 and not self._ended(until):
            if self._stop.wait(min(left, _LOOK_SECONDS)):
                return
            try:
                if self._catalog.generation() != generation:
                    return
            except TransientError:
                continue

    def _ended(self, until: datetime | None) -> bool:
        return self._stop.is_set() or (until is not None and self._clock.now() >= until)


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let SIGTERM and SIGINT stop the loop; a second one ends the process as usual. Only the main thread hears them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

    def heard(number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for each in before:
        signal.signal(each, heard)
    try:
        yield
    finally:
        for each, former in before.items():
            signal.signal(each, former)
