"""A warehouse in an object store: its address alone says which jars and which FileIO are needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.errors import ConfigError

ROOT = Path(__file__).parents[2]
BUCKET = "bucket"


@pytest.fixture
def object_store() -> Iterator[str]:
    """The address of a store with one bucket."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.s3_server", BUCKET],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    try:
        assert server.stdout is not None and server.stdin is not None
        yield server.stdout.readline().strip()
        server.stdin.close()
        server.wait(timeout=20)
    finally:
        server.kill()
        server.wait()


def test_a_lake_lives_in_an_object_store(object_store: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.in_object_store", object_store, BUCKET, f"sqlite:///{tmp_path}/trickle.db"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.endswith("all of it in the object store\n")


@pytest.mark.parametrize(("scheme", "bundle"), [("s3", "aws"), ("gs", "gcp"), ("abfss", "azure")])
def test_a_given_session_without_the_bundle_of_the_store_is_refused(
    spark: SparkSession, tmp_path: Path, scheme: str, bundle: str
) -> None:
    catalog = f"sqlite:///{tmp_path}/trickle.db"
    with spark_trickle.connect(f"{scheme}://place/lake", catalog=catalog, spark=spark.newSession()) as engine:
        with pytest.raises(ConfigError, match=f"iceberg-{bundle}-bundle") as refused:
            engine.sql("SELECT 1")
        assert refused.value.hint is not None and "spark.jars.packages=" in refused.value.hint
