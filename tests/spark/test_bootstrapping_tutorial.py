"""The tutorial does what it says: its examples run in order, and print what is shown below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "bootstrapping.md"
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)
ANYTHING = "...\n"
"""A line of a shown output that stands for any text."""


def test_the_examples_of_bootstrapping_run_and_print_what_is_shown(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    compared = 0
    for language, text in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
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
        assert engine.refresh_stream_table("order_report", upstream=True).status == "COMPLETED"
        assert all(engine.verify(name).ok for name in ("order_summary", "line_summary", "order_report"))
