"""The tutorials do what they say: their examples run in order, and print what is shown below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "tutorials/bootstrapping.md",
    "tutorials/diamonds.md",
    "tutorials/circles.md",
    "tutorials/watermarks.md",
    "tutorials/fuse.md",
    "consistency.md",
)
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)
ANYTHING = "...\n"
"""A line of a shown output that stands for any text."""


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_and_print_what_is_shown(
    page: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    compared = 0
    for language, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if language == "python":
            exec(text, names)
            printed = capsys.readouterr().out
            continue
        wanted = "(?s:.*)".join(re.escape(part.strip("\n")) for part in f"\n{text}".split(ANYTHING))
        assert re.fullmatch(wanted, printed.strip("\n")), f"{printed}\nis not as shown:\n{text}"
        compared += 1
    assert compared > 4
    engine = names["engine"]
    assert isinstance(engine, Engine)
    with engine:
        for table in engine.stream_tables():
            assert engine.refresh_stream_table(str(table.name), upstream=True).status == "COMPLETED"
            assert engine.verify(str(table.name)).ok
