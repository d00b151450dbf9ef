"""`trickle gate`, `ungate`, `gates` and what `why` tells of them, on a real SQLite catalog, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from spark_trickle.model.stream_table import BootstrapGating, Options, Status
from tests.support.catalog_values import stream_table


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """order_report reads order_summary reads orders; so does progress, which ignores gates."""
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'trickle.db'}")
    catalog.insert(stream_table("order_summary", ("orders",), status=Status.INITIALIZING))
    catalog.insert(stream_table("order_report", ("order_summary",)))
    ignoring = Options(bootstrap_gating=BootstrapGating.IGNORE)
    catalog.insert(stream_table("progress", ("order_summary",), options=ignoring))
    catalog.close()
    return str(tmp_path)


def show(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(arguments) == code
    return capsys.readouterr().out


def test_gates_are_closed_listed_and_opened(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", "orders", "raw.lines", "--warehouse", warehouse]) == 0
    shown = capsys.readouterr()
    assert "table 'orders' does not exist yet; it is gated all the same" in shown.err
    assert [line.split()[:2] for line in shown.out.splitlines()] == [
        ["source", "gated"],
        ["orders", "yes"],
        ["raw.lines", "yes"],
    ]
    listed = json.loads(show(capsys, "gates", "--warehouse", warehouse, "--output", "json"))
    assert [(row["source_table"], row["gated"], row["affected_stream_tables"]) for row in listed] == [
        ("orders", True, ["order_report", "order_summary"]),
        ("lines", True, []),
    ]
    assert listed[0]["gate_duration"] < 60
    show(capsys, "ungate", "orders", "raw.lines", "--warehouse", warehouse)
    past = json.loads(show(capsys, "gates", "--history", "--warehouse", warehouse, "--output", "json"))
    assert [(event["source"], event["gated"]) for event in past] == [
        ("raw.lines", False),
        ("orders", False),
        ("raw.lines", True),
        ("orders", True),
    ]
    assert [line.split()[1] for line in show(capsys, "gates", "--warehouse", warehouse).splitlines()[1:]] == [
        "no",
        "no",
    ]


def test_ungating_what_was_never_gated_says_so_and_is_no_error(
    warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ungate", "ordres", "--warehouse", warehouse]) == 0
    assert "source 'ordres' was never gated; nothing was changed" in capsys.readouterr().err


def test_state_of_ours_cannot_be_gated(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", "trickle_internal.x", "--warehouse", warehouse]) == 2
    assert "Gate its sources" in capsys.readouterr().err
    assert show(capsys, "gates", "--warehouse", warehouse) == "nothing to show\n"


def test_why_tells_the_gate_through_whom_it_holds_and_what_to_do(
    warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show(capsys, "gate", "orders", "--warehouse", warehouse)
    direct = show(capsys, "why", "order_summary", "--warehouse", warehouse)
    assert "1. source 'orders' is gated\n" in direct
    assert "to do: `trickle ungate orders` when its load is complete" in direct
    assert "its first load waits for the gates" in direct
    far = show(capsys, "why", "order_report", "--warehouse", warehouse)
    assert "1. source 'orders' is gated ('order_summary' depends on it)\n" in far
    assert far.count("is gated") == 1


def test_why_of_one_that_ignores_gates_tells_those_that_hold_what_it_reads(
    warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show(capsys, "gate", "orders", "--warehouse", warehouse)
    answer = show(capsys, "why", "progress", "--warehouse", warehouse)
    assert "it reads 'order_summary', and source 'orders' is gated" in answer


def test_why_forgets_a_gate_that_was_opened(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(capsys, "gate", "orders", "--warehouse", warehouse)
    show(capsys, "ungate", "orders", "--warehouse", warehouse)
    assert "gate" not in show(capsys, "why", "order_report", "--warehouse", warehouse)
