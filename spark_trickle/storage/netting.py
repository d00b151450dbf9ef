"""Netting of weighted rows by their contents: rows that were both inserted and deleted cancel.

Spark's GROUP BY takes 0.0 and -0.0 for one value and gives back only one of them, and does not group by maps that hold
some types. So each column is grouped in an encoded form that keeps every value apart, and is decoded afterwards. Rows
that are not grouped are never touched by this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.names import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def net(frame: DataFrame) -> DataFrame:
    """One row for each distinct row whose weights do not add up to nothing, with their sum."""
    columns = [field for field in frame.schema.fields if field.name != WEIGHT]
    weight = F.sum(quote(WEIGHT))
    if not columns:
        return frame.agg(weight.alias(WEIGHT)).where(f"{WEIGHT} <> 0")
    keys = [_encode(F.col(quote(field.name)), field.dataType).alias(f"k{i}") for i, field in enumerate(columns)]
    grouped = frame.groupBy(*keys).agg(weight.alias(WEIGHT)).where(f"{WEIGHT} <> 0")
    decoded = [_decode(F.col(f"k{i}"), field.dataType).alias(field.name) for i, field in enumerate(columns)]
    return grouped.select(*decoded, WEIGHT)


def _plain(type_: DataType) -> bool:
    """Whether GROUP BY tells values of this type apart as they are."""
    match type_:
        case FloatType() | DoubleType() | MapType():
            return False
        case ArrayType():
            return _plain(type_.elementType)
        case StructType():
            return all(_plain(field.dataType) for field in type_.fields)
        case _:
            return True


def _encode(value: Column, type_: DataType) -> Column:
    if _plain(type_):
        return value
    match type_:
        case FloatType() | DoubleType():
            # Only a zero is turned into text, which shows its sign.
            negative = F.coalesce((value == F.lit(0.0)) & value.cast("string").startswith("-"), F.lit(False))
            return F.struct(value.alias("v"), negative.alias("negative"))
        case ArrayType():
            element = type_.elementType
            return F.transform(value, lambda item: _encode(item, element))
        case MapType():
            key, item = type_.keyType, type_.valueType
            # In their own order: a row has to come out as it went in, or it is not found where it is to be removed.
            return F.transform(
                F.map_entries(value),
                lambda entry: F.struct(
                    _encode(entry["key"], key).alias("key"), _encode(entry["value"], item).alias("value")
                ),
            )
        case StructType():
            fields = [_encode(value[field.name], field.dataType).alias(f"f{i}") for i, field in enumerate(type_.fields)]
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            return value


def _decode(value: Column, type_: DataType) -> Column:
    if _plain(type_):
        return value
    match type_:
        case FloatType() | DoubleType():
            zero = F.lit(-0.0).cast(type_)
            return F.when(value["negative"], zero).otherwise(value["v"])
        case ArrayType():
            element = type_.elementType
            return F.transform(value, lambda item: _decode(item, element))
        case MapType():
            key, item = type_.keyType, type_.valueType
            entries = F.transform(
                value,
                lambda entry: F.struct(
                    _decode(entry["key"], key).alias("key"), _decode(entry["value"], item).alias("value")
                ),
            )
            return F.map_from_entries(entries)
        case StructType():
            fields = [_decode(value[f"f{i}"], field.dataType).alias(field.name) for i, field in enumerate(type_.fields)]
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            return value
