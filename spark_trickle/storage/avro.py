"""Avro's file format, as far as Iceberg's manifests need it: writing records of one schema into one file."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Schema: TypeAlias = "str | Mapping[str, Any] | Sequence[Any]"

_MAGIC = b"Obj\x01"
_SYNC = bytes(range(16))


def avro_file(schema: Mapping[str, Any], records: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> bytes:
    """A whole file: the schema, what is said about it, one block of records."""
    header = {"avro.schema": json.dumps(schema), "avro.codec": "null", **about}
    out = bytearray(_MAGIC)
    out += _long(len(header))
    for key, value in header.items():
        out += _bytes(key.encode()) + _bytes(value.encode())
    out += b"\x00" + _SYNC
    if records:
        block = bytearray()
        for record in records:
            _encode(schema, record, block)
        out += _long(len(records)) + _long(len(block)) + block + _SYNC
    return bytes(out)


def _encode(schema: Schema, value: Any, out: bytearray) -> None:
    if isinstance(schema, Mapping):
        kind = schema["type"]
        if kind == "record":
            for each in schema["fields"]:
                _encode(each["type"], value.get(each["name"]), out)
        elif kind == "fixed":
            out += value
        else:
            _encode(kind, value, out)
    elif not isinstance(schema, str):
        # Null comes first in all unions here.
        out += _long(0 if value is None else 1)
        if value is not None:
            _encode(schema[1], value, out)
    else:
        out += _primitive(schema, value)


def _primitive(kind: str, value: Any) -> bytes:
    if kind in ("int", "long"):
        return _long(value)
    if kind == "string":
        return _bytes(value.encode())
    if kind == "bytes":
        return _bytes(value)
    if kind == "boolean":
        return b"\x01" if value else b"\x00"
    return struct.pack("<f" if kind == "float" else "<d", value)


def _bytes(value: bytes) -> bytes:
    return _long(len(value)) + value


def _long(value: int) -> bytes:
    """Zigzag, seven bits at a time."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def union(kind: Schema) -> list[Schema]:
    return ["null", kind]


def record(name: str, fields: Iterable[tuple[int, str, Schema]]) -> dict[str, Any]:
    """A record as Iceberg reads it: by the numbers of its fields."""
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": field, "type": kind, "field-id": number, **({} if _needed(kind) else {"default": None})}
            for number, field, kind in fields
        ],
    }


def _needed(kind: Schema) -> bool:
    return isinstance(kind, (str, Mapping))
