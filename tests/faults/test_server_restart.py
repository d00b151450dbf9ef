"""The PostgreSQL server that holds the catalog goes away and comes back."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator

import psycopg
import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.errors import UnavailableError
from spark_trickle.events import Event, Step, StepReached
from spark_trickle.model.refresh import Action, Outcome
from tests.faults import shop
from tests.faults.conftest import Shop, copy_into
from tests.support import postgres

PATIENCE_SECONDS = 120.0


class Server:
    """A server that can be stopped and started. Ends only the processes that it, or its cluster, started."""

    def __init__(self, cluster: postgres.Cluster) -> None:
        self.cluster = cluster
        self._data = cluster.folder / "data"
        # What the server was started with: PostgreSQL writes it down.
        self._command = shlex.split((self._data / "postmaster.opts").read_text())
        self._restarted: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """Connections are ended, nothing is waited for."""
        pid_file = self._data / "postmaster.pid"
        os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGINT)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while pid_file.exists():
            assert time.monotonic() < deadline, "PostgreSQL does not stop"
            time.sleep(0.02)
        if self._restarted is not None:
            self._restarted.wait(PATIENCE_SECONDS)
            self._restarted = None

    def start(self) -> None:
        owner = self._data.stat()
        # PostgreSQL refuses to run as root.
        user, group = (owner.st_uid, owner.st_gid) if os.geteuid() == 0 else (None, None)
        with (self.cluster.folder / "log again").open("wb") as log:
            self._restarted = subprocess.Popen(self._command, stdout=log, stderr=log, cwd="/", user=user, group=group)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self.cluster.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, "PostgreSQL does not start"
                time.sleep(0.05)

    def close(self) -> None:
        if self._restarted is not None:
            self.stop()


@pytest.fixture
def server() -> Iterator[Server]:
    """One that no other test uses."""
    try:
        with postgres.running() as cluster:
            made = Server(cluster)
            yield made
            made.close()
    except postgres.PostgresMissing as err:
        if os.environ.get("CI") == "true":
            pytest.fail(f"PostgreSQL is missing: {err}", pytrace=False)
        pytest.skip(f"PostgreSQL is missing: {err}; 'make setup-test' installs it")


def test_a_server_that_was_away_between_and_during_refreshes_leaves_everything_right(
    server: Server, shop_built: Shop, spark: SparkSession
) -> None:
    server.cluster.execute("CREATE DATABASE lake")
    url = server.cluster.url("lake")
    copy_into(f"sqlite:///{shop_built.traded}", url)
    stop_at: list[Step] = []

    def observe(event: Event) -> None:
        if isinstance(event, StepReached) and event.step in stop_at:
            stop_at.clear()
            server.stop()

    with spark_trickle.connect(
        str(shop_built.warehouse), catalog=url, spark=spark.newSession(), observers=[observe]
    ) as engine:
        assert shop.read(engine) == shop.OPENING.contents()
        assert engine.spark.table("orders").count() == len(shop.TRADED.orders)

        server.stop()
        with pytest.raises(UnavailableError, match="cannot be reached"):
            engine.refresh_stream_tables(shop.GROUP)
        with pytest.raises(UnavailableError):
            engine.sql("SELECT COUNT(*) FROM orders")
        server.start()
        assert engine.spark.table("orders").count() == len(shop.TRADED.orders)

        stop_at.append(Step.ALL_STAGED)
        with pytest.raises(UnavailableError, match="cannot be reached"):
            engine.refresh_stream_tables(shop.GROUP)
        server.start()
        assert shop.read(engine) == shop.OPENING.contents()
        assert shop.actions(engine) == dict.fromkeys(shop.GROUP, Action.DIFFERENTIAL)
        assert shop.read(engine) == shop.TRADED.contents()
        assert shop.wrong(engine, shop.GROUP) == []
        assert {row.status for name in shop.GROUP for row in engine.history(name)} == {Outcome.COMPLETED}

        engine.sql("INSERT INTO orders VALUES (60, 1, 'north', 1)")
        assert engine.spark.table("orders").count() == len(shop.TRADED.orders) + 1
