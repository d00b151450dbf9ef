"""No setting and no option does nothing: each is read by a room that acts on it, not only kept or passed on."""

from __future__ import annotations

import ast
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from spark_trickle.config import Settings
from spark_trickle.model.stream_table import Options

PACKAGE = Path(__file__).parents[1] / "spark_trickle"
KEPT = ("config.py",)
PASSED_ON = ("catalog/stream_tables.py", "refresh/options.py", "engine.py", "model/stream_table.py", "views.py")
"""Where options are written down, read from what users pass, and shown."""


def read_in(path: Path) -> set[str]:
    """The names of all attributes that a module asks for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}


@cache
def read_outside(*modules: str) -> set[str]:
    paths = (path for path in PACKAGE.rglob("*.py") if str(path.relative_to(PACKAGE)) not in modules)
    return set[str]().union(*(read_in(path) for path in paths))


@pytest.mark.parametrize("setting", Settings.model_fields)
def test_every_setting_is_read(setting: str) -> None:
    assert setting in read_outside(*KEPT)


@pytest.mark.parametrize("option", [field.name for field in fields(Options)])
def test_every_option_of_a_stream_table_is_acted_on(option: str) -> None:
    assert option in read_outside(*KEPT, *PASSED_ON)
