"""Lanes come from folders: a test is fast unless its folder says that it needs a JVM or a server.

`-m fast` runs without Java; the fast lane fails if something in it imports pyspark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import postgres

HERE = Path(__file__).parent
SLOW_FOLDERS = {"spark": "spark", "e2e": "spark", "faults": "spark", "postgres": "postgres"}
LANES = {
    "fast": "needs nothing but Python",
    "spark": "starts a JVM",
    "postgres": "starts a PostgreSQL server",
}


def pytest_configure(config: pytest.Config) -> None:
    for lane, meaning in LANES.items():
        config.addinivalue_line("markers", f"{lane}: {meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        lane = SLOW_FOLDERS.get(folder, "fast")
        if lane == "fast" and _is_on_postgres(item):
            lane = "postgres"
        item.add_marker(getattr(pytest.mark, lane))


def _is_on_postgres(item: pytest.Item) -> bool:
    """A suite of `contract` runs on every database; which one is its parameter."""
    call = getattr(item, "callspec", None)
    return "postgres_url" in getattr(item, "fixturenames", ()) or (
        call is not None and "postgresql" in call.params.values()
    )


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if item.get_closest_marker("fast") and not _runs_slow_lanes(item.session) and "pyspark" in sys.modules:
        pytest.fail(f"{item.nodeid} is in the fast lane and imported pyspark", pytrace=False)


def _runs_slow_lanes(session: pytest.Session) -> bool:
    return any(item.get_closest_marker("spark") for item in session.items)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[postgres.Cluster]:
    """One server for the whole run. Missing: an error under CI=true, a skip that is shown elsewhere."""
    try:
        server = postgres.running()
        cluster = server.__enter__()
    except postgres.PostgresMissing as err:
        if os.environ.get("CI") == "true":
            pytest.fail(f"PostgreSQL is missing: {err}", pytrace=False)
        pytest.skip(f"PostgreSQL is missing: {err}; 'make setup-test' installs it")
    try:
        yield cluster
    finally:
        server.__exit__(None, None, None)


@pytest.fixture
def postgres_url(postgres_cluster: postgres.Cluster) -> Iterator[str]:
    """An empty database on the server, for one test."""
    with postgres_cluster.new_database() as url:
        yield url
