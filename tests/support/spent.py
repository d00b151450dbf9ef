"""What a piece of work costs, on a machine that others use, too: processor time of those who do it, the clock, and how
much of the machine others had meanwhile. The clock says something only where they let it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CALM = 0.1
"""Of the machine's processors, what others may have while the clock is believed."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Spent:
    """Seconds. Told when the work is done."""

    processor: float = 0.0
    clock: float = 0.0
    others: float = 0.0
    """The part of the machine that others had."""

    def within(self, seconds: float) -> bool:
        """Whether it took no more, by the processors; and by the clock, where others did not slow it down."""
        return self.processor < seconds and (self.clock < seconds or self.others > CALM)


@contextmanager
def measured(*processes: int) -> Iterator[Spent]:
    """Args:
    processes: who works for it, besides this process.
    """
    spent = Spent()
    machine, before, began = _machine(), _used(processes), time.perf_counter()
    yield spent
    spent.clock = time.perf_counter() - began
    spent.processor = _used(processes) - before
    of_others = max(0.0, _machine() - machine - spent.processor)
    spent.others = of_others / max(spent.clock * (os.cpu_count() or 1), 0.01)


def _used(processes: Iterable[int]) -> float:
    found = time.process_time()
    for process in processes:
        # The name, in brackets, may have spaces.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        found += sum(map(int, fields[11:13])) / _TICKS
    return found


def _machine() -> float:
    """Seconds of processors that everybody on this machine has used, and those that were taken from it."""
    user, nice, system, _idle, _waiting, *rest = map(int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:])
    return (user + nice + system + sum(rest[:3])) / _TICKS
