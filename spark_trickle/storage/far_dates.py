"""Dates and moments of all years. Python's own know the years 1 to 9999 only; Spark and Iceberg know some hundred
thousand more on either side, and people write them for "never" and "always".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def python_values(values: pa.Array) -> list[Any]:
    """Values without NULLs for Python to compare; dates and moments as numpy's, those of a time zone in UTC."""
    if pa.types.is_date32(values.type):
        return list(np.asarray(values.cast(pa.int32())).astype("datetime64[D]"))
    if pa.types.is_timestamp(values.type):
        micros = values.cast(pa.timestamp("us", tz=values.type.tz)).cast(pa.int64())
        return list(np.asarray(micros).astype("datetime64[us]"))
    return values.to_pylist()  # type: ignore[no-any-return]


def iso(value: np.datetime64) -> str | None:
    """A date or a moment as ISO 8601 writes it, and Java reads it; None: numpy has no such value.

    >>> iso(np.datetime64("2024-02-29")), iso(np.datetime64("12024-02-29", "D")), iso(np.datetime64("-0044-03-15", "D"))
    ('2024-02-29', '+12024-02-29', '-0044-03-15')
    """
    if np.isnat(value):  # the very first moment that Spark has
        return None
    text = str(value)
    year, dash, rest = text[1:].partition("-") if text.startswith("-") else text.partition("-")
    sign = "-" if text.startswith("-") else "+" if len(year) > len("2024") else ""
    return f"{sign}{year:0>4}{dash}{rest}"
