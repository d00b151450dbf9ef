"""The command line as a whole, without Spark: options, exit codes, what is imported."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from spark_trickle import __version__
from spark_trickle.cli.main import COMMANDS, guarded, hoist, run
from spark_trickle.cli.output import TextOutput
from spark_trickle.cli.session import Session
from spark_trickle.errors import (
    CommitUnknownError,
    ConflictError,
    InternalError,
    SchemaChangedError,
    UserError,
)

HEAVY = ("pyspark", "pandas", "pyarrow", "duckdb", "alembic", "sqlalchemy", "py4j", "numpy")


@pytest.mark.parametrize(
    ("arguments", "hoisted"),
    [
        (["status", "--output=json"], ["--output=json", "status"]),
        (["--warehouse", "w", "status", "--debug"], ["--warehouse", "w", "--debug", "status"]),
        (["sql", "--", "--output", "x"], ["sql", "--", "--output", "x"]),
        (["status", "--output"], ["--output", "status"]),
    ],
)
def test_global_options_are_understood_after_the_command(arguments: list[str], hoisted: list[str]) -> None:
    assert hoist(arguments) == hoisted


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"spark-trickle {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {command.__name__} " in shown for command in COMMANDS)


@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert "Usage: trickle" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["no-such-command"], ["status", "--no-such-option"], ["--output", "xml", "status"]]
)
def test_a_wrong_command_line_ends_with_two(arguments: list[str]) -> None:
    assert run(arguments) == 2


def test_a_user_error_ends_with_two_and_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["alter", "totals"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: nothing to change. Give --query")
    assert shown.err.count("\n") == 1


def test_errors_are_json_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--output", "json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"] == "UserError"


def test_unknown_options_of_a_stream_table_are_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["create", "t", "SELECT 1", "--set", "speed=9"]) == 2
    assert "expected an option (schedule, refresh_mode" in capsys.readouterr().err


def test_a_missing_query_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["create", "t"]) == 2
    assert "a query is missing" in capsys.readouterr().err


def test_a_file_that_is_not_text_is_a_user_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "latin1.sql"
    script.write_bytes(b"SELECT '\xe9'")
    assert run(["sql", "--file", str(script)]) == 2
    assert "latin1.sql' cannot be read" in capsys.readouterr().err


def failing(err: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise err

    return work


@pytest.mark.parametrize(
    ("err", "code"),
    [
        (UserError("wrong"), 2),
        (SchemaChangedError("changed"), 3),
        (ConflictError("t", "a", "b"), 4),
        (CommitUnknownError("perhaps"), 5),
        (InternalError("bug"), 70),
        (ZeroDivisionError("division by zero"), 70),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_exit_code_follows_the_kind_of_error(err: BaseException, code: int) -> None:
    assert guarded(Session(), failing(err)) == code


def test_an_error_we_do_not_know_is_one_line_and_says_how_to_see_the_trace() -> None:
    for debug in (False, True):
        side = io.StringIO()
        with redirect_stderr(side):
            guarded(Session(debug=debug, output=TextOutput()), failing(ZeroDivisionError("by zero")))
        assert "error: ZeroDivisionError: by zero" in side.getvalue()
        assert ("--debug shows its trace" in side.getvalue()) is not debug
        assert ("Traceback" in side.getvalue()) is debug


def test_starting_imports_nothing_heavy() -> None:
    program = (
        "import sys; from spark_trickle.cli.main import run; run(['--help']); "
        f"found = [m for m in {HEAVY} if m in sys.modules]; sys.exit(' '.join(found) or None)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
