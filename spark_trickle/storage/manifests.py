"""Iceberg's manifests for the files of a version that is not Iceberg's: which they are, and what is deleted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from spark_trickle.model.borrowed import BorrowedVersion, DataFile, Shape
from spark_trickle.storage.avro import Schema, avro_file, record, union

SEQUENCE = 1
"""All files have the same: deletion vectors name the file that they belong to."""

_DATA, _DELETES = 0, 1
_PARTITION_FIELD = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AVRO: Mapping[str, Schema] = {
    "string": "string",
    "long": "long",
    "int": "int",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
}

_LIST = record(
    "manifest_file",
    [
        (500, "manifest_path", "string"),
        (501, "manifest_length", "long"),
        (502, "partition_spec_id", "int"),
        (517, "content", "int"),
        (515, "sequence_number", "long"),
        (516, "min_sequence_number", "long"),
        (503, "added_snapshot_id", "long"),
        (504, "added_files_count", "int"),
        (505, "existing_files_count", "int"),
        (506, "deleted_files_count", "int"),
        (512, "added_rows_count", "long"),
        (513, "existing_rows_count", "long"),
        (514, "deleted_rows_count", "long"),
    ],
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest, not yet at any place."""

    content: int
    body: bytes
    files: int
    rows: int


class UnreadableValueError(ValueError):
    """The value of a partition cannot be read: which, in words."""


def partition_spec(shape: Shape, number: int) -> dict[str, Any]:
    """How the files of a shape are partitioned, in Iceberg's JSON form."""
    ids = {each["name"].lower(): each["id"] for each in shape.schema["fields"]}
    fields = [
        {"source-id": ids[name.lower()], "field-id": _PARTITION_FIELD + at, "name": name, "transform": "identity"}
        for at, name in enumerate(shape.partitioned_by)
    ]
    return {"spec-id": number, "fields": fields}


def manifests_of(version: BorrowedVersion, spec: Mapping[str, Any]) -> list[Manifest]:
    """One for the data files, one for what is deleted of them."""
    kinds = _partition_kinds(version.shape)
    entry = _entry(kinds)
    about = {
        "schema": json.dumps(version.shape.schema),
        "schema-id": str(version.shape.id),
        "partition-spec": json.dumps(spec["fields"]),
        "partition-spec-id": str(spec["spec-id"]),
        "format-version": "3",
    }
    data = [_data_entry(version.id, file, kinds) for file in version.files]
    deletes = [_delete_entry(version.id, file, kinds) for file in version.files if file.deletes is not None]
    made = []
    for content, entries in ((_DATA, data), (_DELETES, deletes)):
        if entries:
            told = {**about, "content": "data" if content == _DATA else "deletes"}
            rows = sum(each["data_file"]["record_count"] for each in entries)
            made.append(Manifest(content, avro_file(entry, entries, told), len(entries), rows))
    return made


def manifest_list(snapshot: int, spec: int, manifests: Sequence[tuple[str, Manifest]]) -> bytes:
    """The list of a version's manifests, each with where it is."""
    entries = [
        {
            "manifest_path": path,
            "manifest_length": len(manifest.body),
            "partition_spec_id": spec,
            "content": manifest.content,
            "sequence_number": SEQUENCE,
            "min_sequence_number": SEQUENCE,
            "added_snapshot_id": snapshot,
            "added_files_count": 0,
            "existing_files_count": manifest.files,
            "deleted_files_count": 0,
            "added_rows_count": 0,
            "existing_rows_count": manifest.rows,
            "deleted_rows_count": 0,
        }
        for path, manifest in manifests
    ]
    return avro_file(_LIST, entries, {"format-version": "3", "snapshot-id": str(snapshot)})


