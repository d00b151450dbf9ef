"""Checks that end with an exit code, slips that change nothing, and what programs are told. No Spark is started."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import spark_trickle
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from spark_trickle.cli.phrasing import as_commands
from spark_trickle.cli.trouble import troubles
from spark_trickle.model.publication import Publication
from spark_trickle.model.standing import Failure
from spark_trickle.model.stream_table import Status
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, stream_table
from tests.support.page_lake import HOSTILE, prepare


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    catalog = Catalog.open(f"sqlite:///{tmp_path}/trickle.db")
    catalog.publish(Publication(created=(stream_table("order_totals"), stream_table("customers_by_region"))))
    catalog.close()
    return tmp_path


def test_a_check_is_well_where_nothing_is_wrong(lake: Path) -> None:
    assert run(["--warehouse", str(lake), "status", "--check"]) == 0
    assert run(["--warehouse", str(lake), "status", "order_totals", "--check"]) == 0


@pytest.mark.parametrize("permanent", [True, False])
def test_a_check_finds_what_failed(lake: Path, capsys: pytest.CaptureFixture[str], permanent: bool) -> None:
    catalog = Catalog.open(f"sqlite:///{lake}/trickle.db")
    name = TableName.parse("order_totals")
    catalog.fail([Failure(table=name, error="no such column", at=NOON, permanent=permanent, retry_at=None)], [])
    catalog.close()
    assert run(["--warehouse", str(lake), "status", "--check"]) == 1
    assert capsys.readouterr().err == "order_totals: failed: no such column\n"
    assert run(["--warehouse", str(lake), "status", "customers_by_region", "--check"]) == 0
    assert run(["--warehouse", str(lake), "status"]) == 0, "looking is not checking"


def test_a_check_finds_what_is_suspended_and_leaves_the_document_whole(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--warehouse", str(lake), "suspend", "order_totals"]) == 0
    capsys.readouterr()
    assert run(["--warehouse", str(lake), "--output", "json", "status", "--check"]) == 1
    shown = capsys.readouterr()
    assert {each["status"] for each in json.loads(shown.out)} == {Status.SUSPENDED, Status.ACTIVE}
    assert shown.err.startswith("order_totals: suspended: ")


def test_a_check_finds_what_is_late_also_where_something_holds_it(tmp_path: Path) -> None:
    prepare(tmp_path, datetime.now(UTC))
    with spark_trickle.connect(str(tmp_path)) as engine:
        moment = engine.watch.moment()

        def found(ago: timedelta) -> dict[str, str]:
            """What is wrong if the sources changed that long ago; this lake has no files that would tell."""
            then = replace(moment, changed_since=lambda _pin, _head: moment.now - ago)
            return {each.name: each.what for each in troubles(then)}

    early, late = found(timedelta(seconds=1)), found(timedelta(minutes=30))
    assert early["rates_daily"] == "failed" and early["archive"] == "suspended"
    assert "late" not in early.values()
    assert late["clicks_by_page"] == "late", "nothing holds it"
    assert late["returns_by_week"] == "late", "a gate holds it, for longer than its schedule allows"
    assert HOSTILE not in late, "half an hour is not late for one that is promised within the hour"


@pytest.mark.parametrize("command", ["status", "tick", "refresh", "verify", "graph", "history", "why x", "drop x"])
def test_a_warehouse_that_is_not_there_is_an_error_and_makes_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert run(["--warehouse", str(tmp_path / "typo"), *command.split()]) == 2
    assert f"there is no lake at '{tmp_path}/typo'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["refresh", "verify", "graph", "why", "explain", "status", "drop", "suspend", "alter --schedule 1m"]
)
def test_a_name_that_nobody_has_is_refused_before_spark_starts(
    lake: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    verb, *options = command.split()
    assert run(["--warehouse", str(lake), verb, "order_total", *options]) == 2
    said = capsys.readouterr().err
    assert "starting Spark" not in said
    assert "stream table 'order_total' does not exist. Did you mean 'order_totals'? `trickle status` lists them" in said


def test_dropping_nothing_is_told_to_programs_too(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", str(lake), "--output", "json", "drop", "nobody", "--if-exists"]) == 0
    assert json.loads(capsys.readouterr().out) == {"dropped": []}


def test_the_scheduler_tells_programs_one_document_a_line(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # Nothing is refreshed, so Spark is not started.
    for name in ("order_totals", "customers_by_region"):
        assert run(["--warehouse", str(lake), "suspend", name]) == 0
    capfd.readouterr()
    assert run(["--warehouse", str(lake), "--output", "json", "run", "--for", "1s"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines and all("skipped" in json.loads(line) for line in lines)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("run refresh_stream_table('a b', mode='FULL')", "run `trickle refresh 'a b' --mode FULL`"),
        ("engine.refresh_stream_table('t') now", "`trickle refresh t` now"),
        ("resume_stream_table('it's') does", """`trickle resume 'it'"'"'s'` does"""),
        ("history('x') shows the errors", "`trickle history x` shows the errors"),
        ("alter_stream_table('t', schedule=...) helps", "`trickle alter t --schedule ...` helps"),
        ("Drop those first, or use cascade=True (SQL: CASCADE)", "Drop those first, or use --cascade"),
        ("reset_fuse('a b', 'apply') takes it in", "`trickle fuse reset 'a b' --action apply` takes it in"),
        ("advance_watermark('t', ...) when it is loaded", "`trickle watermark advance t ...` when it is loaded"),
        ("fuse_status() lists them", "`trickle fuse` lists them"),
        ("watermark_groups() lists them", "`trickle watermark list --groups` lists them"),
        ("watermarks() lists them", "`trickle watermark list` lists them"),
        ("watermark_status() shows which", "`trickle watermark` shows which"),
        ("nothing of that kind", "nothing of that kind"),
    ],
)
def test_calls_become_commands(said: str, shown: str) -> None:
    assert as_commands(said) == shown
