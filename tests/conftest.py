"""Lanes come from folders: a test is fast unless its folder says that it needs a JVM or a server.

`-m fast` runs without Java; the fast lane fails if something in it imports pyspark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import postgres

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
SLOW_FOLDERS = {"spark": "spark", "e2e": "spark", "faults": "spark", "postgres": "postgres", "browser": "browser"}
SCALE = "scale"
"""A folder and a lane: long measurements, which nobody runs unless by name."""
LANES = {
    "fast": "needs nothing but Python",
    "spark": "starts a JVM",
    "postgres": "starts a PostgreSQL server",
    "browser": "starts a browser",
    SCALE: "takes long, on large data",
}
WITHOUT_SPARK = {"fast", "postgres", "browser", "not spark"}
"""Values of `-m` that leave out the JVM's lane."""
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
"""For tables of a few rows, compiling more takes longer than it saves: about half of a test's time."""


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("JDK_JAVA_OPTIONS", QUICK_JVM)
    for lane, meaning in LANES.items():
        config.addinivalue_line("markers", f"{lane}: {meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        lane = {**SLOW_FOLDERS, SCALE: SCALE}.get(folder, "fast")
        if lane == "fast" and _is_on_postgres(item):
            lane = "postgres"
        if item.get_closest_marker("spark"):
            lane = "spark"
        item.add_marker(getattr(pytest.mark, lane))


def _is_on_postgres(item: pytest.Item) -> bool:
    """A suite of `contract` runs on every database; which one is its parameter."""
    call = getattr(item, "callspec", None)
    return "postgres_cluster" in getattr(item, "fixturenames", ()) or (
        call is not None and "postgresql" in call.params.values()
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run without the JVM's lane does not even look into its folders: looking imports pyspark."""
    if collection_path.parent == HERE and collection_path.name == SCALE:
        return config.getoption("markexpr") != SCALE or None
    if config.getoption("markexpr") not in WITHOUT_SPARK:
        return None
    return (collection_path.parent == HERE and SLOW_FOLDERS.get(collection_path.name) == "spark") or None


@pytest.fixture(autouse=True)
def _no_spark_in_the_fast_lane(request: pytest.FixtureRequest) -> Iterator[None]:
    before = "pyspark" in sys.modules
    yield
    if request.node.get_closest_marker("fast") and not before and "pyspark" in sys.modules:
        pytest.fail("a test of the fast lane imported pyspark", pytrace=False)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[postgres.Cluster]:
    """One server for the whole run. Missing: an error under CI=true, a skip that is shown elsewhere."""
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(postgres.running())
        except postgres.PostgresMissing as err:
            if os.environ.get("CI") == "true":
                pytest.fail(f"PostgreSQL is missing: {err}", pytrace=False)
            pytest.skip(f"PostgreSQL is missing: {err}; 'make setup-test' installs it")
        yield cluster


@pytest.fixture
def postgres_url(postgres_cluster: postgres.Cluster) -> Iterator[str]:
    """An empty database on the server, for one test."""
    with postgres_cluster.new_database() as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a module. Missing: an error under CI=true, a skip that is shown elsewhere."""
    from tests.support import browser as browsers

    with ExitStack() as stack:
        try:
            made = stack.enter_context(browsers.running())
        except browsers.BrowserMissing as err:
            if os.environ.get("CI") == "true":
                pytest.fail(f"the browser is missing: {err}", pytrace=False)
            pytest.skip(f"the browser is missing: {err}; 'make setup-test' installs it")
        yield made
