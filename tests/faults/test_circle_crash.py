"""A process is killed between two rounds of a circle: nobody has seen a round, and the next refresh goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.model.refresh import Action

ROOT = Path(__file__).parents[2]
CHAIN = 6
CIRCLE = {
    "far": "SELECT DISTINCT e.src, n.dst FROM edges e JOIN near n ON e.dst = n.src",
    "near": "SELECT src, dst FROM edges UNION SELECT f.src, e.dst FROM far f JOIN edges e ON f.dst = e.src",
}
DYING = """
import os, signal, sys
import spark_trickle
from spark_trickle.events import Step, StepReached

staged = []

def die(event):
    if isinstance(event, StepReached) and event.step is Step.STAGED:
        staged.append(event.table)
        if len(staged) == 4:
            os.kill(os.getpid(), signal.SIGKILL)

settings = {"spark_master": "local[2]", "spark_driver_memory": "1g"}
spark_trickle.connect(sys.argv[1], observers=(die,), **settings).refresh_stream_table("near")
"""


def test_a_circle_that_is_killed_between_rounds_is_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    with spark_trickle.connect(str(tmp_path), spark=spark.newSession(), allow_circular=True) as engine:
        engine.sql("CREATE TABLE edges (src INT, dst INT)")
        engine.sql(f"INSERT INTO edges SELECT id, id + 1 FROM range(0, {CHAIN})")
        engine.create_stream_tables(CIRCLE, strict=True)

        def ways() -> set[tuple[int, int]]:
            found = engine.spark.sql("SELECT * FROM near UNION SELECT * FROM far").collect()
            return {(row[0], row[1]) for row in found}

        before = ways()
        assert before == {(a, b) for a in range(CHAIN) for b in range(a + 1, CHAIN + 1)}
        engine.sql("DELETE FROM edges WHERE src = 3")
        engine.sql("INSERT INTO edges VALUES (6, 0), (6, 7)")
        died = subprocess.run(
            [sys.executable, "-c", DYING, str(tmp_path)], cwd=ROOT, capture_output=True, timeout=480, check=False
        )
        assert died.returncode == -signal.SIGKILL, died.stderr[-2000:]
        assert ways() == before
        assert {row.status for row in engine.history(limit=2)} == {"COMPLETED"}
        assert engine.refresh_stream_table("far").action is Action.DIFFERENTIAL
        edges = [(a, a + 1) for a in range(CHAIN) if a != 3] + [(6, 0), (6, 7)]
        expected = set(edges)
        while more := {(a, d) for a, b in expected for c, d in edges if b == c} - expected:
            expected |= more
        assert ways() == expected
        assert engine.verify("near").ok
