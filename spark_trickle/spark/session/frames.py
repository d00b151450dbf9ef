"""Values of ours as DataFrames, for SQL: one row a value, one column a field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from spark_trickle.spark.session.sessions import active

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES: list[tuple[type, t.DataType]] = [
    (bool, t.BooleanType()),
    (int, t.LongType()),
    (float, t.DoubleType()),
    (datetime, t.TimestampType()),
    (timedelta, t.DayTimeIntervalType()),
]


def frame_of(session: SparkSession, answer: object, as_json: Any) -> DataFrame:
    """A frame of one value, several, or text; nested values become JSON text."""
    with active(session):
        return _frame_of(session, answer, as_json)


def _frame_of(session: SparkSession, answer: object, as_json: Any) -> DataFrame:
    if isinstance(answer, (list, tuple)):
        rows: Sequence[object] = answer
    else:
        rows = [] if answer is None else [answer]
    if not rows or not is_dataclass(rows[0]):
        lines = [(str(row),) for row in rows]
        return session.createDataFrame(lines, t.StructType([t.StructField("result", t.StringType())]))
    names = [field.name for field in fields(rows[0])]
    columns = {name: [_plain(getattr(row, name), as_json) for row in rows] for name in names}
    schema = t.StructType([t.StructField(name, _type_of(columns[name])) for name in names])
    ready = {name: _fit(values, schema[name].dataType) for name, values in columns.items()}
    return session.createDataFrame(list(zip(*ready.values(), strict=True)), schema)


def _plain(value: object, as_json: Any) -> object:
    if isinstance(value, Enum):
        return str(value.value)
    if value is None or isinstance(value, (bool, int, float, str, datetime, timedelta)):
        return value
    return json.dumps(as_json(value), ensure_ascii=False)


def _type_of(values: list[object]) -> t.DataType:
    present = [value for value in values if value is not None]
    for kind, spark in _TYPES:
        if present and all(type(value) is kind or (kind is float and type(value) in (int, float)) for value in present):
            return spark
    return t.StringType()


def _fit(values: list[object], kind: t.DataType) -> list[object]:
    if isinstance(kind, t.StringType):
        return [None if value is None else str(value) for value in values]
    if isinstance(kind, t.DoubleType):
        return [float(value) if isinstance(value, (int, float)) else value for value in values]
    return values
