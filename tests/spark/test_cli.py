"""The command line with Spark behind it: each test is one or more processes, as users run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx


def trickle(warehouse: Path, *arguments: str, code: int = 0, stdin: str = "") -> str:
    environment = {**os.environ, "TRICKLE_SPARK_MASTER": "local[2]", "TRICKLE_SPARK_DRIVER_MEMORY": "1g"}
    environment["TRICKLE_ALLOW_CIRCULAR"] = "true"
    done = subprocess.run(
        [sys.executable, "-m", "spark_trickle", *arguments, "--warehouse", str(warehouse)],
        capture_output=True,
        text=True,
        input=stdin,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_project_is_applied_and_the_second_time_nothing_is_left_to_do(tmp_path: Path) -> None:
    lake, folder = tmp_path / "lake", tmp_path / "project"
    folder.mkdir()
    (folder / "a.sql").write_text("CREATE STREAM TABLE total AS SELECT SUM(n) AS n FROM per_key;")
    (folder / "b.sql").write_text(
        "CREATE TABLE IF NOT EXISTS events (k INT);\n"
        "CREATE STREAM TABLE per_key SCHEDULE '5m' AS SELECT k, COUNT(*) AS n FROM events GROUP BY k;"
    )
    # Two files that read each other: they are made together.
    (folder / "c.sql").write_text("CREATE STREAM TABLE up SCHEDULE '5m' AS SELECT k FROM down WHERE k < 9;")
    (folder / "d.sql").write_text("CREATE STREAM TABLE down AS SELECT k FROM events UNION SELECT k + 1 FROM up;")
    first = json.loads(trickle(lake, "apply", str(folder), "--yes", "--output", "json"))
    assert [(line["kind"], line["name"]) for line in first["plan"]] == [
        ("run", "events"),
        ("create", "per_key"),
        ("create", "total"),
        ("create", "up"),
        ("create", "down"),
    ]
    script = "INSERT INTO events VALUES (1), (1), (2); REFRESH STREAM TABLE per_key, total; SELECT n FROM total"
    answers = json.loads(trickle(lake, "sql", "-", "--output", "json", stdin=script))
    assert [each["statement"].split()[0] for each in answers] == ["INSERT", "REFRESH", "SELECT"]
    assert answers[-1]["answer"] == [{"n": 3}]
    again = trickle(lake, "apply", str(folder), "--dry-run").splitlines()
    names = ["per_key", "total", "up", "down"]
    assert [line.split()[:2] for line in again[2:]] == [["unchanged", name] for name in names]
    assert trickle(lake, "verify").count("ok") == 4


def test_the_demo_stays_consistent_and_says_so_on_the_page_too(tmp_path: Path) -> None:
    arguments = ["demo", "--seconds", "8", "--rows", "2000", "--serve", "--port", "0", "--output", "json"]
    environment = {**os.environ, "TRICKLE_SPARK_MASTER": "local[2]", "TRICKLE_SPARK_DRIVER_MEMORY": "1g"}
    command = [sys.executable, "-m", "spark_trickle", *arguments, "--warehouse", str(tmp_path / "lake")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, text=True, stdout=pipe, stderr=pipe) as demo:
        assert demo.stdout is not None and demo.stderr is not None
        seen, address = set(), ""
        for line in demo.stderr:
            if line.startswith("the page is at "):
                address = line.split()[4]
                if "until Ctrl-C" in line:
                    break
            elif address:
                seen.add(httpx.get(f"{address}/api/v1/overview").json()["total"])
        assert {0, 3} <= seen, "the page shows the demo while it runs"
        assert len(httpx.get(f"{address}/api/v1/history?limit=50").json()) > 6
        demo.send_signal(signal.SIGINT)
        summary = json.loads(demo.stdout.read())
        demo.stderr.read()
        assert demo.wait(60) == 0
    assert summary["ok"] is True
    assert summary["violations"] == 0
    assert min(summary["writes"], summary["refreshes"], summary["checks"]) >= 1
    assert summary["verified"] == {"revenue_by_region": True, "revenue_by_product": True, "exec_summary": True}


def test_a_slip_is_one_message_on_the_terminal_and_the_rest_is_in_the_log_file(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "trickle.log"
    environment = {**os.environ, "TRICKLE_SPARK_MASTER": "local[2]", "TRICKLE_SPARK_DRIVER_MEMORY": "1g"}
    environment |= {"TRICKLE_LOG_FILE": str(log), "TRICKLE_LOG_LEVEL": "DEBUG"}
    slip = "CREATE STREAM TABLE t AS SELECT regoin FROM orders"
    done = subprocess.run(
        [sys.executable, "-m", "spark_trickle", "--warehouse", str(tmp_path / "lake"), "sql", "-"],
        input=f"CREATE TABLE orders (id BIGINT, region STRING, amount INT); {slip}",
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "error: the query is not valid: there is no column `regoin`. Did you mean `region` or `amount` or `id`? "
        "(line 1, column 8)"
    )
    assert len(done.stderr) < 500, "nothing of Ivy, no JSON, no trace"
    kept = log.read_text()
    assert "UNRESOLVED_COLUMN" in kept and "DEBUG" in kept
    assert "resolving dependencies" in kept, "what Java says goes there, too"