def _entry(kinds: Sequence[tuple[str, str]]) -> dict[str, Any]:
    partition = record(
        "r102", [(_PARTITION_FIELD + at, f"p{at}", union(_avro(kind))) for at, (_, kind) in enumerate(kinds)]
    )
    data_file = record(
        "r2",
        [
            (134, "content", "int"),
            (100, "file_path", "string"),
            (101, "file_format", "string"),
            (102, "partition", partition),
            (103, "record_count", "long"),
            (104, "file_size_in_bytes", "long"),
            (143, "referenced_data_file", union("string")),
            (144, "content_offset", union("long")),
            (145, "content_size_in_bytes", union("long")),
        ],
    )
    return record(
        "manifest_entry",
        [
            (0, "status", "int"),
            (1, "snapshot_id", union("long")),
            (3, "sequence_number", union("long")),
            (4, "file_sequence_number", union("long")),
            (2, "data_file", data_file),
        ],
    )


def _told(snapshot: int, data_file: Mapping[str, Any]) -> dict[str, Any]:
    existing = {"status": 0, "snapshot_id": snapshot, "sequence_number": SEQUENCE, "file_sequence_number": SEQUENCE}
    return {**existing, "data_file": data_file}


def _data_entry(snapshot: int, file: DataFile, kinds: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return _told(
        snapshot,
        {
            "content": _DATA,
            "file_path": file.path,
            "file_format": "PARQUET",
            "partition": _partition(file, kinds),
            "record_count": file.rows,
            "file_size_in_bytes": file.size,
        },
    )


def _delete_entry(snapshot: int, file: DataFile, kinds: Sequence[tuple[str, str]]) -> dict[str, Any]:
    deletes = file.deletes
    assert deletes is not None
    return _told(
        snapshot,
        {
            "content": _DELETES,
            "file_path": deletes.path,
            "file_format": "PUFFIN",
            "partition": _partition(file, kinds),
            "record_count": deletes.rows,
            "file_size_in_bytes": deletes.offset + deletes.size,
            "referenced_data_file": file.path,
            "content_offset": deletes.offset,
            "content_size_in_bytes": deletes.size,
        },
    )


def _partition(file: DataFile, kinds: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {
        f"p{at}": _value(name, kind, value)
        for at, ((name, kind), value) in enumerate(zip(kinds, file.values, strict=True))
    }


def _partition_kinds(shape: Shape) -> list[tuple[str, str]]:
    kinds = {each["name"].lower(): each["type"] for each in shape.schema["fields"]}
    return [(name, kinds[name.lower()]) for name in shape.partitioned_by]


def _avro(kind: str) -> Schema:
    if not kind.startswith("decimal"):
        return _AVRO[kind]
    precision, scale = (int(part) for part in kind[8:-1].split(","))
    size = _decimal_size(precision)
    decimal = {"logicalType": "decimal", "precision": precision, "scale": scale}
    return {"type": "fixed", "name": f"decimal_{precision}_{scale}", "size": size, **decimal}


def _decimal_size(precision: int) -> int:
    """Bytes that hold any number of so many digits."""
    return math.ceil((math.log2(10**precision) + 1) / 8)


def _value(column: str, kind: str, text: str | None) -> Any:
    """The value of a partition column. An empty text is NULL, whatever the type."""
    if text is None or text == "":
        return None
    try:
        return _typed(kind, text)
    except (ValueError, KeyError, ArithmeticError) as err:
        raise UnreadableValueError(
            f"'{text}' of partition column '{column}' is no {kind} that can be read here"
        ) from err


def _typed(kind: str, text: str) -> Any:
    if kind == "string":
        return text
    if kind in ("int", "long"):
        return int(text)
    if kind in ("float", "double"):
        return float(text)
    if kind == "boolean":
        return {"true": True, "false": False}[text.lower()]
    if kind == "binary":
        return text.encode()
    if kind == "date":
        return (date.fromisoformat(text) - _EPOCH.date()).days
    if kind.startswith("decimal"):
        precision, scale = (int(part) for part in kind[8:-1].split(","))
        scaled = Decimal(text).scaleb(scale)
        if scaled != (unscaled := int(scaled)):
            raise ValueError(text)
        return unscaled.to_bytes(_decimal_size(precision), "big", signed=True)
    moment = datetime.fromisoformat(text)
    if (moment.tzinfo is None) != (kind == "timestamp"):
        raise ValueError(text)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)
