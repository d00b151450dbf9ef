"""A browser and a server over a prepared lake, for one module at a time. No JVM: what needs Spark fails, in words."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import ComputeError
from spark_trickle.serve.access import Door
from spark_trickle.serve.jobs import Jobs
from spark_trickle.serve.server import serving
from tests.support.browser import Visit, visit
from tests.support.page_lake import prepare

Open = Callable[..., AbstractContextManager[Visit]]
NO_SPARK = "Spark cannot be started here"


@pytest.fixture(scope="module")
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
def opened(browser: Browser, engine: Engine, tmp_path: Path) -> Open:
    """`with opened(...) as visit:` a server, and a window on it."""

    def no_spark() -> object:
        raise ComputeError(NO_SPARK)

    @contextmanager
    def open_it(
        *,
        token: str | None = None,
        read_only: bool = False,
        size: tuple[int, int] = (1360, 860),
        scheme: Literal["light", "dark"] = "light",
    ) -> Iterator[Visit]:
        door = Door("127.0.0.1", 0, token, read_only)
        with (
            serving(engine, Jobs(engine, no_spark), door) as address,
            visit(browser, address, tmp_path, size=size, scheme=scheme) as made,
        ):
            yield made

    return open_it
