"""A process that runs for days holds no more after many rounds than after some.

`TRICKLE_SOAK_ROUNDS=400` makes so many rounds, with narrower bounds; `-s` shows the figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.faults.soak import Sample

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
SHORT = 30
LONG = int(os.environ.get("TRICKLE_SOAK_ROUNDS", "0"))
SECONDS_PER_ROUND = 30

BY_ROUND = {
    "python_objects": 20.0,
    "java_proxies": 0.1,
    "python_mb": 0.03,
    "heap_mb": 0.1,
    "beside_heap_mb": 0.3,
}
"""By how much a figure may grow in each round of a long run. Beside the heap is code that Spark generates for keys
that never come again, until as much is kept as the session's settings allow."""
IN_SHORT = {"python_objects": 600.0, "java_proxies": 5.0, "python_mb": 3.0, "heap_mb": 40.0, "beside_heap_mb": 40.0}
"""By how much in all in a short run, in which Java still warms up. What is kept of the last changes is bounded, and
still fills: by 100 to 330 objects where 45 rounds ended level."""
IN_ALL = {"python_threads": 2.0, "java_threads": 80.0, "open_files": 8.0, "temporary_files": 60.0}
"""By how much in any run. The JVM's threads are those of Spark's pools, all bounded."""
MOST_JAVA_THREADS = 600


def soaked(folder: Path, rounds: int) -> list[Sample]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.soak", str(folder), str(rounds)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60 + SECONDS_PER_ROUND * rounds,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [Sample(**json.loads(line)) for line in done.stdout.splitlines()]


def test_a_process_that_goes_on_and_on_holds_no_more_than_at_first(tmp_path: Path) -> None:
    rounds = LONG or SHORT
    samples = soaked(tmp_path, rounds)
    assert [sample.number for sample in samples] == list(range(rounds))
    # The first rounds fill what is bounded. Then two windows, each with all kinds of changes.
    former, latter = samples[rounds * 2 // 5 : rounds * 7 // 10], samples[rounds * 7 // 10 :]
    apart = rounds * 3 // 10

    def grown(figure: str) -> float:
        before, after = (median(getattr(sample, figure) for sample in window) for window in (former, latter))
        return float(after - before)

    allowed = IN_ALL | ({figure: by * apart for figure, by in BY_ROUND.items()} if LONG else IN_SHORT)
    found = {figure: grown(figure) for figure in allowed}
    if LONG:
        for sample in samples[:: max(1, rounds // 20)]:
            print(sample)  # noqa: T201
        print(f"grown in {apart} rounds: {found}")  # noqa: T201
    assert {figure: by for figure, by in found.items() if by > allowed[figure]} == {}, (found, samples[-1])
    assert samples[-1].java_threads <= MOST_JAVA_THREADS
    assert median(s.cpu_seconds for s in latter) <= 1.5 * median(s.cpu_seconds for s in former)
