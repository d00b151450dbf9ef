"""Checks of the surroundings."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from spark_trickle.cli.doctor import (
    check_jars,
    check_java,
    check_package,
    check_probe,
    check_python,
    check_store,
    check_warehouse,
    find_java,
)
from spark_trickle.cli.main import run
from spark_trickle.config import load
from spark_trickle.model.probe import Probe
from spark_trickle.spark.session.stores import IO_IMPL, STORES


def program(folder: Path, version: str) -> str:
    path = folder / "java"
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("version", "result"), [("17.0.12", "ok"), ("21", "ok"), ("11.0.2", "problem"), ("1.8.0", "problem")]
)
def test_java_has_to_be_new_enough(tmp_path: Path, version: str, result: str) -> None:
    assert check_java(program(tmp_path, version)).result == result


def test_missing_java_says_what_to_do() -> None:
    check = check_java(None)
    assert check.result == "problem"
    assert "JAVA_HOME" in check.to_do


def test_a_java_home_without_java_is_not_replaced_by_another_java(tmp_path: Path) -> None:
    assert find_java(str(tmp_path)) is None


def test_python_has_to_be_new_enough() -> None:
    assert check_python((3, 10)).result == "problem"
    assert check_python((3, 13)).result == "ok"


def test_a_package_that_is_not_installed_is_a_problem() -> None:
    assert check_package("no-such-package-of-ours").result == "problem"
    assert check_package("sqlglot").result == "ok"


def test_jars_that_are_not_there_yet_are_a_note_and_not_a_problem(tmp_path: Path) -> None:
    packages = ("org.example:tool_2.13:1.0",)
    assert check_jars(packages, [tmp_path]).result == "note"
    (tmp_path / "org.example_tool_2.13-1.0.jar").touch()
    assert check_jars(packages, [tmp_path]).result == "ok"


def test_a_warehouse_that_can_be_created_is_fine_and_nothing_is_created(tmp_path: Path) -> None:
    check = check_warehouse(str(tmp_path / "new" / "deep"))
    assert check.result == "ok"
    assert "will be created" in check.detail
    assert list(tmp_path.iterdir()) == []


def test_a_warehouse_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert check_warehouse(str(tmp_path / "file")).result == "problem"


def test_a_warehouse_elsewhere_is_left_to_spark() -> None:
    assert check_warehouse("s3://bucket/path").result == "note"


def test_a_warehouse_in_an_object_store_says_what_reaches_it_and_whether_that_is_there(tmp_path: Path) -> None:
    (note,) = check_store("s3://bucket/path", {}, [tmp_path])
    assert note.result == "note" and "S3FileIO" in note.detail and "network" in note.to_do
    (tmp_path / f"{STORES['s3'].package.replace(':', '_', 1).replace(':', '-')}.jar").touch()
    assert [check.result for check in check_store("s3://bucket/path", {}, [tmp_path])] == ["ok"]
    (given,) = check_store("gs://bucket/path", {"spark.jars": "/jars/iceberg-gcp-bundle-1.11.0.jar"}, [tmp_path])
    assert given.result == "ok" and "GCSFileIO" in given.detail
    (chosen,) = check_store("s3://bucket/path", {IO_IMPL: "com.example.IO"}, [tmp_path])
    assert "com.example.IO" in chosen.detail
    assert list(check_store(str(tmp_path), {}, [tmp_path])) == []


def test_one_small_file_is_told_by_what_went_well_and_what_did_not() -> None:
    all_of_it = Probe("org.apache.iceberg.aws.s3.S3FileIO", "s3://b/f", ("write", "read", "list", "delete"))
    assert check_probe(all_of_it).result == "ok"
    refused = Probe("a.S3FileIO", "s3://b/f", ("write", "read", "delete"), "list", "Spark failed: 403")
    check = check_probe(refused)
    assert (check.result, check.check) == ("problem", "files")
    assert "write, read, delete went well, then list failed with S3FileIO: Spark failed: 403" in check.detail
    assert "list files below the warehouse" in check.to_do and "docs/stores.md" in check.to_do


def test_nothing_shows_the_password_of_a_catalog_that_cannot_be_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that SQLAlchemy takes as it is written, with a slash in it."""
    where = ["--warehouse", str(tmp_path), "--catalog", "postgresql+psycopg://ann:hu/sh@127.0.0.1:1/lake"]
    for command in (["doctor"], ["status"], ["why", "t"], ["--debug", "status"], ["--output", "json", "sla"]):
        assert run([*where, *command]) != 0
        shown = capsys.readouterr()
        assert "127.0.0.1" in shown.out + shown.err
        assert "hu/sh" not in shown.out + shown.err + caplog.text, command
    settings = load(warehouse=str(tmp_path), catalog=where[-1])
    assert "hu/sh" not in f"{settings} {settings!r} {settings.shown('catalog')}"
