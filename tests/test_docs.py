"""Examples in docstrings are run."""

from __future__ import annotations

import doctest
import importlib
import re
import runpy
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from spark_trickle.sql.statements import parse_statement, split_statements

PACKAGE = Path(__file__).parents[1] / "spark_trickle"
NEED_SPARK = {"spark", "storage"}
"""Rooms whose modules import pyspark."""


def modules_with_examples() -> list[ParameterSet]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.append(pytest.param(name, marks=[pytest.mark.spark] if parts[1] in NEED_SPARK else []))
    return found


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings_say_what_happens(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_page_of_settings_is_what_the_settings_say() -> None:
    root = Path(__file__).parents[1]
    made = runpy.run_path(str(root / "scripts" / "document_settings.py"))["text"]()
    assert (root / "docs" / "settings.md").read_text(encoding="utf-8") == made, "run scripts/document_settings.py"


def test_the_page_of_sql_is_what_the_rules_say() -> None:
    root = Path(__file__).parents[1]
    made = runpy.run_path(str(root / "scripts" / "document_sql.py"))["text"]()
    assert (root / "docs" / "sql.md").read_text(encoding="utf-8") == made, "run scripts/document_sql.py"


BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)


def statements_in_pages() -> list[ParameterSet]:
    root = Path(__file__).parents[1]
    found = []
    for page in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            found += [pytest.param(text, id=f"{page.name}: {text[:40]}") for text, _ in split_statements(block)]
    return found


@pytest.mark.parametrize("text", statements_in_pages())
def test_statements_for_stream_tables_in_pages_are_read(text: str) -> None:
    """Whatever says STREAM TABLE is one of ours, as it stands there."""
    assert parse_statement(text) is not None or "STREAM TABLE" not in text.upper()
