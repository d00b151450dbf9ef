"""One process with many stream tables, and what it holds: `python -m tests.scale.many_tables FOLDER TABLES` prints a
line of JSON after each step. A process of its own, so that what it holds is its own.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import spark_trickle
from spark_trickle.engine import Engine
from tests.faults.soak import cpu_seconds, java_process, resident_mb

SOURCES = 20
BATCH = 100
QUERIES = (
    "SELECT k, SUM(v) AS total, COUNT(*) AS n FROM {one} WHERE v > {number} GROUP BY k",
    "SELECT a.id, a.v, b.v AS other FROM {one} a JOIN {other} b ON a.k = b.k WHERE a.v > {number} AND b.id < 20",
    "SELECT k, MAX(v) AS most FROM {one} WHERE id <> {number} GROUP BY k",
)


def main(folder: str, tables: int) -> None:
    with spark_trickle.connect(folder, spark_master="local[2]", spark_driver_memory="2g") as engine:
        for source in range(SOURCES):
            engine.sql(f"CREATE TABLE source{source} (id BIGINT, k BIGINT, v BIGINT)")
            engine.sql(f"INSERT INTO source{source} SELECT id, id % 10, id % 97 FROM RANGE(1000)")
        tell(engine, "nothing made", 0, 0.0, 0.0)
        for first in range(0, tables, BATCH):
            step(engine, "made", first + BATCH, lambda first=first: make(engine, first))
        now = datetime.now(UTC)
        for turn in range(1, 4):
            for source in range(SOURCES):
                engine.sql(f"INSERT INTO source{source} VALUES ({10_000 + turn}, {turn}, {turn})")
                engine.sql(f"DELETE FROM source{source} WHERE id = {turn}")
            later = now + timedelta(minutes=turn)
            step(engine, "ticked, all of them changed", tables, lambda later=later: tick(engine, later, tables))
        step(engine, "ticked, nothing changed", tables, lambda: tick(engine, now + timedelta(hours=1), 0))


def make(engine: Engine, first: int) -> None:
    engine.create_stream_tables(
        {
            f"t{number}": QUERIES[number % len(QUERIES)].format(
                one=f"source{number % SOURCES}", other=f"source{(number + 1) % SOURCES}", number=number
            )
            for number in range(first, first + BATCH)
        },
        schedule="1s",
        refresh_mode="DIFFERENTIAL",
    )


def tick(engine: Engine, now: datetime, expected: int) -> None:
    report = engine.tick(now)
    assert not report.failed and len(report.refreshed) == expected, report


def step(engine: Engine, what: str, tables: int, work: Any) -> None:
    started, worked = time.perf_counter(), cpu_seconds(engine)
    work()
    tell(engine, what, tables, time.perf_counter() - started, cpu_seconds(engine) - worked)


def tell(engine: Engine, what: str, tables: int, seconds: float, worked: float) -> None:
    gc.collect()
    heap = least_heap(engine)
    figures = {
        "step": what,
        "tables": tables,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(worked, 1),
        "python_mb": resident_mb(os.getpid()),
        "jvm_heap_mb": round(heap / 2**20, 1),
        "jvm_mb": resident_mb(java_process(engine)),
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def least_heap(engine: Engine) -> float:
    """Bytes. What one collection finds unused Spark lets go of right after it, and the next one frees."""
    jvm: Any = engine.spark._jvm
    memory = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    found: list[float] = []
    while len(found) < 2 or found[-1] < 0.98 * found[-2]:
        jvm.java.lang.System.gc()
        time.sleep(1)
        found.append(memory.getHeapMemoryUsage().getUsed())
    return min(found)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
