"""A measured process with all that it starts: what it took of processors and memory, as Linux counts it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 1500.0
"""Then it is given up."""
GRACE_S = 1.0
"""What goes on for so long after an answer is of the change, too."""
QUIET_S = 2.0
"""So long a process that does not say when it is done has to do next to nothing, to be taken as done."""
QUIET_SHARE = 0.1
"""Of a processor: what a process takes that only looks whether there is something to do, and more."""


@dataclass(frozen=True, slots=True)
class Event:
    """What a process said, and when."""

    at: float
    answer: tuple[tuple[str, ...], ...] | None
    done: int | None


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident, in MB, the process and all that it started."""

    now_mb: float
    peak_mb: float
    """The sum of the peaks of each."""


class Measured:
    """One running process."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.started = time.time()
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **(environment or {})},
            )
        self._events: queue.Queue[Event | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, batch: int) -> None:
        """Tell it to read a batch."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{batch}\n".encode())
        self._process.stdin.flush()

    def next_event(self, seconds: float) -> Event | None:
        """What it says next, if it says anything within the time."""
        with contextlib.suppress(queue.Empty):
            found = self._events.get(timeout=seconds)
            if found is None:
                raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}: see its log")
            return found
        return None

    def cpu_s(self) -> float:
        """Processor time so far; that of children that ended is in their parent's."""
        return sum(map(_cpu_s, self._tree()))

    def memory(self) -> Memory:
        """What it holds, and what it held at most."""
        held = [_memory(pid) for pid in self._tree()]
        return Memory(sum(each.now_mb for each in held), sum(each.peak_mb for each in held))

    def kill(self) -> None:
        """End it as a crash would, with all that it started."""
        for pid in self._tree():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            rows = said.get("answer")
            answer = None if rows is None else tuple(tuple(row) for row in rows)
            self._events.put(Event(time.time(), answer, said.get("done")))
        self._events.put(None)

    def _tree(self) -> list[int]:
        """It, its children and theirs."""
        children: dict[int, list[int]] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            if fields := _stat(int(folder.name)):
                children.setdefault(int(fields[1]), []).append(int(folder.name))
        found = [self._process.pid]
        for pid in found:
            found += children.get(pid, [])
        return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name; none if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _cpu_s(pid: int) -> float:
    return sum(map(int, _stat(pid)[11:15])) / TICKS


def _memory(pid: int) -> Memory:
    sizes = {"VmRSS": 0.0, "VmHWM": 0.0}
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            name, _, rest = line.partition(":")
            if name in sizes:
                sizes[name] = int(rest.split()[0]) / 1024
    return Memory(sizes["VmRSS"], sizes["VmHWM"])
