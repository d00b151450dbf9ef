"""How much of a table a key range leaves to read, by the bounds that Iceberg keeps of each file's columns.

A range that spares no file is worse than none: Spark compiles its literals into the code that reads the table, which is
new and cold each time, and asks it of every row.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from spark_trickle.names import TableName
from spark_trickle.storage.far_dates import iso
from spark_trickle.storage.iceberg import Bulk, Java, counts, java_class, load, static
from spark_trickle.storage.newest import Newest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_FILES = 2_000
"""Tables with more files are not looked at: Spark's planning of the scan skips what it can."""
MOST_KNOWN_FILES = 20_000
"""Of all tables together: the JVM keeps the bounds of each file's columns."""

_METHODS = "java.lang.invoke.MethodHandle"
_PREDICATE = "org.apache.iceberg.relocated.com.google.common.base.Predicate"
_ITERABLES = "org.apache.iceberg.relocated.com.google.common.collect.Iterables"
_EVALUATOR = "org.apache.iceberg.expressions.InclusiveMetricsEvaluator"


@dataclass(frozen=True, slots=True)
class _Files:
    listed: Java
    count: int


class FileBounds:
    """Files of versions of tables that were asked about before. Any thread may ask."""

    def __init__(self, most_files: int = MOST_KNOWN_FILES) -> None:
        self._known: Newest[tuple[str, int], _Files] = Newest(
            most_files, lambda files: 1 + files.count, family=lambda version: version[0]
        )

    def share(self, spark: SparkSession, name: TableName, column: str, ranges: Sequence[tuple[Any, Any]]) -> float:
        """The part of a table's rows that lies in files which may hold a value within the ranges.

        0 where nobody can tell, so that the ranges are tried.
        """
        table = load(spark, name)
        schema, snapshot = table.schema(), table.currentSnapshot()
        field = schema.caseInsensitiveFindField(column)
        condition = None if field is None else _json(str(field.name()), str(field.type()), ranges)
        if condition is None or snapshot is None:
            return 0.0
        total, files = counts(snapshot, "total-records", "total-data-files")
        if not total or files is None or files > MOST_FILES:
            return 0.0
        bulk = Bulk(spark)
        listed = self._files(bulk, table, int(snapshot.snapshotId()))
        wanted = static(spark, "org.apache.iceberg.expressions.ExpressionParser").fromJson(condition, schema)
        left = static(spark, _ITERABLES).filter(listed, _predicate(spark, static(spark, _EVALUATOR)(schema, wanted)))
        return sum(map(int, bulk.read(bulk.to_list(left), "ContentFile.recordCount"))) / total

    def _files(self, bulk: Bulk, table: Java, snapshot: int) -> Java:
        version = (str(table.uuid()), snapshot)
        found = self._known.get(version)
        if found is not None:
            return found.listed
        tasks = table.newScan().useSnapshot(snapshot).includeColumnStats().planFiles()
        try:
            listed = bulk.to_list(bulk.map(bulk.to_list(tasks), "ContentScanTask.file"))
        finally:
            tasks.close()
        self._known.put(version, _Files(listed, int(listed.size())))
        return listed


def _predicate(spark: SparkSession, evaluator: Java) -> Java:
    """The evaluator's question as a Java function, so that all files are asked in one call."""
    gateway: Any = spark.sparkContext._gateway
    asked = gateway.new_array(static(spark, "java.lang.Class"), 1)
    asked[0] = java_class(spark, "org.apache.iceberg.ContentFile")
    method = java_class(spark, _EVALUATOR).getMethod("eval", asked)
    handle = static(spark, f"{_METHODS}s").publicLookup().unreflect(method).bindTo(evaluator)
    return static(spark, f"{_METHODS}Proxies").asInterfaceInstance(java_class(spark, _PREDICATE), handle)


_KINDS = {"int": int, "long": int, "date": np.datetime64, "string": str}
"""Types of columns, and of values that Iceberg's conditions take for them."""
_LEAST_INT, _MOST_INT = -(2**31), 2**31 - 1


def _json(column: str, kind: str, ranges: Sequence[tuple[Any, Any]]) -> str | None:
    """The ranges as Iceberg writes conditions; None: of a type that is not looked at."""
    wanted = _KINDS.get(kind)
    if wanted is None or any(type(value) is not wanted for both in ranges for value in both):
        return None
    if kind == "int":  # it may be compared with longer ones
        ranges = [(max(low, _LEAST_INT), min(high, _MOST_INT)) for low, high in ranges]
        ranges = [(low, high) for low, high in ranges if low <= high] or [(_MOST_INT, _MOST_INT)]
    return json.dumps(reduce(_either, [_within(column, low, high) for low, high in ranges]))


def _within(column: str, low: Any, high: Any) -> dict[str, Any]:
    at_least = {"type": "gt-eq", "term": column, "value": _value(low)}
    at_most = {"type": "lt-eq", "term": column, "value": _value(high)}
    return {"type": "and", "left": at_least, "right": at_most}


def _either(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {"type": "or", "left": one, "right": other}


def _value(value: Any) -> Any:
    return iso(value) if isinstance(value, np.datetime64) else value
