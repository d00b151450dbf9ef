"""What an Iceberg metadata file says of its table: snapshots with their times, and columns. Read without Spark.

Only files that lie in a folder of this machine are read; for others every answer is "not known". A page may show less,
it never waits for an object store.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_LARGEST = 32 * 1024 * 1024
"""Bytes; a larger metadata file is not read."""


@dataclass(frozen=True, slots=True)
class SnapshotAt:
    """A snapshot of a table, and when it was made."""

    id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    required: bool
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """What is of interest to people."""

    snapshots: tuple[SnapshotAt, ...] = ()
    """Those that led to the current one and have not expired, oldest first."""
    columns: tuple[Column, ...] = ()
    rows: int | None = None
    """Of the current snapshot, as it says of itself."""

    def at(self, snapshot_id: int | None) -> datetime | None:
        return next((each.at for each in self.snapshots if each.id == snapshot_id), None)

    def behind(self, snapshot_id: int | None) -> int | None:
        """How many snapshots came after this one; None: it is not among those that are known."""
        if snapshot_id is None:
            return len(self.snapshots)
        places = [i for i, each in enumerate(self.snapshots) if each.id == snapshot_id]
        return len(self.snapshots) - 1 - places[-1] if places else None

    def first_after(self, snapshot_id: int | None) -> datetime | None:
        """When the first change was made that this snapshot does not have."""
        behind = self.behind(snapshot_id)
        return self.snapshots[-behind].at if behind else None


def parse(text: str) -> TableMetadata:
    """Read the JSON of a metadata file.

    >>> parse('{"snapshots": [{"snapshot-id": 7, "timestamp-ms": 0}], "current-snapshot-id": 7}').behind(7)
    0
    """
    document = json.loads(text)
    by_id = {each["snapshot-id"]: each for each in document.get("snapshots") or ()}
    current = document.get("current-snapshot-id")
    chain: list[dict[str, Any]] = []
    while current in by_id and len(chain) <= len(by_id):
        chain.append(by_id[current])
        current = by_id[current].get("parent-snapshot-id")
    summary = chain[0].get("summary", {}) if chain else {}
    rows = _rows(summary, int(document.get("format-version", 1)))
    return TableMetadata(
        snapshots=tuple(SnapshotAt(each["snapshot-id"], _moment(each["timestamp-ms"])) for each in reversed(chain)),
        columns=_columns(document),
        rows=rows,
    )


def _rows(summary: dict[str, Any], format_version: int) -> int | None:
    """How many rows a snapshot has, as far as it says so itself."""
    records = summary.get("total-records")
    if records is None:
        return None
    if not int(summary.get("total-delete-files", 0)):
        return int(records)
    # Deletion vectors name each row once; delete files of format 2 may name one twice, or by its values.
    exact = format_version >= 3 and not int(summary.get("total-equality-deletes", 0))
    return int(records) - int(summary.get("total-position-deletes", 0)) if exact else None


class MetadataFiles:
    """Metadata files by their address. They are never changed, so what was read is kept."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, TableMetadata | None] = OrderedDict()

    def __call__(self, location: str) -> TableMetadata | None:
        """None: it is not a file of this machine, or it cannot be read any more."""
        with self._lock:
            if location in self._known:
                self._known.move_to_end(location)
                return self._known[location]
        found = _read(location)
        with self._lock:
            self._known[location] = found
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found


def _read(location: str) -> TableMetadata | None:
    path = local_path(location)
    try:
        if path is None or path.stat().st_size > _LARGEST:
            return None
        raw = path.read_bytes()
        return parse((gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode())
    except (OSError, ValueError, KeyError, TypeError):
        # Expired, moved, or not what it seems: less is shown, and the catalog is asked for the rest.
        return None


def local_path(location: str) -> Path | None:
    """Where a location is on this machine, if it is.

    >>> str(local_path("file:/lake/t/metadata/1.json")), local_path("s3://lake/t/metadata/1.json")
    ('/lake/t/metadata/1.json', None)
    """
    if location.startswith("/"):
        return Path(location)
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)


def _columns(document: dict[str, Any]) -> tuple[Column, ...]:
    schemas = {each.get("schema-id", 0): each for each in document.get("schemas") or ()}
    schema = schemas.get(document.get("current-schema-id", 0), document.get("schema") or {})
    return tuple(
        Column(each["name"], _type(each["type"]), bool(each.get("required")), each.get("doc"))
        for each in schema.get("fields", ())
    )


def _type(found: Any) -> str:
    """A type as Spark writes it."""
    if isinstance(found, str):
        return {"long": "bigint", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"}.get(found, found)
    match found.get("type"):
        case "list":
            return f"array<{_type(found['element'])}>"
        case "map":
            return f"map<{_type(found['key'])}, {_type(found['value'])}>"
        case "struct":
            parts = (f"{each['name']}: {_type(each['type'])}" for each in found["fields"])
            return f"struct<{', '.join(parts)}>"
        case other:
            return str(other)
