"""Iceberg's own REST catalog server as a process of this machine, for tests. It keeps what it knows in a folder, so it
can be stopped and started again. Its jars come with `make setup-test`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pyspark

JARS = Path.home() / ".ivy2.5.2" / "rest-server-1.11.0"
PATIENCE = 60.0


@dataclass
class RestServer:
    """One server; not running until it is started."""

    folder: Path
    port: int = field(default_factory=lambda: _free_port())
    catalog: Mapping[str, str] = field(default_factory=dict)
    """Settings of the catalog that it serves, besides its own."""
    jars: Sequence[str] = ()
    """Jars behind its own, and Hadoop's."""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def process(self) -> int:
        """Its id."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        assert (JARS / "complete").exists(), "the server's jars are missing: run `make setup-test`"
        hadoop = (Path(pyspark.__path__[0]) / "jars").glob("hadoop-client-*.jar")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [
                *("java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *(
                    "-cp",
                    ":".join([f"{JARS}/*", *map(str, hadoop), *self.jars]),
                    "org.apache.iceberg.rest.RESTCatalogServer",
                ),
            ],
            env={
                "PATH": os.environ["PATH"],
                "LC_ALL": "C.UTF-8",
                "CATALOG_REST_PORT": str(self.port),
                "CATALOG_WAREHOUSE": str(self.folder / "files"),
                "CATALOG_URI": f"jdbc:sqlite:{self.folder}/rest.db",
                **{f"CATALOG_{_as_variable(key)}": value for key, value in self.catalog.items()},
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None and time.monotonic() < ends, "the REST server does not start"
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.address}/v1/config", timeout=5):
                return True
        except (URLError, OSError):
            return False


def _as_variable(key: str) -> str:
    return key.upper().replace("-", "__").replace(".", "_")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
