"""`trickle serve`: refused where it must be, started without a JVM, stopped in order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from spark_trickle.cli.main import run
from spark_trickle.cli.serving import require_packages

ROOT = Path(__file__).parents[3]


def test_what_must_not_start_does_not_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = ["--warehouse", str(tmp_path / "lake")]
    assert run([*lake, "serve", "--host", "0.0.0.0"]) == 2
    assert "can be reached by others, and there is no token" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run([*lake, "serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "--port takes another one" in capsys.readouterr().err
    require_packages()


def test_it_starts_within_a_second_of_work_answers_and_ends_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spark_trickle.cli.main", "--warehouse", str(tmp_path / "lake"), "serve"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRICKLE_TOKEN": "a-token-that-nobody-knows"}
    with subprocess.Popen([*command, "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        assert said.startswith("serving http://127.0.0.1:")
        address = said.split()[1].rstrip(";")
        assert httpx.get(f"{address}/readyz").text == "ok\n"
        assert httpx.get(f"{address}/metrics").status_code == 401
        assert "server" not in httpx.get(f"{address}/healthz").headers
        used = os.times().children_user
        server.send_signal(signal.SIGTERM)
        # Nobody is connected any more, so there is nothing to wait for.
        assert server.wait(60) == 0
        assert os.times().children_user - used < 5
        assert "a-token-that" not in said + server.stderr.read()


def test_a_demo_on_a_port_that_is_taken_does_not_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert run(["--warehouse", str(tmp_path / "lake"), "demo", "--serve", "--port", port]) == 2
    assert "--port takes another one" in capsys.readouterr().err
