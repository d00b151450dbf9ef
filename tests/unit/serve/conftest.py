"""A lake to look at, and the server over it, asked without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import ComputeError
from spark_trickle.serve.access import Door
from spark_trickle.serve.api import Api
from spark_trickle.serve.app import make_app
from spark_trickle.serve.jobs import Jobs
from tests.support.asgi import client_of
from tests.support.page_lake import prepare

ORIGIN = "http://127.0.0.1:8080"
TOKEN = "correct-horse-battery-staple"


@dataclass
class Served:
    """The server, as one visitor meets it."""

    engine: Engine
    jobs: Jobs
    client: httpx.Client
    seconds: list[float] = field(default_factory=lambda: [0.0])
    """The clock of rates and sessions."""


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    prepare(folder, datetime.now(UTC))
    return folder


@pytest.fixture
def engine(prepared: Path, tmp_path: Path) -> Iterator[Engine]:
    shutil.copytree(prepared, tmp_path / "lake")
    with spark_trickle.connect(str(tmp_path / "lake")) as made:
        yield made


@pytest.fixture
def served(engine: Engine) -> Callable[..., Served]:
    """Makes a server: `served(token=..., read_only=...)`."""

    def no_spark() -> object:
        raise ComputeError("Spark cannot be started here")

    def make(token: str | None = None, read_only: bool = False, host: str = "127.0.0.1") -> Served:
        seconds = [0.0]
        jobs = Jobs(engine, no_spark)
        app = make_app(Api(engine, jobs), Door(host, 8080, token, read_only), lambda: seconds[0])
        return Served(engine, jobs, client_of(app, ORIGIN), seconds)

    return make
