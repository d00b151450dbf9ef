"""`trickle tick` and `trickle run`: what they print and end with. Nothing is due, so Spark is not started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from spark_trickle.model.publication import Publication
from spark_trickle.model.standing import Failure
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, stream_table

IN_ERROR = 1
BUSY = 4


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    catalog = Catalog.open(f"sqlite:///{tmp_path}/trickle.db")
    catalog.publish(Publication(created=(stream_table("totals"),)))
    failure = Failure(table=TableName.parse("totals"), error="no such column", at=NOON, permanent=True, retry_at=None)
    catalog.fail([failure], [])
    catalog.close()
    return tmp_path


def test_a_tick_says_what_it_skipped_and_why(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", str(lake), "tick"]) == IN_ERROR
    shown = capsys.readouterr().out
    assert shown.startswith("0 refreshed, 1 skipped, 0 failed, 1 units")
    assert "skipped totals: it is in error: no such column" in shown
    assert run(["--warehouse", str(lake), "tick"]) == IN_ERROR, "as long as it is so"
    assert "totals: in ERROR: no such column" in capsys.readouterr().err


def test_a_tick_as_json_has_every_field(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", str(lake), "--output", "json", "tick"]) == IN_ERROR
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"cut", "units", "refreshed", "skipped", "failed", "duration_ms"}
    assert report["skipped"][0]["codes"] == ["error"]


def test_a_tick_beside_a_scheduler_at_work_has_an_exit_code_of_its_own(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = Catalog.open(f"sqlite:///{lake}/trickle.db")
    now = datetime.now(UTC)
    catalog.take_lease("process 1", now, now + timedelta(minutes=1))
    assert run(["--warehouse", str(lake), "tick"]) == BUSY
    assert "another scheduler is at work: process 1" in capsys.readouterr().err
    catalog.close()


def test_run_stops_by_itself_after_the_time_it_was_given(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", str(lake), "run", "--for", "3s"]) == 0
    lines = capfd.readouterr().err.splitlines()
    assert "scheduling" in lines[0] and "stopped" in lines[-1]
    assert sum("skipped totals" in line for line in lines) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_ends_well_when_it_is_told_to(lake: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "spark_trickle", "--warehouse", str(lake), "run"]
    environment = {**os.environ, "TRICKLE_SCHEDULER_INTERVAL_MS": "60000"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        catalog = Catalog.open(f"sqlite:///{lake}/trickle.db")
        end = time.monotonic() + 120
        while catalog.lease().holder is None and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "stopped" in said
    assert catalog.lease().holder is None
    catalog.close()


def test_why_tells_that_no_scheduler_is_running(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", str(lake), "why", "totals"]) == 0
    shown = capsys.readouterr().out
    assert "'totals' is in error since 2026-03-01 12:00:00 UTC: no such column" in shown
    assert "no scheduler is running" in shown
