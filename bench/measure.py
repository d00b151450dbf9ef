"""Timing and the table that is printed."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action, RefreshOutcome


@dataclass(frozen=True, slots=True)
class Line:
    """One measured claim."""

    what: str
    differential_ms: float
    full_ms: float | None
    target: str
    met: bool
    jobs: int | None = None
    commits: int | None = None

    @property
    def ratio(self) -> str:
        return f"{self.full_ms / self.differential_ms:.1f}×" if self.full_ms else ""


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


@dataclass(frozen=True, slots=True)
class Spent:
    """What something took. Processor time survives a machine that does other things as well; the clock does not."""

    ms: float
    cpu_s: float


def spent(engine: Engine, work: Callable[[], object]) -> Spent:
    """The clock and the processor time of one call: this process, and the JVM with all that runs in it meanwhile."""
    cpu, took = _cpu(engine), timed(work)
    return Spent(took, _cpu(engine) - cpu)


def _cpu(engine: Engine) -> float:
    """Seconds of processor time so far, as Linux counts them."""
    jvm = engine.spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    fields = Path(f"/proc/{jvm}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return time.process_time() + sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def median_full(engine: Engine, query: str, repeat: int) -> float:
    """Recompute-and-replace of the query in the same session, warm."""
    statement = f"CREATE OR REPLACE TABLE bench_full USING iceberg AS {query}"
    engine.spark.sql(statement)
    return statistics.median(timed(lambda: engine.spark.sql(statement)) for _ in range(max(2, repeat // 2)))


def median_refresh(
    engine: Engine, name: str, change: Callable[[int], object], repeat: int
) -> tuple[float, list[RefreshOutcome]]:
    """Median wall clock of refreshes, each after a change; the first two warm up and do not count."""
    times, outcomes = [], []
    for turn in range(repeat + 2):
        change(turn)
        started = time.perf_counter()
        outcome = engine.refresh_stream_table(name)
        elapsed = (time.perf_counter() - started) * 1000
        if outcome.action is not Action.DIFFERENTIAL:
            raise SystemExit(
                f"{name} ran {outcome.action} ({outcome.reason}): not a measurement of a differential refresh"
            )
        if turn >= 2:
            times.append(elapsed)
            outcomes.append(outcome)
    verification = engine.verify(name)
    if not verification.ok:
        raise SystemExit(f"{name} is wrong: {verification}")
    return statistics.median(times), outcomes


def against_full(
    what: str, differential: float, outcomes: list[RefreshOutcome], full: float, at_least: float | None
) -> Line:
    print(f"{what}: {differential:,.0f} ms against {full:,.0f} ms", file=sys.stderr, flush=True)  # noqa: T201
    return Line(
        what,
        differential,
        full,
        "" if at_least is None else f"≥ {at_least:g}×",
        at_least is None or full / differential >= at_least,
        max(outcome.jobs for outcome in outcomes),
        max(outcome.commits for outcome in outcomes),
    )


def show(lines: list[Line]) -> str:
    """The table."""
    head = ("measurement", "differential", "full", "ratio", "target", "", "jobs", "commits")
    rows = [head] + [
        (
            line.what,
            f"{line.differential_ms:,.0f} ms" if line.full_ms is not None else f"{line.differential_ms:,.2f}",
            f"{line.full_ms:,.0f} ms" if line.full_ms is not None else "",
            line.ratio,
            line.target,
            ("met" if line.met else "NOT MET") if line.target else "",
            "" if line.jobs is None else str(line.jobs),
            "" if line.commits is None else str(line.commits),
        )
        for line in lines
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)
