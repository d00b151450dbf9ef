"""What costs next to nothing: a refresh without changes, and commands that only read the catalog."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from bench.measure import Line, timed
from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action


def run(engine: Engine, folder: Path) -> list[Line]:
    engine.spark.sql("CREATE TABLE IF NOT EXISTS bench_idle (k BIGINT, v BIGINT) USING iceberg")
    engine.spark.sql("INSERT INTO bench_idle VALUES (1, 1)")
    engine.create_or_replace_stream_table("bench_idle_totals", "SELECT k, SUM(v) AS v FROM bench_idle GROUP BY k")
    outcome = engine.refresh_stream_table("bench_idle_totals")
    times = [timed(lambda: engine.refresh_stream_table("bench_idle_totals")) for _ in range(30)]
    median = statistics.median(times)
    nothing = outcome.action is Action.NO_DATA and outcome.jobs == 0
    lines = [
        Line("refresh without changes, ms", median, None, "< 20 ms, 0 jobs", nothing and median < 20, outcome.jobs, 0)
    ]
    command = [str(Path(sys.executable).parent / "trickle"), "--warehouse", str(folder), "status"]
    if not Path(command[0]).exists():
        command[:1] = [sys.executable, "-m", "spark_trickle"]

    def status() -> None:
        subprocess.run(command, check=True, capture_output=True)

    walls = [timed(status) for _ in range(5)]
    lines.append(
        Line("`trickle status`, s of wall clock", statistics.median(walls) / 1000, None, "< 1 s", max(walls) < 1000)
    )
    return lines
