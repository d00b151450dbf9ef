"""Manifests that are written for other tables' files, read by somebody else: PyIceberg."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFileContent, ManifestContent, read_manifest_list

from spark_trickle.model.borrowed import BorrowedVersion, DataFile, Deletes, Shape
from spark_trickle.storage.manifests import UnreadableValueError, manifest_list, manifests_of, partition_spec

KINDS: dict[str, tuple[str, str, Any]] = {
    "s": ("string", "é=%", "é=%"),
    "n": ("int", "-7", -7),
    "big": ("long", "9223372036854775807", 2**63 - 1),
    "f": ("double", "-0.5", -0.5),
    "b": ("boolean", "true", True),
    "d": ("date", "0999-12-31", (date(999, 12, 31) - date(1970, 1, 1)).days),
    "at": ("timestamptz", "1969-12-31T23:59:59.999999Z", -1),
    "local": (
        "timestamp",
        "2026-03-01 10:00:00",
        int(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp()),
    ),
    "p": ("decimal(10,2)", "-12.50", Decimal("-12.50")),
}


def shape(kinds: dict[str, str]) -> Shape:
    fields = [
        {"id": at + 1, "name": name, "required": False, "type": kind} for at, (name, kind) in enumerate(kinds.items())
    ]
    return Shape(7, {"type": "struct", "schema-id": 7, "fields": fields}, (), tuple(kinds))


def test_files_partitions_and_deletion_vectors_are_read_as_they_were_written(tmp_path: Path) -> None:
    vector = Deletes("/t/deletion_vector_1.bin", 1, 48, 6)
    values = tuple(text for _, text, _ in KINDS.values())
    files = (DataFile("/t/a.parquet", 100, 30, values, vector), DataFile("/t/b.parquet", 50, 3, ("",) * len(KINDS)))
    version = BorrowedVersion("u", 300, "0", shape({name: kind for name, (kind, _, _) in KINDS.items()}), files)
    spec = partition_spec(version.shape, 0)
    made = []
    for manifest in manifests_of(version, spec):
        path = tmp_path / f"{manifest.content}.avro"
        path.write_bytes(manifest.body)
        made.append((str(path), manifest))
    (tmp_path / "list.avro").write_bytes(manifest_list(version.id, 0, made))
    io = PyArrowFileIO()
    data, deletes = list(read_manifest_list(io.new_input(str(tmp_path / "list.avro"))))
    assert (data.content, deletes.content) == (ManifestContent.DATA, ManifestContent.DELETES)
    assert (data.existing_files_count, data.existing_rows_count) == (2, 33)
    first, second = data.fetch_manifest_entry(io)
    assert (first.data_file.file_path, first.data_file.record_count, first.snapshot_id) == (
        "/t/a.parquet",
        30,
        version.id,
    )
    found = [first.data_file.partition[at] for at in range(len(KINDS))]
    assert found == [1_000_000 * value if kind == "timestamp" else value for kind, _, value in KINDS.values()]
    assert [second.data_file.partition[at] for at in range(len(KINDS))] == [None] * len(KINDS)
    (gone,) = deletes.fetch_manifest_entry(io)
    assert gone.data_file.content is DataFileContent.POSITION_DELETES
    assert (gone.data_file.file_path, gone.data_file.record_count) == (vector.path, 6)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("int", "x"), ("timestamptz", "2026-03-01 10:00:00"), ("boolean", "maybe"), ("decimal(3,1)", "1.25")],
)
def test_a_partition_value_that_cannot_be_read_is_told(kind: str, text: str) -> None:
    """A moment without a time zone is another one for every reader."""
    version = BorrowedVersion("u", 0, "0", shape({"c": kind}), (DataFile("/t/a", 1, 1, (text,)),))
    with pytest.raises(UnreadableValueError, match=f"'{text}' of partition column 'c' is no"):
        manifests_of(version, partition_spec(version.shape, 0))
