"""The rules that no linter knows: sizes, names, docstrings; and the direction of imports, which import-linter knows."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "spark_trickle"
MODULE_LINES = 400
FUNCTION_LINES = 60
HOMELESS = {"utils", "util", "helpers", "common", "base", "misc", "manager", "typing"}

OURS = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", OURS + TESTS, ids=named)
def test_a_module_fits_in_four_hundred_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("path", OURS, ids=named)
def test_functions_fit_on_a_screen(path: Path) -> None:
    found = {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in found.items() if lines > FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", OURS, ids=named)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_no_module_is_a_drawer_for_things_without_a_home() -> None:
    assert [named(path) for path in OURS + TESTS if path.stem in HOMELESS] == []


def test_every_folder_of_the_package_is_a_package() -> None:
    # Alembic reads migrations as scripts.
    folders = {path.parent for path in OURS} - {PACKAGE / "catalog" / "migrations"}
    assert [named(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_imports_point_one_way() -> None:
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
