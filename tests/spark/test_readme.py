"""The examples of the README do what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine

README = Path(__file__).parents[2] / "README.md"


def test_the_examples_of_the_readme_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    # The third one, of an object store, is run by `in_object_store`.
    first, second, _ = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    assert capsys.readouterr().out == "DIFFERENTIAL 1 1\nTrue\n"
    engine = names["engine"]
    assert isinstance(engine, Engine)
    with engine:
        engine.sql("CREATE TABLE customers (id INT); INSERT INTO customers VALUES (7), (8)")
        exec(second, names)
        assert engine.spark.table("orders").count() == 4
        assert engine.spark.table("customers").count() == 1
        engine.drop_stream_table("order_totals")
        (statements,) = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
        newest = engine.sql(statements).first()
        assert newest is not None and newest.name == "order_totals"
