"""Schedulers in processes of their own, with a JVM each: started, killed, frozen, and asked what they have done."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.children import Worker

SIZE = 2
LEASE_SECONDS = 3.0
STOP_SECONDS = 120.0


class Crew:
    """So many schedulers at a time, of which one holds the lease."""

    def __init__(self, lake: dict[str, str], folder: Path, dice: random.Random) -> None:
        self._lake = lake
        self._folder = folder
        self._dice = dice
        self._started = 0
        self.workers: list[Worker] = []

    def start(self) -> None:
        self._started += 1
        worker = Worker(self._lake, self._folder / f"{self._started}.log")
        self.workers.append(worker)
        worker.start()
        settings = {"scheduler_interval_ms": 200, "scheduler_lease_seconds": LEASE_SECONDS}
        reports = self._folder / f"{self._started}.reports"
        worker.tell("schedule", lake=self._lake, reports=str(reports), **settings)

    def kill(self) -> None:
        """One of them, wherever it is, and another one in its place."""
        victim = self._dice.choice(self.workers)
        self.workers.remove(victim)
        victim.end()
        self.start()

    def freeze(self, seconds: float) -> None:
        """One of them stands still for longer than its lease, and then goes on as if nothing had been."""
        victim = self._dice.choice(self.workers)
        victim.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        victim.process.send_signal(signal.SIGCONT)

    def done(self) -> Counter[str]:
        """Ticks that did something, of all that ever were: how many, and what came of them."""
        found: Counter[str] = Counter()
        for path in self._folder.glob("*.reports"):
            # Whoever is killed may leave half a line.
            for line in path.read_text().split("\n")[:-1]:
                found.update(json.loads(line))
        return found

    def passes(self) -> int:
        """Ticks that came to their end, also those that found nothing to do."""
        return sum(path.stat().st_size for path in self._folder.glob("*.passes"))

    def stop(self) -> None:
        """All of them, each when it has finished what it is doing."""
        for worker in self.workers:
            worker.process.send_signal(signal.SIGTERM)
        for worker in self.workers:
            assert worker.answer(STOP_SECONDS) == "stopped"

    def end(self) -> None:
        for worker in self.workers:
            worker.process.send_signal(signal.SIGCONT)
            worker.end()


@contextmanager
def at_work(lake: dict[str, str], folder: Path, dice: random.Random) -> Iterator[Crew]:
    folder.mkdir()
    crew = Crew(lake, folder, dice)
    try:
        for _ in range(SIZE):
            crew.start()
        yield crew
    finally:
        crew.end()
