"""Starts workers, talks to them, and makes sure that they and their JVMs are gone. Ends only what it started."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
START_SECONDS = 120.0
END_SECONDS = 120.0


class Worker:
    """One child process."""

    def __init__(self, lake: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.worker"],
                cwd=ROOT,
                # It does not live long enough for the best code to pay.
                env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.jvm = 0
        self._buffer = b""
        self._write(lake)

    def start(self) -> None:
        """Wait for its JVM."""
        self.jvm = int(self.answer(START_SECONDS))

    def tell(self, command: str, **arguments: object) -> None:
        self._write([command, arguments])

    def answer(self, seconds: float) -> Any:
        """The next answer; the worker's own words when it does not come."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            read = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not read:
                raise AssertionError(f"the worker did not answer:\n{self.words()}")
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def words(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def end(self) -> None:
        """Python first, whose JVM follows it; waits until both are gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=END_SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if not self.jvm_is_gone(END_SECONDS):
            os.kill(self.jvm, signal.SIGKILL)
            raise AssertionError(f"the JVM {self.jvm} outlived its Python process")

    def jvm_is_gone(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while _is_java(self.jvm):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def _write(self, value: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def working(lake: dict[str, str], log: Path) -> Iterator[Worker]:
    worker = Worker(lake, log)
    try:
        yield worker
    finally:
        worker.end()


def _is_java(pid: int) -> bool:
    """Whether that process lives and is the JVM: numbers of processes are used again."""
    if pid == 0:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return "(java)" in state and ") Z " not in state
