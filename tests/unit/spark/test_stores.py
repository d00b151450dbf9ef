"""Jars and settings that follow from where a warehouse is, with what users add."""

from __future__ import annotations

from pathlib import Path

import pytest

import spark_trickle
from spark_trickle.errors import ConfigError
from spark_trickle.spark.session.stores import (
    EXTENSIONS,
    IO_IMPL,
    PACKAGES,
    file_settings,
    packages_for,
    start_settings,
)


@pytest.mark.parametrize(
    ("warehouse", "bundle", "file_io"),
    [
        ("s3://b/x", "iceberg-aws-bundle", "S3FileIO"),
        ("S3A://b/x", "iceberg-aws-bundle", "S3FileIO"),
        ("gs://b/x", "iceberg-gcp-bundle", "GCSFileIO"),
        ("abfss://c@account.dfs.core.windows.net/x", "iceberg-azure-bundle", "ADLSFileIO"),
        ("wasb://c@account.blob.core.windows.net/x", "iceberg-azure-bundle", "ADLSFileIO"),
    ],
)
def test_the_scheme_of_a_warehouse_brings_its_bundle_and_its_file_io(warehouse: str, bundle: str, file_io: str) -> None:
    assert [bundle in package for package in packages_for(warehouse, {})] == [False] * len(PACKAGES) + [True]
    assert file_settings(warehouse, {})[IO_IMPL].endswith(file_io)


@pytest.mark.parametrize(
    ("settings", "bundles"),
    [
        ({"type": "rest", "uri": "http://host", "io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}, ["aws"]),
        ({"type": "hive", "uri": "thrift://host", "warehouse": "gs://b/x"}, ["gcp"]),
        ({"type": "glue"}, ["aws"]),
        ({"type": "rest", "uri": "http://host", "warehouse": "analytics"}, []),
        ({"type": "hadoop", "warehouse": "s3a://b/x", "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO"}, []),
    ],
)
def test_stores_of_other_catalogs_bring_their_bundles_too(settings: dict[str, str], bundles: list[str]) -> None:
    conf = {f"spark.sql.catalog.prod.{key}": value for key, value in settings.items()}
    conf["spark.sql.catalog.prod"] = "org.apache.iceberg.spark.SparkCatalog"
    brought = packages_for("/lake", conf)[len(PACKAGES) :]
    assert [package.split(":")[1] for package in brought] == [f"iceberg-{each}-bundle" for each in bundles]
    # One bundle is enough for the lake and for what it reads.
    assert packages_for("s3://b/x", conf).count(packages_for("s3://b/x", {})[-1]) == 1


@pytest.mark.parametrize("warehouse", ["/data/lake", "file:///data/lake", "hdfs://name/lake", "s3/lake"])
def test_what_hadoop_reaches_needs_nothing_more(warehouse: str) -> None:
    assert packages_for(warehouse, {}) == PACKAGES
    assert file_settings(warehouse, {}) == {}


def test_packages_and_extensions_of_users_are_added_to_ours() -> None:
    settings = start_settings(
        "/lake",
        {
            "spark.jars.packages": "org.example:tool:1.0, org.postgresql:postgresql:43.0.0",
            "spark.jars": "hdfs://jars/sqlite-jdbc-3.50.3.0.jar",
            "spark.sql.extensions": "org.example.Extensions",
            "spark.executor.cores": "3",
        },
    )
    packages = settings["spark.jars.packages"].split(",")
    assert packages == [PACKAGES[0], "org.example:tool:1.0", "org.postgresql:postgresql:43.0.0"]
    assert settings["spark.sql.extensions"] == f"{EXTENSIONS},org.example.Extensions"
    assert settings["spark.executor.cores"] == "3"


def test_a_file_io_that_the_user_chose_stays_and_no_bundle_is_brought_for_it() -> None:
    chosen = {IO_IMPL: "org.apache.iceberg.hadoop.HadoopFileIO", "spark.sql.catalog.lake.s3.endpoint": "http://here"}
    assert packages_for("s3a://b/x", chosen) == PACKAGES
    assert file_settings("s3a://b/x", {**chosen, "spark.executor.cores": "3"}) == chosen


@pytest.mark.parametrize("name", ["", ".uri", ".type", ".jdbc.password"])
def test_settings_that_would_move_the_lake_are_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"spark.sql.catalog.lake{name}' in spark_conf is set by the engine"):
        spark_trickle.connect(str(tmp_path / "lake"), spark_conf={f"spark.sql.catalog.lake{name}": "x"})
    assert list(tmp_path.iterdir()) == []
