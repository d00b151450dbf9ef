"""The columns of a Delta table in Iceberg's terms, and what of Delta cannot be said in them.

Delta knows columns by their names, and by numbers only where column mapping is on. Iceberg wants numbers: without a
mapping they are made of the names, so that the same name is the same column in every version and in every process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from spark_trickle.elsewhere.delta_log import Json, LogError, State
from spark_trickle.model.borrowed import Shape

READABLE = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
"""Features of tables that a reader has to know, and that we do."""

_TYPES = {
    "string": "string",
    "long": "long",
    "integer": "int",
    "short": "int",
    "byte": "int",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_NARROW = ("byte", "short", "integer", "long")
_LIST_NAMES = ["element", "array", "array_element"]
_MAPPING = "delta.columnMapping."
_TAKEN = 0x3FFFFFFF


@dataclass(slots=True)
class _Numbers:
    """A number for each column, from where it is."""

    mapped: bool
    taken: dict[int, str] = field(default_factory=dict)

    def of(self, path: Sequence[str], metadata: Json) -> int:
        if self.mapped:
            return int(metadata[f"{_MAPPING}id"])
        shown = "\x1f".join(path)
        number = crc32(shown.encode()) & _TAKEN or 1
        while self.taken.setdefault(number, shown) != shown:
            number = (number + 1) & _TAKEN or 1
        return number


def mapping_mode(state: State) -> str:
    return str((state.metadata.get("configuration") or {}).get(f"{_MAPPING}mode", "none")).lower()


def require_readable(state: State) -> None:
    """LogError: reading it rightly takes what we do not know."""
    reader = int(state.protocol.get("minReaderVersion", 1))
    unknown = sorted(set(state.protocol.get("readerFeatures") or ()) - READABLE)
    if reader > 3 or unknown:
        what = f"its features {', '.join(unknown)}" if unknown else f"reader version {reader}"
        raise LogError(f"{what} cannot be read here")


def shape_of(state: State) -> Shape:
    """LogError: a column has a type that cannot be read here."""
    mapped = mapping_mode(state) in ("name", "id")
    text = state.metadata["schemaString"]
    numbers = _Numbers(mapped)
    fields, mapping = _fields(json.loads(text)["fields"], (), numbers)
    partitioned_by = tuple(state.metadata.get("partitionColumns") or ())
    told = json.dumps([fields, mapping, partitioned_by])
    number = crc32(told.encode()) & 0x7FFFFFFF
    return Shape(number, {"type": "struct", "schema-id": number, "fields": fields}, tuple(mapping), partitioned_by)


def is_renumbered(one: Shape, other: Shape) -> bool:
    """Whether columns that files call the same have other numbers: then one table cannot have both versions."""
    before, after = _by_path(one.mapping), _by_path(other.mapping)
    return any(after.get(path, number) != number for path, number in before.items())


def _by_path(mapping: Sequence[Mapping[str, Any]], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for each in mapping:
        here = (*path, each["names"][0])
        found |= {here: each["field-id"], **_by_path(each.get("fields", ()), here)}
    return found


def physical_names(state: State, columns: Sequence[str]) -> list[str]:
    """How the log calls columns."""
    if mapping_mode(state) not in ("name", "id"):
        return list(columns)
    listed = json.loads(state.metadata["schemaString"])["fields"]
    names = {each["name"]: each["metadata"][f"{_MAPPING}physicalName"] for each in listed}
    return [names[column] for column in columns]


def narrow_columns(state: State) -> list[str]:
    """Columns of types that Iceberg does not have, which are read as INT."""
    fields = json.loads(state.metadata["schemaString"])["fields"]
    return [each["name"] for each in fields if each["type"] in ("byte", "short")]


def _fields(
    listed: Sequence[Json], path: tuple[str, ...], numbers: _Numbers
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    fields, mapping = [], []
    for each in listed:
        metadata: Json = each.get("metadata") or {}
        here = (*path, each["name"])
        _require_plain(here, each["type"], metadata)
        number = numbers.of(here, metadata)
        kind, below = _type(each["type"], here, numbers)
        fields.append({"id": number, "name": each["name"], "required": False, "type": kind})
        physical = str(metadata.get(f"{_MAPPING}physicalName", each["name"])) if numbers.mapped else each["name"]
        mapping.append({"field-id": number, "names": [physical], **({"fields": below} if below else {})})
    return fields, mapping


def _type(kind: Any, path: tuple[str, ...], numbers: _Numbers) -> tuple[Any, list[dict[str, Any]]]:
    """A type in Iceberg's JSON form, and the name mapping of what is in it."""
    if isinstance(kind, str):
        if kind.startswith("decimal"):
            return (kind if "(" in kind else "decimal(10,0)").replace(" ", ""), []
        if kind not in _TYPES:
            raise LogError(f"column '{'.'.join(path)}' is of type {kind}, which cannot be read here")
        return _TYPES[kind], []
    if kind["type"] == "struct":
        fields, mapping = _fields(kind["fields"], path, numbers)
        return {"type": "struct", "fields": fields}, mapping
    if numbers.mapped:
        raise LogError(
            f"column '{path[0]}' is an array or a map, and with column mapping their parts have no numbers in its files"
        )
    if kind["type"] == "array":
        element, below = _inner(kind["elementType"], (*path, "element"), numbers)
        below["names"] = _LIST_NAMES
        told = {"type": "list", "element-id": below["field-id"], "element-required": False, "element": element}
        return told, [below]
    key, of_key = _inner(kind["keyType"], (*path, "key"), numbers)
    value, of_value = _inner(kind["valueType"], (*path, "value"), numbers)
    told = {"type": "map", "key-id": of_key["field-id"], "key": key}
    told |= {"value-id": of_value["field-id"], "value-required": False, "value": value}
    return told, [of_key, of_value]


def _inner(kind: Any, path: tuple[str, ...], numbers: _Numbers) -> tuple[Any, dict[str, Any]]:
    # No column of a struct has such a path: it would have to be a struct and something else.
    number = numbers.of((*path, ""), {})
    made, below = _type(kind, path, numbers)
    return made, {"field-id": number, "names": [path[-1]], **({"fields": below} if below else {})}


def _require_plain(path: tuple[str, ...], kind: Any, metadata: Mapping[str, Any]) -> None:
    """Types that look plain in the schema, and mean more."""
    shown = ".".join(path)
    if "char(" in (text := str(metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")).lower()).replace("varchar(", ""):
        raise LogError(f"column '{shown}' is of type {text}, which cannot be read here")
    if metadata.get("__COLLATIONS"):
        raise LogError(f"column '{shown}' has a collation, which cannot be read here")
    for change in metadata.get("delta.typeChanges") or ():
        before, after = str(change.get("fromType")), str(change.get("toType"))
        wider = before in _NARROW and after in _NARROW
        scales = {each.rpartition(",")[2] for each in (before, after)}
        wider = wider or (before, after) == ("float", "double")
        wider = wider or (before.startswith("decimal") and after.startswith("decimal") and len(scales) == 1)
        if not wider:
            raise LogError(f"column '{shown}' was widened from {before} to {after}, which cannot be read here")
