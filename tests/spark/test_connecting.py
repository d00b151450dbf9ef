"""Connecting: engines share one SparkContext, and what only reads metadata starts no JVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import spark_trickle
from tests.spark.engines import assert_equals_query, opened, values

METADATA_ONLY = """
import sys, pathlib
import spark_trickle as trickle

def java_children():
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        fields = dict(line.split(":\\t", 1) for line in text.splitlines() if ":\\t" in line)
        if fields.get("PPid", "").strip() == str(__import__("os").getpid()) and fields["Name"].strip() == "java":
            found.append(fields["Pid"])
    return found

with trickle.connect(sys.argv[1]) as engine:
    assert [each.name for each in engine.status()] == ["copy"]
    assert engine.status("copy").populated
    assert len(engine.history("copy")) == 1
    assert engine.why("copy").refreshing
    assert "Scan" in engine.explain("copy").tree
    assert "copy" in engine.dependency_tree() and "copy" in engine.graph("mermaid")
    engine.suspend_stream_table("copy")
    engine.resume_stream_table("copy")
    engine.alter_stream_table("copy", schedule="9m")
    assert java_children() == [], java_children()
    assert "pyspark.sql" not in sys.modules
print("metadata only")
"""


def test_two_engines_on_two_lakes_share_one_context_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, tmp_path / "one") as one, opened(spark, tmp_path / "two") as two:
        for number, engine in enumerate((one, two), start=1):
            engine.sql(f"CREATE TABLE t (a INT); INSERT INTO t VALUES ({number})")
            engine.create_stream_table("copy", "SELECT a FROM t")
        one.sql("INSERT INTO t VALUES (10)")
        one.refresh_stream_table("copy")
        assert values(one, "SELECT a FROM copy") == [(1,), (10,)]
        assert values(two, "SELECT a FROM copy") == [(2,)]
        assert len(one.history()) == 2 and len(two.history()) == 1
        assert one.spark.sparkContext is two.spark.sparkContext
        assert_equals_query(one, "copy")
    assert spark.range(1).count() == 1, "a session that was given is not stopped"

    with opened(spark, tmp_path / "one") as again:
        assert values(again, "SELECT a FROM copy") == [(1,), (10,)]
        again.sql("INSERT INTO t VALUES (11)")
        assert again.refresh_stream_table("copy").rows_inserted == 1


def test_metadata_is_read_without_a_jvm(spark: SparkSession, tmp_path: Path) -> None:
    with spark_trickle.connect(str(tmp_path / "lake"), spark=spark.newSession()) as engine:
        engine.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        engine.create_stream_table("copy", "SELECT a FROM t")
    done = subprocess.run(
        [sys.executable, "-c", METADATA_ONLY, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "metadata only"
