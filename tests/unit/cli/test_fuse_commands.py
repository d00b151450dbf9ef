"""`trickle fuse` and its commands, on a real SQLite catalog, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from spark_trickle.model.fuse import Blown, ChangedRows, FuseState, PendingChange
from spark_trickle.model.stream_table import Fuse, Options
from tests.support.catalog_values import NOON, pin, stream_table


def test_fuses_are_listed_and_reset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'trickle.db'}")
    blown = Blown(at=NOON, reason="too much", pending=(PendingChange(pin("orders"), ChangedRows(12, 3)),))
    options = Options(fuse=Fuse.ON, fuse_ceiling=10)
    catalog.insert(stream_table("totals", options=options, fuse=FuseState(blown=blown)))
    catalog.insert(stream_table("free"))
    catalog.close()

    def trickle(*arguments: str, code: int = 0) -> str:
        assert run([*arguments, "--warehouse", str(tmp_path)]) == code
        return capsys.readouterr().out

    assert [line.split()[:3] for line in trickle("fuse").splitlines()[1:]] == [
        ["free", "off", "disabled"],
        ["totals", "on", "blown"],
    ]
    assert "the fuse of 'totals' has blown at 2026-03-01 12:00:00 UTC: too much" in trickle("why", "totals")
    shown = json.loads(trickle("fuse", "reset", "totals", "--action", "skip_changes", "--output", "json"))
    assert shown[0]["fuse_state"] == "armed" and "had 12 changed rows skipped (too much)" in shown[0]["diverged"]
    status = json.loads(trickle("status", "totals", "--output", "json"))
    assert (status[0] if isinstance(status, list) else status)["diverged"] == shown[0]["diverged"]
    trickle("fuse", "reset", "totals", code=2)
    trickle("fuse", "reset", "totals", "--action", "forget", code=2)
