"""A real cluster: a master and two workers as processes, the catalog in PostgreSQL; and everything that can be lost is
lost in the middle of a refresh: a worker, the database, the driver, the scheduler.
"""

from __future__ import annotations

import time
from pathlib import Path

from tests.faults.driver import driving
from tests.faults.test_server_restart import Server
from tests.faults.test_server_restart import server as server
from tests.support import cluster

PROGRAM = "tests.faults.on_cluster"
ORDERS = 20_000
PATIENCE_SECONDS = 240.0
DIFFERENTIAL = dict.fromkeys(("by_region", "named", "by_name"), "DIFFERENTIAL")


def test_a_cluster_that_loses_a_worker_its_database_and_its_driver_keeps_stream_tables_right(
    server: Server, tmp_path: Path
) -> None:
    catalog = server.cluster.url("postgres")
    with cluster.running(2) as spark:
        with driving(PROGRAM, tmp_path / "first.log", spark.url, tmp_path / "lake", catalog) as first:
            assert first.ask("load", ORDERS) == sorted(DIFFERENTIAL)
            before = spark.tasks_of_workers()
            first.ask("change", 30_000, 3_000)
            assert first.ask("refresh") == DIFFERENTIAL
            assert first.ask("verify") == [True] * 3
            assert min(after - then for after, then in zip(spark.tasks_of_workers(), before, strict=True)) > 0

            before = spark.tasks_of_workers()
            assert first.ask("abroad") == {"followed": "DIFFERENTIAL", "whole": "FULL", "right": [True, True]}
            assert min(after - then for after, then in zip(spark.tasks_of_workers(), before, strict=True)) > 0

            first.ask("change", 40_000, 3_000)
            first.begin("refresh")
            assert first.answer() == "computing"
            spark.kill_worker(0)
            assert first.result() == DIFFERENTIAL
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
        with driving(PROGRAM, tmp_path / "second.log", spark.url, tmp_path / "lake", catalog) as second:
            assert second.ask("schedule") == "scheduling"
            second.ask("change", 70_000, 500)
            until = time.monotonic() + PATIENCE_SECONDS
            while second.ask("behind") != [] and time.monotonic() < until:
                time.sleep(0.5)
            assert second.ask("behind") == []
            assert second.ask("verify") == [True] * 3
