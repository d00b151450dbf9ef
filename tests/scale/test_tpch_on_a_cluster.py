"""TPC-H on a real cluster: a master and two workers, the files in an object store, the catalog in PostgreSQL. All
queries are kept, at `TRICKLE_SCALE` (1), while a worker, the database, the driver and the scheduler are lost.

`tests/faults/test_cluster.py` is the small form.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.faults.driver import Driver, driving
from tests.faults.test_server_restart import Server
from tests.faults.test_server_restart import server as server
from tests.scale.tpch_on_cluster import NAMES
from tests.spark.test_object_store import BUCKET
from tests.spark.test_object_store import object_store as object_store
from tests.support import cluster

SCALE = float(os.environ.get("TRICKLE_SCALE", "1"))
PROGRAM = "tests.scale.tpch_on_cluster"
PATIENCE_SECONDS = 1800.0
KEPT = {"DIFFERENTIAL", "NO_DATA"}
"""At small scales a change that was computed may leave a result as it is."""


def test_tpch_stays_right_while_workers_database_driver_and_scheduler_are_lost(
    server: Server, object_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in (("ACCESS_KEY_ID", "somebody"), ("SECRET_ACCESS_KEY", "something"), ("REGION", "eu-central-1")):
        # Of the driver and of the workers, whose executors read and write files, too.
        monkeypatch.setenv(f"AWS_{key}", value)
    arguments = (f"s3://{BUCKET}/lake", server.cluster.url("postgres"), object_store, tmp_path / "data")
    with cluster.running(2, "1500m") as spark:
        with driving(PROGRAM, tmp_path / "first.log", spark.url, *arguments) as first:
            ask(first, "load", round(SCALE * 1000))
            ask(first, "change")
            kept(ask(first, "refresh"))
            assert ask(first, "verify") == []

            ask(first, "change")
            first.begin("refresh")
            assert first.answer() == "computing"
            spark.kill_worker(0)
            kept(first.result())
            assert ask(first, "verify") == []
            spark.add_worker()

            ask(first, "change")
            server.stop()
            assert first.ask("refresh") == {"error": "UnavailableError"}
            server.start()
            kept(ask(first, "refresh"))
            assert ask(first, "verify") == []

            assert first.ask("schedule") == "scheduling"
            ask(first, "change")
            first.begin("refresh")
            first.kill()
        with driving(PROGRAM, tmp_path / "second.log", spark.url, *arguments) as second:
            assert second.ask("schedule") == "scheduling"
            ask(second, "change")
            until = time.monotonic() + PATIENCE_SECONDS
            while second.ask("behind") != [] and time.monotonic() < until:
                time.sleep(2)
            assert second.ask("behind") == []
            assert ask(second, "verify") == []
        say(f"tasks of each worker: {spark.tasks_of_workers()}")


def ask(driver: Driver, *command: object) -> object:
    """Ask, and say how long it took."""
    started = time.monotonic()
    said = driver.ask(*command)
    say(f"{' '.join(map(str, command))}: {time.monotonic() - started:.0f} s: {said}")
    return said


def kept(actions: object) -> None:
    assert isinstance(actions, dict) and set(actions) <= KEPT and sum(actions.values()) == len(NAMES), actions


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201
