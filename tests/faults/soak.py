"""A process that runs for days, in short: rounds of changes and refreshes, and after each what the process holds.

`python -m tests.faults.soak FOLDER ROUNDS` prints a line of JSON for each round. It is a process of its own, so that
what it holds is its own; `test_soak` judges the figures.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from py4j.finalizer import ThreadSafeFinalizer

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action

QUERIES = {
    "totals": "SELECT shop, SUM(amount) AS total, COUNT(*) AS n, MAX(amount) AS most FROM sales GROUP BY shop",
    "named": "SELECT s.id, s.amount, p.name FROM sales s JOIN shops p ON s.shop = p.shop",
    "ranked": "SELECT id, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY amount DESC, id) AS place FROM sales",
}
MAINTAIN_EVERY = 12
"""Rounds: otherwise the histories of the tables themselves would grow, and whatever reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the process holds after a round."""

    number: int
    seconds: float
    cpu_seconds: float
    """Of both processes: whatever else the machine does, a round takes as many."""
    python_mb: float
    python_objects: int
    """That the garbage collector knows, after it has collected."""
    java_proxies: int
    """Objects of the JVM that Python holds."""
    python_threads: int
    heap_mb: float
    """Of the JVM, after it has collected."""
    beside_heap_mb: float
    """Of the JVM: classes and compiled code."""
    java_mb: float
    java_threads: int
    open_files: int
    """Of both processes."""
    temporary_files: int


def main(folder: Path, rounds: int) -> None:
    temporary = folder / "tmp"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(temporary),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={temporary}",
    }
    with spark_trickle.connect(
        str(folder / "lake"), spark_master="local[2]", spark_driver_memory="1g", spark_conf=conf
    ) as engine:
        build(engine)
        for number in range(rounds):
            started, worked = time.perf_counter(), cpu_seconds(engine)
            change(engine, number)
            took = (time.perf_counter() - started, cpu_seconds(engine) - worked)
            if number % MAINTAIN_EVERY == MAINTAIN_EVERY - 1:
                maintain(engine)
            sys.stdout.write(json.dumps(asdict(sampled(engine, number, took, temporary))) + "\n")
            sys.stdout.flush()
        for name in QUERIES:
            assert engine.verify(name).ok


def build(engine: Engine) -> None:
    engine.sql(
        "CREATE TABLE sales (id BIGINT, shop BIGINT, amount BIGINT); CREATE TABLE shops (shop BIGINT, name STRING)"
    )
    engine.sql("INSERT INTO shops VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd'); INSERT INTO sales VALUES (0, 0, 1)")
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)


def change(engine: Engine, number: int) -> None:
    """One round: what users do in turn, and all stream tables brought up to date."""
    id_, shop = 10 * number, number % 4
    match number % 6:
        case 0 | 1:
            engine.sql(f"INSERT INTO sales VALUES ({id_}, {shop}, {number % 7}), ({id_ + 1}, {3 - shop}, {number % 5})")
        case 2:
            engine.sql(f"UPDATE sales SET amount = amount + 1 WHERE id = {id_ - 10}")
            engine.sql(f"UPDATE shops SET name = 'shop {number}' WHERE shop = {shop}")
        case 3:
            engine.sql(f"DELETE FROM sales WHERE id = {id_ - 20}")
            engine.create_stream_table(f"passing_{number}", "SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop")
            engine.drop_stream_table(f"passing_{number}")
        case 4:
            with engine.transaction() as tx:
                tx.sql(f"INSERT INTO sales VALUES ({id_}, {shop}, 1)")
            with engine.snapshot(["sales", "totals"]) as snapshot:
                snapshot.sql("SELECT COUNT(*) FROM sales").collect()
        case _:
            engine.sql("DELETE FROM sales WHERE true")
    if number % 2:
        report = engine.tick(datetime.now(UTC) + timedelta(hours=number))
        assert not report.failed, report
        outcomes = list(report.refreshed)
    else:  # together they run side by side, alone they find what another one brought
        outcomes = [engine.refresh_stream_table("totals"), *engine.refresh_stream_tables(["named", "ranked"])]
    actions = {outcome.action for outcome in outcomes}
    assert Action.DIFFERENTIAL in actions and actions <= {Action.DIFFERENTIAL, Action.NO_DATA}, outcomes


def maintain(engine: Engine) -> None:
    for table in ("sales", "shops"):
        engine.sql(
            f"CALL lake.system.expire_snapshots(table => 'default.{table}', older_than => now(), retain_last => 3)"
        )
    engine.maintain(retain="0s")


def cpu_seconds(engine: Engine) -> float:
    """What both processes have worked since they began."""
    stat = Path(f"/proc/{java_process(engine)}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return time.process_time() + (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def java_process(engine: Engine) -> int:
    jvm: Any = engine.spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def sampled(engine: Engine, number: int, took: tuple[float, float], temporary: Path) -> Sample:
    jvm: Any = engine.spark._jvm
    beans = jvm.java.lang.management.ManagementFactory
    java = java_process(engine)
    gc.collect()
    jvm.java.lang.System.gc()
    memory = beans.getMemoryMXBean()
    return Sample(
        number=number,
        seconds=round(took[0], 3),
        cpu_seconds=round(took[1], 3),
        python_mb=resident_mb(os.getpid()),
        python_objects=len(gc.get_objects()),
        java_proxies=len(ThreadSafeFinalizer.finalizers),
        python_threads=threading.active_count(),
        heap_mb=round(memory.getHeapMemoryUsage().getUsed() / 2**20, 1),
        beside_heap_mb=round(memory.getNonHeapMemoryUsage().getUsed() / 2**20, 1),
        java_mb=resident_mb(java),
        java_threads=int(beans.getThreadMXBean().getThreadCount()),
        open_files=sum(len(os.listdir(f"/proc/{process}/fd")) for process in (os.getpid(), java)),  # noqa: PTH208
        temporary_files=sum(1 for path in temporary.rglob("*") if path.is_file()),
    )


def resident_mb(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
