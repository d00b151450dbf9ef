"""`trickle groups`, and groups through the engine, on a real SQLite catalog, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spark_trickle
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from spark_trickle.sql.statements import parse_statement
from tests.support.graphs import tables_of


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A diamond at `summary`, and two stream tables that share nothing."""
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'trickle.db'}")
    text = "by_region: sales; by_product: sales; summary: by_region by_product; positions: p; prices: q"
    for table in tables_of(text, slowest=("summary",)).values():
        catalog.insert(table)
    catalog.close()
    return str(tmp_path)


def show(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(arguments) == code
    return capsys.readouterr().out


def test_groups_lists_the_members_of_diamonds(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(capsys, "groups", "--warehouse", warehouse).splitlines()
    assert [line.split()[0] for line in lines] == ["group_id", "diamond:summary"]
    assert "by_product, by_region, summary" in lines[1]


def test_a_group_is_declared_listed_and_dropped(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--warehouse", warehouse)
    declare = ("groups", "--declare", "book", "positions", "prices", "--isolation", "repeatable_read")
    assert "book" in show(capsys, *declare, *at)
    listed = json.loads(show(capsys, "groups", *at, "--output", "json"))
    assert [(row["group_id"], row["origin"], row["isolation"], row["schedule_policy"]) for row in listed] == [
        ("declared:book", "declared", "repeatable_read", "fastest"),
        ("diamond:summary", "diamond", "read_committed", "slowest"),
    ]
    assert "declared:book" not in show(capsys, "groups", "--drop", "book", *at)


def test_what_cannot_be_declared_or_dropped_ends_with_two(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["--declare", "g", "prices"], "at least two members"),
        (["--declare", "g", "prices", "nobody"], "'nobody' does not exist"),
        (["prices"], "members belong to --declare"),
        (["--drop", "g"], "refresh group 'g' does not exist"),
        (["--drop", "g", "--declare", "h"], "not both"),
    ):
        assert run(["groups", *arguments, "--warehouse", warehouse]) == 2
        assert said in capsys.readouterr().err


def test_explain_shows_the_group(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = show(capsys, "explain", "by_region", "--warehouse", warehouse)
    assert "diamond group: by_product, by_region, summary (published together)" in text
    assert "diamond group" not in show(capsys, "explain", "prices", "--warehouse", warehouse)


def test_the_engine_lists_groups_without_spark(warehouse: str) -> None:
    with spark_trickle.connect(warehouse) as engine:
        engine.create_refresh_group("book", ["positions", "prices"], "repeatable_read", snapshot_timeout_ms=100)
        assert [group.group_name for group in engine.refresh_groups()] == ["book"]
        assert [row.member_name for row in engine.diamond_groups()] == ["by_product", "by_region", "summary"]
        assert [row.member_name for row in engine.diamond_groups() if row.is_convergence] == ["summary"]
        assert {row.schedule_policy.value for row in engine.diamond_groups()} == {"slowest"}
        assert [row.group_id for row in engine.groups()] == ["declared:book", "diamond:summary"]
        engine.drop_refresh_group("book")
        assert engine.refresh_groups() == []


def test_groups_are_called_from_sql(warehouse: str) -> None:
    def call(text: str) -> object:
        statement = parse_statement(f"CALL trickle.{text}")
        assert statement is not None
        return engine._dispatcher.run(statement)

    with spark_trickle.connect(warehouse) as engine:
        call("create_refresh_group('book', array('positions', 'prices'), isolation => 'repeatable_read')")
        assert call("refresh_groups()") == engine.refresh_groups() != []
        assert call("diamond_groups()") == engine.diamond_groups() != []
        call("drop_refresh_group('book')")
        assert call("refresh_groups()") == []
