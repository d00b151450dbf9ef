"""Iceberg's types as Arrow's, where a value is the same in both."""

from __future__ import annotations

import re

import pyarrow as pa

_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}
"""Iceberg's types whose values Arrow writes as Iceberg's own writers do."""

_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def arrow_type(kind: object) -> pa.DataType | None:
    """The type of a column, told as Iceberg's schemas tell it; None: nested, or one that only Spark knows.

    >>> arrow_type("decimal(12, 2)")
    Decimal128Type(decimal128(12, 2))
    """
    if not isinstance(kind, str):
        return None  # nested
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return _TYPES.get(kind)
