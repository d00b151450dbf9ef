"""`trickle watermark` and its commands, on a real SQLite catalog, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from spark_trickle.model.publication import Swap
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'trickle.db'}")
    for name in ("orders", "lines"):
        catalog.swap([Swap(TableName.parse(name), None, f"{name}/00000-x.metadata.json")])
    catalog.insert(stream_table("report", ("orders", "lines")))
    catalog.close()
    return str(tmp_path)


def test_a_group_is_declared_advanced_and_listed(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    def trickle(*arguments: str) -> str:
        assert run([*arguments, "--warehouse", warehouse]) == 0
        return capsys.readouterr().out

    trickle("watermark", "group", "pipeline", "orders", "lines", "--tolerance", "1m", "--mode", "hold_back")
    trickle("watermark", "advance", "orders", "2026-03-01T12:00:00Z")
    trickle("watermark", "advance", "lines", "2026-03-01T12:00:30Z")
    shown = trickle("watermark")
    assert shown.splitlines()[0].split()[:3] == ["group", "mode", "aligned"]
    assert "pipeline" in shown and "2 of 2" in shown and "report" in shown
    listed = json.loads(trickle("watermark", "list", "--output", "json"))
    assert [row["source_table"] for row in listed] == ["lines", "orders"]
    assert trickle("watermark", "list", "--groups").split()[0] == "group_name"
    trickle("watermark", "drop", "pipeline")
    assert trickle("watermark") == "nothing to show\n"


def test_what_is_wrong_ends_with_its_exit_code(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watermark", "advance", "orders", "2026-03-01T12:00:00", "--warehouse", warehouse]) == 2
    assert "has no time zone" in capsys.readouterr().err
    assert run(["watermark", "column", "orders", "--warehouse", warehouse]) == 2
    assert "name a column, or --none" in capsys.readouterr().err
    assert run(["watermark", "drop", "nothing", "--warehouse", warehouse]) == 2
