"""A real cluster: a master and two workers as processes, the catalog in PostgreSQL; and everything that can be lost is
lost in the middle of a refresh: a worker, the database, the driver, the scheduler.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.test_server_restart import Server
from tests.faults.test_server_restart import server as server
from tests.support import cluster

ROOT = Path(__file__).parents[2]
ORDERS = 20_000
PATIENCE_SECONDS = 240.0
DIFFERENTIAL = dict.fromkeys(("by_region", "named", "by_name"), "DIFFERENTIAL")


class Driver:
    """One process that works on the lake."""

    def __init__(self, master: str, warehouse: Path, catalog: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as words:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.on_cluster", master, str(warehouse), catalog],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
            )
        assert self.answer() == master

    def ask(self, *command: object) -> object:
        """Tell it, and wait for the answer."""
        self.begin(*command)
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
def driving(master: str, warehouse: Path, catalog: str, log: Path) -> Iterator[Driver]:
    driver = Driver(master, warehouse, catalog, log)
    try:
        yield driver
    finally:
        driver.kill()


def test_a_cluster_that_loses_a_worker_its_database_and_its_driver_keeps_stream_tables_right(
    server: Server, tmp_path: Path
) -> None:
    catalog = server.cluster.url("postgres")
    with cluster.running(2) as spark:
        with driving(spark.url, tmp_path / "lake", catalog, tmp_path / "first.log") as first:
            assert first.ask("load", ORDERS) == sorted(DIFFERENTIAL)
            before = spark.tasks_of_workers()
            first.ask("change", 30_000, 3_000)
            assert first.ask("refresh") == DIFFERENTIAL
            assert first.ask("verify") == [True] * 3
            assert min(after - then for after, then in zip(spark.tasks_of_workers(), before, strict=True)) > 0

            first.ask("change", 40_000, 3_000)
            first.begin("refresh")
            assert first.answer() == "computing"
            spark.kill_worker(0)
            while (said := first.answer()) == "computing":
                pass
            assert said == DIFFERENTIAL
            assert first.ask("verify") == [True] * 3

            first.ask("change", 50_000, 500)
            server.stop()
            assert first.ask("refresh") == {"error": "UnavailableError"}
            server.start()
            assert first.ask("refresh") == DIFFERENTIAL
            assert first.ask("verify") == [True] * 3

            assert first.ask("schedule") == "scheduling"
            first.ask("change", 60_000, 500)
            first.begin("refresh")
            first.kill()
        spark.add_worker()
        with driving(spark.url, tmp_path / "lake", catalog, tmp_path / "second.log") as second:
            assert second.ask("schedule") == "scheduling"
            second.ask("change", 70_000, 500)
            until = time.monotonic() + PATIENCE_SECONDS
            while second.ask("behind") != [] and time.monotonic() < until:
                time.sleep(0.5)
            assert second.ask("behind") == []
            assert second.ask("verify") == [True] * 3
