"""Commands that only read or write metadata, on a real SQLite catalog, without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.main import run
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.refresh import Action, HistoryRow, Outcome
from spark_trickle.model.stream_table import Options, RefreshMode, Source, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.sql.normalize import normalized

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def stream_table(name: str, query: str, *sources: tuple[str, str]) -> StreamTable:
    return StreamTable(
        name=TableName.parse(name),
        query=query,
        normalized_query=normalized(query),
        options=Options(schedule="1m"),
        status=Status.ACTIVE,
        effective_mode=RefreshMode.DIFFERENTIAL,
        sources=tuple(Source(table=TableName.parse(source), kind=kind) for source, kind in sources),
        explanation="Aggregate",
        data_timestamp=NOW,
        created_at=NOW,
    )


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[str]:
    """A lake with two stream tables, one refresh each."""
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'trickle.db'}")
    catalog.insert(stream_table("daily", "SELECT day, SUM(x) AS x FROM sales GROUP BY day", ("sales", "TABLE")))
    catalog.insert(stream_table("total", "SELECT SUM(x) AS x FROM daily", ("daily", "STREAM_TABLE")))
    catalog.record(
        HistoryRow(
            name=name,
            action=Action.DIFFERENTIAL,
            status=Outcome.COMPLETED,
            mode="DIFFERENTIAL",
            reason=None,
            error=None,
            started_at=NOW,
            duration_ms=12.0,
            rows_inserted=3,
            rows_deleted=1,
            frontier=Frontier(),
            cut=None,
            group=None,
            epoch=1,
            jobs=2,
            commits=1,
            initiated_by="MANUAL",
        )
        for name in ("daily", "total")
    )
    catalog.close()
    yield str(tmp_path)


def show(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(arguments) == code
    return capsys.readouterr().out


def test_status_lists_all_or_one(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(capsys, "status", "--warehouse", warehouse).splitlines()
    assert [line.split()[0] for line in lines] == ["name", "daily", "total"]
    document = json.loads(show(capsys, "status", "daily", "--warehouse", warehouse, "--output", "json"))
    assert (document["name"], document["schedule"], document["sources"]) == ("daily", "1m", ["sales"])


def test_a_stream_table_that_does_not_exist_ends_with_two(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("status", "why", "explain", "history", "suspend", "resume", "drop"):
        assert run([command, "nobody", "--warehouse", warehouse]) == 2
        assert "'nobody' does not exist" in capsys.readouterr().err


def test_dropping_what_does_not_exist_is_fine_if_asked_so(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(capsys, "drop", "nobody", "--if-exists", "--warehouse", warehouse)


def test_suspending_is_seen_by_why_until_it_is_resumed(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "SUSPENDED" in show(capsys, "suspend", "daily", "--warehouse", warehouse)
    answer = show(capsys, "why", "total", "--warehouse", warehouse)
    assert "it reads 'daily', and 'daily' is suspended" in answer
    assert "`trickle resume daily`" in answer
    assert "up to date" not in answer, "what is held is not said to be up to date"
    assert "ACTIVE" in show(capsys, "resume", "daily", "--warehouse", warehouse)


def test_history_is_shown_newest_first_and_limited(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(show(capsys, "history", "--limit", "1", "--warehouse", warehouse, "--output", "json"))
    assert [row["name"] for row in rows] == ["total"]
    assert "DIFFERENTIAL" in show(capsys, "history", "daily", "--warehouse", warehouse)


def test_the_graph_is_drawn_in_each_format(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(capsys, "graph", "--warehouse", warehouse).splitlines() == [
        "total",
        "└─ daily",
        "   └─ sales (table)",
    ]
    assert show(capsys, "graph", "daily", "--warehouse", warehouse).startswith("daily\n")
    assert "flowchart" in show(capsys, "graph", "--format", "mermaid", "--warehouse", warehouse)
    document = json.loads(show(capsys, "graph", "--format", "dot", "--warehouse", warehouse, "--output", "json"))
    assert document["format"] == "dot"
    assert '"sales" -> "daily";' in document["graph"]


def test_explain_shows_query_and_plan(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(capsys, "explain", "total", "--warehouse", warehouse)
    assert "SELECT SUM(x) AS x FROM daily" in shown
    assert "Aggregate" in shown


def test_options_can_be_altered_without_spark(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(capsys, "alter", "total", "--schedule", "5m", "--set", "fuse=on", "--warehouse", warehouse)
    document = json.loads(show(capsys, "status", "total", "--warehouse", warehouse, "--output", "json"))
    assert document["schedule"] == "5m"


def test_a_dry_run_of_apply_shows_the_plan_and_changes_nothing(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "all.sql").write_text(
        "CREATE STREAM TABLE more AS SELECT * FROM total;\n"
        "CREATE STREAM TABLE total SCHEDULE '1m' AS select sum(x) as x from daily;\n"
        "CREATE STREAM TABLE daily SCHEDULE '9m' AS SELECT day, SUM(x) AS x FROM sales GROUP BY day;\n"
    )
    arguments = ("apply", str(folder), "--dry-run", "--warehouse", warehouse)
    lines = show(capsys, *arguments).splitlines()[1:]
    assert [line.split()[:2] for line in lines] == [["alter", "daily"], ["unchanged", "total"], ["create", "more"]]
    document = json.loads(show(capsys, *arguments, "--output", "json"))
    assert document["applied"] is False
    assert len(json.loads(show(capsys, "status", "--warehouse", warehouse, "--output", "json"))) == 2


def test_apply_does_not_act_when_nobody_can_be_asked(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.sql").write_text("CREATE STREAM TABLE more AS SELECT * FROM total")
    assert run(["apply", str(tmp_path), "--warehouse", warehouse]) == 2
    assert "--yes" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "history", "graph", "doctor"])
def test_commands_that_read_metadata_never_load_spark(warehouse: str, command: str) -> None:
    program = (
        "import sys; from spark_trickle.cli.main import run; "
        f"code = run([{command!r}, '--warehouse', {warehouse!r}]); "
        "loaded = [m for m in ('pyspark', 'pandas', 'pyarrow', 'alembic', 'duckdb') if m in sys.modules]; "
        "sys.exit(' '.join(loaded) or code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
