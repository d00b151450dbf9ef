"""Hooks: whom they tell what, how often they try, and that nobody waits for them. Real servers and processes."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import spark_trickle
from spark_trickle.errors import ConfigError
from spark_trickle.events import FuseBlown, Late, Noticed, RefreshFailed, RefreshFinished
from spark_trickle.hooks import Hooks, Mailbox, Pace
from spark_trickle.lineage import Lineage
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome
from spark_trickle.names import TableName

QUICK = Pace(waits=(0.01, 0.01), timeout=5)
HOSTILE = "sales.<img src=x onerror=alert(1)>"


class Ear:
    """A server that answers with these statuses, then with 200."""

    def __init__(self, *answers: int) -> None:
        self.heard: list[Any] = []
        self.paths: list[str] = []
        self.tries = 0
        self._answers = list(answers)

    def __call__(self, body: bytes, path: str) -> int:
        self.tries += 1
        status = self._answers.pop(0) if self._answers else 200
        if status == 200:
            self.heard.append(json.loads(body))
            self.paths.append(path)
        return status


@contextmanager
def listening(answer: Callable[[bytes, str], int]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = answer(body, self.path)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def told(targets: dict[str, str], *events: Any, pace: Pace = QUICK) -> None:
    mailbox = Mailbox(pace)
    hooks = Hooks(mailbox, targets, "lake")
    for event in events:
        hooks(event)
    deadline = time.monotonic() + 60
    while not mailbox.empty and time.monotonic() < deadline:
        time.sleep(0.01)
    mailbox.close()


FAILED = RefreshFailed(HOSTILE, "boom")
BLOWN = FuseBlown("t", "'t' is not refreshed: 500 rows changed")
LATE = Late("t", "'orders' changed, and it has not followed", datetime(2026, 1, 1, tzinfo=UTC))


def test_each_hook_is_told_its_own_event_as_json() -> None:
    ear = Ear()
    with listening(ear) as address:
        told({each: f"{address}/{each}" for each in ("on_failure", "on_fuse", "on_late")}, FAILED, BLOWN, LATE)
    assert ear.paths == ["/on_failure", "/on_fuse", "/on_late"]
    failed, blown, late = ear.heard
    assert (failed["event"], failed["table"], failed["error"]) == ("on_failure", HOSTILE, "boom")
    assert failed["lake"] == "lake"
    assert failed["text"] == f"refresh of '{HOSTILE}' failed: boom"
    assert blown["because"] == BLOWN.because
    assert late["since"] == "2026-01-01T00:00:00+00:00"


def test_it_is_tried_again_and_then_given_up_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    patient = Ear(500, 302)
    with listening(patient) as address:
        told({"on_failure": address}, FAILED)
    assert patient.tries == 3 and len(patient.heard) == 1, "a redirection is not followed: it was told to this address"
    deaf = Ear(500, 500, 500, 500)
    with listening(deaf) as address, caplog.at_level(logging.INFO, "spark_trickle"):
        told({"on_failure": f"{address}/T0/secret"}, FAILED)
    assert deaf.tries == 3
    assert "hook on_failure: not told after 3 tries" in caplog.text and "answered 500" in caplog.text
    assert "secret" not in caplog.text


def test_a_command_gets_it_on_standard_input_without_a_shell(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    script = tmp_path / "tell me.py"
    script.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())")
    out = tmp_path / "$(out); x"
    told({"on_fuse": f"{sys.executable} '{script}' '{out}'"}, BLOWN)
    assert json.loads(out.read_text())["table"] == "t"
    told({"on_fuse": "/no/such/program --key s3cret"}, BLOWN)
    assert "'/no/such/program' cannot be started" in caplog.text and "s3cret" not in caplog.text
    failing = tmp_path / "failing.py"
    failing.write_text("import sys; sys.exit('no such channel')")
    told({"on_fuse": f"{sys.executable} {failing}"}, BLOWN)
    assert "ended with 1: no such channel" in caplog.text


def test_nobody_waits_for_a_hook_that_hangs() -> None:
    free = threading.Event()

    def hang(_body: bytes, _path: str) -> int:
        free.wait(120)
        return 200

    with listening(hang) as address:
        mailbox = Mailbox(Pace(waits=(), timeout=120))
        hooks = Hooks(mailbox, {"on_failure": address}, "lake")
        began = time.monotonic()
        for _ in range(5000):
            hooks(FAILED)
        mailbox.close(patience=0.1)
        assert time.monotonic() - began < 60
        free.set()


def test_what_is_no_hook_is_refused_at_once_and_shows_no_secret(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"on_late.*neither an http"):
        spark_trickle.connect(str(tmp_path), on_late="ftp://host/s3cret")
    with pytest.raises(ConfigError, match="not a command") as raised:
        spark_trickle.connect(str(tmp_path), on_failure="page 's3cret")
    assert "s3cret" not in str(raised.value)
    with spark_trickle.connect(str(tmp_path), on_failure="https://chat.example/s3cret") as engine:
        assert "s3cret" not in repr(engine.settings)


def test_refreshes_are_told_as_openlineage(tmp_path: Path) -> None:
    pin = Pin(table=TableName.parse("orders"), uuid="u", location="l", snapshot_id=7, schema_id=0)
    done = RefreshOutcome(
        name="totals",
        action=Action.DIFFERENTIAL,
        status=Outcome.COMPLETED,
        mode="DIFFERENTIAL",
        rows_inserted=3,
        frontier=Frontier((pin,)),
        duration_ms=1500,
    )
    nothing = RefreshOutcome(name="totals", action=Action.NO_DATA, status=Outcome.COMPLETED, mode="NO_DATA")
    file = tmp_path / "made" / "lineage.jsonl"
    mailbox = Mailbox(QUICK)
    lineage = Lineage(mailbox, str(file), "file:///lake", lambda name: f"SELECT 1 AS {name}")
    for event in (RefreshFinished(done), RefreshFinished(nothing), FAILED, Noticed("totals", "mind this")):
        lineage(event)
    mailbox.close()
    start, complete, fail = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["eventType"] for each in (start, complete, fail)] == ["START", "COMPLETE", "FAIL"]
    assert start["run"]["runId"] == complete["run"]["runId"] != fail["run"]["runId"]
    assert datetime.fromisoformat(start["eventTime"]) < datetime.fromisoformat(complete["eventTime"])
    assert complete["job"]["name"] == "totals"
    assert complete["job"]["facets"]["sql"]["query"] == "SELECT 1 AS totals"
    (read,), (written,) = complete["inputs"], complete["outputs"]
    assert (read["name"], read["facets"]["version"]["datasetVersion"]) == ("orders", "7")
    assert (written["name"], written["outputFacets"]["outputStatistics"]["rowCount"]) == ("totals", 3)
    assert fail["run"]["facets"]["errorMessage"]["message"] == "boom"
    assert all({"producer", "schemaURL", "eventTime"} <= each.keys() for each in (start, complete, fail))
