"""A standalone Spark cluster of our own for tests: a master and workers as processes of Spark's own classes, on
loopback, thrown away at the end. Ends only what it started.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOST = "127.0.0.1"
_START_SECONDS = 120.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass
class Cluster:
    """A master, and workers that come and go."""

    folder: Path
    port: int
    master: subprocess.Popen[bytes]
    worker_memory: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def add_worker(self) -> None:
        """One more, with one core."""
        number = len(self.workers) + 1
        arguments = ["--host", HOST, "--webui-port", "0", "--cores", "1", "--memory", self.worker_memory]
        arguments += ["--work-dir", str(self.folder / f"work{number}"), self.url]
        log = self.folder / f"worker{number}.log"
        self.workers.append(_started(_WORKER, arguments, log))
        _wait_for(log, "Successfully registered with master")

    def kill_worker(self, number: int) -> None:
        """The worker and its executors, at once."""
        _kill(self.workers[number])

    def tasks_of_workers(self) -> list[int]:
        """How many tasks the executors of each worker have run, as they say."""
        found = []
        for number in range(1, len(self.workers) + 1):
            logs = (self.folder / f"work{number}").glob("*/*/stderr")
            found.append(sum(log.read_text(errors="replace").count("Finished task ") for log in logs))
        return found


@contextmanager
def running(workers: int, worker_memory: str = "1g") -> Iterator[Cluster]:
    """Start a cluster, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="trickle-cluster-") as made:
        folder = Path(made)
        port = _free_port()
        log = folder / "master.log"
        master = _started(_MASTER, ["--host", HOST, "--port", str(port), "--webui-port", "0"], log)
        cluster = Cluster(folder, port, master, worker_memory)
        try:
            _wait_for(log, "New state: ALIVE")
            for _ in range(workers):
                cluster.add_worker()
            yield cluster
        finally:
            for process in (*cluster.workers, master):
                _kill(process)


def _started(name: str, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": HOST}
    with log.open("wb") as words:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), name, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            # A group of its own: executors are children of their worker and end with it.
            start_new_session=True,
        )


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(log: Path, words: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while words not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, f"Spark does not start: {log.read_text(errors='replace')[-2000:]}"
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
