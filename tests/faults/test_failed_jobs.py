"""Spark fails while a change is computed or written: a typed error, a line in the history, and nothing published."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import ComputeError, StreamTableError, UnavailableError
from spark_trickle.model.refresh import Action, Outcome

NAMES = ("seen", "parsed")
DISK_KILOBYTES = 4096


@contextmanager
def parser(spark: SparkSession, folder: Path, catalog: str | None = None) -> Iterator[Engine]:
    """Texts, a stream table that only copies them, and one that turns them into numbers: published together."""
    with spark_trickle.connect(str(folder), catalog=catalog, spark=spark.newSession()) as engine:
        engine.sql("CREATE TABLE texts (id INT, body STRING)")
        engine.sql("INSERT INTO texts VALUES (1, '10'), (2, '20')")
        engine.create_stream_table("seen", "SELECT id, body FROM texts", refresh_mode="DIFFERENTIAL")
        engine.create_stream_table(
            "parsed", "SELECT id, CAST(body AS INT) AS number FROM texts", refresh_mode="DIFFERENTIAL"
        )
        yield engine


def numbers(engine: Engine) -> tuple[list[int], list[int]]:
    """Ids that are seen, numbers that are parsed."""
    with engine.snapshot(NAMES) as snap:
        seen = [row[0] for row in snap.sql("SELECT id FROM seen ORDER BY id").collect()]
        return seen, [row[0] for row in snap.sql("SELECT number FROM parsed ORDER BY number").collect()]


def fails(engine: Engine, kind: type[StreamTableError], *, recorded: bool = True) -> str:
    """A refresh fails, publishes nothing and says so in the history; its message."""
    before = numbers(engine)
    with pytest.raises(kind) as caught:
        engine.refresh_stream_tables(NAMES)
    assert numbers(engine) == before
    for name in NAMES:
        newest = engine.history(name)[0]
        assert newest.status is (Outcome.FAILED if recorded else Outcome.COMPLETED)
        if recorded:
            assert newest.error == f"{kind.__name__}: {caught.value}"
        assert engine.verify(name).ok
    return str(caught.value)


def succeeds(engine: Engine, expected: tuple[list[int], list[int]]) -> None:
    outcomes = engine.refresh_stream_tables(NAMES)
    assert {outcome.action for outcome in outcomes} == {Action.DIFFERENTIAL}
    assert numbers(engine) == expected
    assert all(engine.verify(name).ok for name in NAMES)


def test_a_row_that_the_query_cannot_compute_stops_the_whole_group_until_it_is_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    with parser(spark, tmp_path) as engine:
        engine.sql("INSERT INTO texts VALUES (3, 'thirty'), (4, '40')")
        assert "CAST_INVALID_INPUT" in fails(engine, ComputeError)
        engine.sql("DELETE FROM texts WHERE id = 3")
        succeeds(engine, ([1, 2, 4], [10, 20, 40]))


def test_a_table_whose_folder_cannot_be_written_stops_the_whole_group_until_it_is_repaired(
    spark: SparkSession, tmp_path: Path
) -> None:
    with parser(spark, tmp_path) as engine:
        engine.sql("INSERT INTO texts VALUES (3, '30')")
        data = tmp_path / "default" / "parsed" / "data"
        away = data.with_name("data.away")
        data.rename(away)
        # Permissions do not stop root; a file where the folder should be stops everybody.
        data.write_text("not a folder")
        with pytest.raises(ComputeError, match="parsed"):
            engine.refresh_stream_tables(NAMES)
        for name in NAMES:
            failed, *_ = engine.history(name)
            assert failed.status is Outcome.FAILED
            assert failed.error is not None
            assert failed.error.startswith("ComputeError: ")
        assert engine.spark.table("seen").count() == 2
        data.unlink()
        away.rename(data)
        succeeds(engine, ([1, 2, 3], [10, 20, 30]))


def test_a_file_that_is_away_is_named_and_no_bug_of_ours_and_when_it_is_back_it_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What several read of a change is brought once, before any of them computes."""
    with parser(spark, tmp_path) as engine:
        before = set(tmp_path.glob("default/texts/data/*.parquet"))
        engine.sql("INSERT INTO texts VALUES (3, '30')")
        (file,) = set(tmp_path.glob("default/texts/data/*.parquet")) - before
        away = file.with_name("away")
        file.rename(away)
        said = fails(engine, ComputeError)
        assert "'texts'" in said and file.name in said
        away.rename(file)
        succeeds(engine, ([1, 2, 3], [10, 20, 30]))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of a few megabytes."""
    folder = tmp_path / "small disk"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("a full disk needs root, to mount a small one")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={DISK_KILOBYTES}k", "none", str(folder)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("a full disk needs the right to mount a small one")
    yield folder
    subprocess.run([umount, "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave no room at all."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            with pytest.raises(OSError, match="No space left"):
                while True:
                    # A write may be short without failing.
                    file.write(b"x" * size)
    return filler


def test_a_full_disk_stops_the_refresh_and_freeing_it_is_all_that_is_needed(
    spark: SparkSession, tmp_path: Path, small_disk: Path
) -> None:
    with parser(spark, small_disk, f"sqlite:///{tmp_path / 'catalog.db'}") as engine:
        engine.sql("INSERT INTO texts VALUES (3, '30')")
        filler = fill(small_disk)
        fails(engine, ComputeError)
        filler.unlink()
        succeeds(engine, ([1, 2, 3], [10, 20, 30]))


def test_a_catalog_on_a_full_disk_is_an_error_and_not_half_a_publication(
    spark: SparkSession, tmp_path: Path, small_disk: Path
) -> None:
    with parser(spark, tmp_path / "lake", f"sqlite:///{small_disk / 'catalog.db'}") as engine:
        engine.sql("INSERT INTO texts VALUES (3, '30')")
        filler = fill(small_disk)
        fails(engine, UnavailableError, recorded=False)
        filler.unlink()
        succeeds(engine, ([1, 2, 3], [10, 20, 30]))
