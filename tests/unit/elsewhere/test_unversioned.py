"""Folders of files and tables of databases: what tells whether they have changed."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_trickle.elsewhere.files import LocalFiles
from spark_trickle.elsewhere.unversioned import (
    NoFilesError,
    Place,
    is_unversioned,
    kind_of,
    number_of,
    pin_files,
    pin_moment,
    place_in,
)


def pinned(place: Place) -> str:
    return pin_files(LocalFiles(), place)


def test_a_folder_is_the_same_until_a_file_that_spark_reads_is_another(tmp_path: Path) -> None:
    place = Place("parquet", str(tmp_path))
    (tmp_path / "_temporary" / "k=1").mkdir(parents=True)
    with pytest.raises(NoFilesError):
        pinned(place)
    file = tmp_path / "_k=1" / "a.parquet"
    file.parent.mkdir()
    file.write_bytes(b"one")
    seen = [pinned(place)]
    for hidden in (".a.parquet.crc", "_SUCCESS", "_temporary/k=1/b.parquet"):
        (tmp_path / hidden).write_bytes(b"x")
    assert pinned(place) == seen[0] and is_unversioned(seen[0])
    assert (kind_of(seen[0]), place_in(seen[0])) == ("parquet", str(tmp_path)) and number_of(seen[0]) > 0
    file.write_bytes(b"four")
    seen.append(pinned(place))
    os.utime(file, ns=(0, 1_000_000))
    seen.append(pinned(place))
    file.rename(tmp_path / "_k=1" / "b.parquet")
    seen.append(pinned(place))
    (tmp_path / "c.parquet").write_bytes(b"one")
    seen.append(pinned(place))
    assert len(set(seen)) == 5
    one_file = Place("parquet", str(tmp_path / "c.parquet"))
    assert pinned(one_file) == pinned(one_file)


def test_a_table_of_a_catalog_is_its_definition_and_its_partitions_too(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    plain = Place("csv", str(tmp_path / "table"), told="columns")
    empty = pinned(plain)
    assert empty != pinned(Place("csv", str(tmp_path / "table"), told="other columns"))
    outside = Place("csv", str(tmp_path / "table"), (str(tmp_path / "outside"),), "columns")
    assert pinned(outside) == empty, "a partition without a folder has no rows"
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.csv").write_text("1")
    assert pinned(outside) != empty == pinned(plain)
    with pytest.raises(FileNotFoundError):
        pinned(Place("csv", str(tmp_path / "nothing"), told="columns"))


def test_of_a_database_only_the_moment_of_the_look_is_known() -> None:
    moment = datetime(2026, 3, 1, 10, tzinfo=UTC)
    pin = pin_moment(Place("jdbc", "pg.public.`a#b:c`"), lambda: moment)
    assert kind_of(pin) == "jdbc" and place_in(pin) == "pg.public.`a#b:c`"
    assert datetime.fromtimestamp(number_of(pin) / 1000, UTC) == moment
