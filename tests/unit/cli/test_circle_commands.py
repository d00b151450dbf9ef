"""Circles on the command line, on a real SQLite catalog, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from tests.support.graphs import tables_of


@pytest.fixture
def at(tmp_path: Path) -> tuple[str, str]:
    """`up` and `down` read each other; `beside` reads neither."""
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'trickle.db'}")
    for table in tables_of("up: x down; down: up; beside: x").values():
        catalog.insert(table)
    catalog.close()
    return "--warehouse", str(tmp_path)


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


def test_circles_are_listed_with_their_rounds(at: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = json.loads(show(capsys, "groups", "--circles", *at, "--output", "json"))
    assert found == {
        "scc_id": 1,
        "member_count": 2,
        "members": ["down", "up"],
        "last_iterations": None,
        "last_converged_at": None,
        "is_monotone": True,
    }
    assert "circle:down" in show(capsys, "groups", *at)


def test_a_circle_is_shown_by_status_explain_why_and_graph(
    at: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = {row["name"]: row["scc_id"] for row in json.loads(show(capsys, "status", *at, "--output", "json"))}
    assert status == {"up": 1, "down": 1, "beside": None}
    assert "circle: down -> up -> down" in show(capsys, "explain", "up", *at)
    assert "up" in show(capsys, "why", "up", *at)
    drawn = show(capsys, "graph", *at)
    assert "beside\n└─ x (table)\ndown (circle 1)\n└─ up (circle 1)\n" in drawn
    assert "(drawn above)" in drawn
