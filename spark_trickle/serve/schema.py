"""Types of ours as JSON Schema: what `views.as_json` makes of a value, said of its type.

Made from the annotations of the values themselves, so that it cannot say anything else.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Union, get_args, get_origin

from spark_trickle.model.frontier import Frontier
from spark_trickle.names import TableName

Schema = dict[str, Any]

_PLAIN: dict[object, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    timedelta: {"type": "number", "description": "seconds"},
    Decimal: {"type": "string"},
    TableName: {"type": "string"},
    Frontier: {
        "type": "object",
        "description": "snapshot id by source",
        "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    object: {},
    Any: {},
}


def schema_of(found: Any, named: dict[str, Schema]) -> Schema:
    """The schema of a type; those of dataclasses are put into `named` and referred to.

    >>> schema_of(tuple[int, ...], {})
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    if found in _PLAIN:
        return dict(_PLAIN[found])
    origin, parts = get_origin(found), get_args(found)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(part, named) for part in parts]}
    if origin in (tuple, list, set, frozenset):
        return {"type": "array", "items": schema_of(parts[0], named)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1], named)}
    if isinstance(found, type) and issubclass(found, Enum):
        return {"type": "string", "enum": [each.value for each in found]}
    if isinstance(found, type) and is_dataclass(found):
        return _of_dataclass(found, named)
    raise TypeError(f"{found} has no schema")


def _of_dataclass(found: type, named: dict[str, Schema]) -> Schema:
    name = found.__name__
    if name not in named:
        named[name] = {}
        hints = typing.get_type_hints(found)
        properties = {field.name: schema_of(hints[field.name], named) for field in fields(found)}
        first = (found.__doc__ or "").strip().split("\n\n")[0]
        # Without a docstring, Python writes the signature there.
        described = {} if first.startswith(f"{name}(") else {"description": " ".join(first.split())}
        named[name] = {
            "type": "object",
            **described,
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    return {"$ref": f"#/components/schemas/{name}"}
