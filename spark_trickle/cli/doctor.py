"""Is everything here that the engine needs? Each check says ok or what is wrong and what to do.

Spark itself is started only on request; the other checks take no time. Checks look and report; they mend nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from spark_trickle.cli.session import Session, session_of
from spark_trickle.errors import ConfigError, StreamTableError
from spark_trickle.model.probe import Probe

MINIMUM_PYTHON = (3, 11)
MINIMUM_JAVA = 17
PACKAGES = ("pyspark", "sqlglot", "sqlalchemy", "alembic", "pyarrow", "pandas", "psycopg")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    check: str
    result: str
    """ok, problem, or note: nothing wrong, but worth knowing."""
    detail: str
    to_do: str = ""


def doctor(
    context: typer.Context,
    spark: Annotated[
        bool,
        typer.Option("--spark", help="Also start Spark, run a query, and write, read, list and delete one small file."),
    ] = False,
) -> None:
    """Check that everything needed is here; exit code 1 if something is not."""
    session = session_of(context)
    checks = list(_checks(session))
    if spark:
        checks.extend(_spark(session))
    session.output.show(checks)
    if any(check.result == "problem" for check in checks):
        raise typer.Exit(1)


def _checks(session: Session) -> Iterator[Check]:
    yield check_python(sys.version_info[:2])
    yield check_java(find_java(os.environ.get("JAVA_HOME")))
    yield from (check_package(name) for name in PACKAGES)
    from spark_trickle import config
    from spark_trickle.spark.session.stores import PACKAGES as JARS

    downloads = [Path.home() / folder / "jars" for folder in (".ivy2.5.2", ".ivy2")]
    yield check_jars(JARS, downloads)

    try:
        settings = config.load(warehouse=session.warehouse, catalog=session.catalog)
    except ConfigError as err:
        yield Check("settings", "problem", str(err), "mend the setting that is named")
        return
    yield Check("settings", "ok", f"warehouse from {settings.origin('warehouse')}")
    yield check_warehouse(settings.warehouse)
    yield from check_store(settings.warehouse, settings.spark_conf, downloads)
    yield _database(session, settings.catalog)


def check_python(found: tuple[int, ...]) -> Check:
    shown = ".".join(map(str, found))
    if found >= MINIMUM_PYTHON:
        return Check("python", "ok", shown)
    return Check("python", "problem", shown, f"use Python {'.'.join(map(str, MINIMUM_PYTHON))} or newer")


def find_java(java_home: str | None) -> str | None:
    """The program that Spark will start: of JAVA_HOME if that is set, else on PATH."""
    if java_home:
        return shutil.which(str(Path(java_home) / "bin" / "java"))
    return shutil.which("java")


def check_java(program: str | None) -> Check:
    """Whether Java is there and new enough."""
    advice = f"install Java {MINIMUM_JAVA} and put it on PATH, or set JAVA_HOME"
    if program is None:
        return Check("java", "problem", "not found", advice)
    try:
        shown = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=True).stderr
    except (OSError, subprocess.SubprocessError) as err:
        return Check("java", "problem", f"'{program} -version' failed: {err}", advice)
    match = re.search(r'version "(\d+)(?:\.(\d+))?', shown)
    if match is None:
        return Check("java", "problem", f"'{program} -version' says no version", advice)
    # Before Java 9, versions were written 1.8.
    major = int(match[2] or 0) if match[1] == "1" else int(match[1])
    if major < MINIMUM_JAVA:
        return Check("java", "problem", f"{major} ({program})", advice)
    return Check("java", "ok", f"{major} ({program})")


def check_package(name: str) -> Check:
    try:
        return Check(name, "ok", version(name))
    except PackageNotFoundError:
        return Check(name, "problem", "not installed", f"pip install {name}")


def check_jars(packages: tuple[str, ...], folders: list[Path]) -> Check:
    """Whether the jars were downloaded before; if not, the first start needs the network."""
    names = [package.replace(":", "_", 1).replace(":", "-") + ".jar" for package in packages]
    missing = [name for name in names if not any((folder / name).exists() for folder in folders)]
    if not missing:
        return Check("jars", "ok", f"{len(names)} of {len(names)} downloaded")
    advice = "the first start of Spark downloads them: it needs the network, once"
    return Check("jars", "note", f"not downloaded yet: {', '.join(missing)}", advice)


def check_store(warehouse: str, spark_conf: Mapping[str, str], folders: list[Path]) -> Iterator[Check]:
    """What the files of a warehouse in an object store are reached with, and whether it is there."""
    from spark_trickle.spark.session.stores import IO_IMPL, packages_for, store_of

    store = store_of(warehouse, spark_conf)
    if store is None:
        if IO_IMPL in spark_conf:
            yield Check("files", "note", f"reached with {spark_conf[IO_IMPL]}, as spark_conf says")
        return
    reached = f"reached with {store.file_io} of {store.package}"
    wanted = store.package.rpartition(":")[0]
    package = next((each for each in packages_for(warehouse, spark_conf) if each.startswith(f"{wanted}:")), None)
    if package is None:
        yield Check("files", "ok", f"{reached}: given by spark.jars")
        return
    there = check_jars((package,), folders)
    yield Check("files", there.result, f"{reached}: {there.detail}", there.to_do)


def check_warehouse(address: str) -> Check:
    """Whether files can be written there, or could be in the nearest folder that exists."""
    if "://" in address and not address.startswith("file://"):
        return Check(
            "warehouse",
            "note",
            address,
            "not a local folder: --spark writes, reads, lists and deletes one small file there",
        )
    folder = Path(address.removeprefix("file://")).absolute()
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as err:
        return Check("warehouse", "problem", f"{folder}: {err.strerror}", "choose another --warehouse, or its rights")
    return Check("warehouse", "ok", str(folder) if nearest == folder else f"{folder} (will be created)")


def _database(session: Session, catalog: str) -> Check:
    if catalog.startswith("sqlite:///") and not Path(catalog.removeprefix("sqlite:///")).exists():
        return Check("database", "note", "not there yet", "the first command that needs it creates it")
    try:
        tables = session.engine.status()
    except StreamTableError as err:
        return Check("database", "problem", str(err), "see --catalog and --warehouse")
    return Check("database", "ok", f"{len(tables)} stream tables")


def _spark(session: Session) -> Iterator[Check]:
    from spark_trickle.spark.upkeep.probing import probe_files

    try:
        spark = session.spark_engine.spark
        spark.sql("SELECT 1").collect()
    except StreamTableError as err:
        yield Check("spark", "problem", str(err), "see the checks above")
        return
    yield Check("spark", "ok", f"{spark.version} on {spark.sparkContext.master}")
    yield check_probe(probe_files(spark))


def check_probe(probe: Probe) -> Check:
    """How one small file fared in the warehouse."""
    reached = f"with {probe.file_io.rpartition('.')[2]}"
    if not probe.failed:
        return Check("files", "ok", f"one small file: {', '.join(probe.done)} {reached}")
    went = f"{', '.join(probe.done)} went well, then {probe.failed} failed" if probe.done else f"{probe.failed} failed"
    return Check("files", "problem", f"one small file: {went} {reached}: {probe.why}", _TO_DO[probe.failed])


_RIGHTS = "give whoever runs this the right to {} files below the warehouse; see docs/stores.md"
_TO_DO = {
    "write": "see that the address, the endpoint and the credentials are right, and " + _RIGHTS.format("write"),
    **{step: _RIGHTS.format(step) for step in ("read", "list", "delete")},
}
