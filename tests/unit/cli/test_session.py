"""Standard error while another program is started."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from spark_trickle.cli.session import quiet_children

NOISE = [sys.executable, "-c", "import sys; print('noise', file=sys.stderr)"]


def test_what_a_started_program_says_is_kept_off_the_screen(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_children(debug=False):
        subprocess.run(NOISE, check=True)
        print("progress", file=sys.stderr)  # noqa: T201
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "progress\nafterwards\n"


def test_it_is_shown_when_the_start_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="no start"), quiet_children(debug=False):
        subprocess.run(NOISE, check=True)
        raise OSError("no start")
    assert "noise" in capfd.readouterr().err


def test_nothing_is_hidden_when_debugging(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_children(debug=True):
        subprocess.run(NOISE, check=True)
    assert "noise" in capfd.readouterr().err
