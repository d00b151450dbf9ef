"""A driver in a process of its own, which can be told what to do and be killed: programs that read commands as lines
and answer each with a line of JSON (`on_cluster.obey`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Driver:
    """One process that works on the lake."""

    def __init__(self, program: str, log: Path, arguments: tuple[object, ...]) -> None:
        self._log = log
        with log.open("wb") as words:
            self.process = subprocess.Popen(
                [sys.executable, "-m", program, *map(str, arguments)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
            )
        assert self.answer() == arguments[0]

    def ask(self, *command: object) -> object:
        """Tell it, and wait for the answer."""
        self.begin(*command)
        return self.result()

    def result(self) -> object:
        """What comes of what was begun."""
        while (said := self.answer()) == "computing":
            pass
        return said

    def begin(self, *command: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, command)) + "\n")
        self.process.stdin.flush()

    def answer(self) -> object:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the driver ended:\n{self._log.read_text(errors='replace')[-4000:]}"
        return json.loads(line)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def driving(program: str, log: Path, *arguments: object) -> Iterator[Driver]:
    """Start a program of drivers, and kill it at the end. Its first argument is the Spark master."""
    driver = Driver(program, log, arguments)
    try:
        yield driver
    finally:
        driver.kill()
