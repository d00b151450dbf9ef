"""Every test here runs on each database that a catalog can live in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a catalog that does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/made on the way/trickle.db"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    opened = Catalog.open(url, busy_timeout_seconds=5)
    yield opened
    opened.close()
