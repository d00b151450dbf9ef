"""Tables that are not Iceberg's, as tables of Iceberg: versions become snapshots, in metadata that we write for them.

Nothing of the table is copied: manifests name its own files, and lie in a folder of this process. What Iceberg's client
then reads, and what changed between two versions, is found as in any other table.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import UserError
from spark_trickle.model.borrowed import BorrowedVersion, Step
from spark_trickle.storage.iceberg import GONE, JavaTable, static
from spark_trickle.storage.manifests import (
    SEQUENCE,
    Manifest,
    UnreadableValueError,
    manifest_list,
    manifests_of,
    partition_spec,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    # Executors do not see the folder of this process.
    "read.data-planning-mode": "local",
    "read.delete-planning-mode": "local",
}


@dataclass(frozen=True, slots=True)
class _Written:
    paths: tuple[Path, ...]
    """The list of its manifests, and those."""
    has_deletes: bool


class Borrowing:
    """Makes such tables. Any thread may ask."""

    def __init__(self, most: int = 1_000) -> None:
        """Args:
        most: versions whose manifests are kept; those that were asked for least recently go.
        """
        self._most = most
        self._folder: Path | None = None
        self._written: dict[tuple[str, int, int], _Written] = {}
        self._lock = threading.Lock()

    def table(
        self, spark: SparkSession, shown: str, location: str, steps: Sequence[Step], gone: Mapping[int, str]
    ) -> JavaTable:
        """A table at the last of some versions.

        Args:
            shown: its name, in errors.
            location: what its version is called.
            gone: versions that cannot be read, by their ids, and why.
        """
        with self._lock:
            try:
                metadata = self._metadata(steps, gone)
            except UnreadableValueError as err:
                raise UserError(f"'{shown}' cannot be read: {err}") from err
        parsed = static(spark, "org.apache.iceberg.TableMetadataParser").fromJson(location, json.dumps(metadata))
        java: Any = spark._jsparkSession
        io = static(spark, "org.apache.iceberg.hadoop.HadoopFileIO")(java.sessionState().newHadoopConf())
        places = static(spark, "org.apache.iceberg.LocationProviders").locationsFor(
            str(metadata["location"]), parsed.properties()
        )
        operations = static(spark, "org.apache.iceberg.StaticTableOperations")(parsed, io, places)
        return static(spark, "org.apache.iceberg.BaseTable")(operations, shown)

    def _metadata(self, steps: Sequence[Step], gone: Mapping[int, str]) -> dict[str, Any]:
        shapes = {step.version.shape.id: step.version.shape for step in steps}
        by_partitions: dict[tuple[str, ...], int] = {}
        for shape in shapes.values():
            by_partitions.setdefault(_spec_key(shape.schema, shape.partitioned_by), len(by_partitions))
        last = steps[-1].version
        specs: dict[int, dict[str, Any]] = {}
        snapshots, has_deletes = [], False
        before: int | None = None
        for step in steps:
            version = step.version
            number = by_partitions[_spec_key(version.shape.schema, version.shape.partitioned_by)]
            spec = specs.setdefault(number, partition_spec(version.shape, number))
            written = self._write(version, spec)
            has_deletes = has_deletes or written.has_deletes
            snapshots.append(_snapshot(step, f"file:{written.paths[0]}", before if step.linear else None))
            before = version.id
        spec_of_last = by_partitions[_spec_key(last.shape.schema, last.shape.partitioned_by)]
        properties = {
            **_SETTINGS,
            "schema.name-mapping.default": json.dumps(_mapping([step.version for step in steps])),
            **{f"{GONE}.{version}": why for version, why in gone.items()},
        }
        return {
            "format-version": 3 if has_deletes else 2,
            "table-uuid": last.uuid,
            "location": str(self._place()),
            "last-sequence-number": SEQUENCE,
            "last-updated-ms": 0,
            "last-column-id": max(_numbers([dict(shape.schema) for shape in shapes.values()]), default=0),
            "current-schema-id": last.shape.id,
            "schemas": [dict(shape.schema) for shape in shapes.values()],
            "default-spec-id": spec_of_last,
            "partition-specs": list(specs.values()),
            "last-partition-id": 1000 + max((len(shape.partitioned_by) for shape in shapes.values()), default=0),
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": properties,
            "current-snapshot-id": last.id,
            "refs": {"main": {"snapshot-id": last.id, "type": "branch"}},
            "snapshots": snapshots,
            **({"next-row-id": 0} if has_deletes else {}),
        }

    def _write(self, version: BorrowedVersion, spec: Mapping[str, Any]) -> _Written:
        """Put the manifests of a version where Iceberg finds them."""
        key = (version.uuid, version.id, int(spec["spec-id"]))
        known = self._written.pop(key, None)
        if known is None:
            name = blake2b(repr((key, version.shape.id)).encode(), digest_size=12).hexdigest()
            made: list[tuple[str, Manifest]] = []
            for manifest in manifests_of(version, spec):
                path = self._place() / f"{name}-m{manifest.content}.avro"
                path.write_bytes(manifest.body)
                made.append((f"file:{path}", manifest))
            listed = self._place() / f"{name}.avro"
            listed.write_bytes(manifest_list(version.id, int(spec["spec-id"]), made))
            manifests = (Path(path.removeprefix("file:")) for path, _ in made)
            known = _Written((listed, *manifests), any(manifest.content for _, manifest in made))
        self._written[key] = known
        while len(self._written) > self._most:
            for path in self._written.pop(next(iter(self._written))).paths:
                path.unlink(missing_ok=True)
        return known

    def _place(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="spark-trickle-borrowed-"))
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder


def _spec_key(schema: Mapping[str, Any], partitioned_by: Sequence[str]) -> tuple[str, ...]:
    ids = {each["name"].lower(): str(each["id"]) for each in schema["fields"]}
    return tuple(f"{ids[name.lower()]} {name}" for name in partitioned_by)


def _snapshot(step: Step, path: str, parent: int | None) -> dict[str, Any]:
    version = step.version
    deleted = sum(file.deletes.rows for file in version.files if file.deletes is not None)
    return {
        "snapshot-id": version.id,
        **({} if parent is None else {"parent-snapshot-id": parent}),
        "sequence-number": SEQUENCE,
        "timestamp-ms": 0,
        "manifest-list": path,
        "schema-id": version.shape.id,
        "summary": {
            "operation": step.follows.value,
            "total-records": str(sum(file.rows for file in version.files)),
            "total-position-deletes": str(deleted),
            "total-data-files": str(len(version.files)),
        },
    }


def _mapping(versions: Sequence[BorrowedVersion]) -> list[Any]:
    """The names of columns in files of all versions; the latest version's where it has the column."""
    found: dict[int, Any] = {}
    for version in versions:
        found.update({each["field-id"]: each for each in version.shape.mapping})
    return list(found.values())


def _numbers(schema: Any) -> list[int]:
    """All numbers of columns in a schema."""
    if isinstance(schema, Mapping):
        own = [int(schema[key]) for key in ("id", "element-id", "key-id", "value-id") if key in schema]
        return own + [number for value in schema.values() for number in _numbers(value)]
    return [number for value in schema for number in _numbers(value)] if isinstance(schema, list) else []
