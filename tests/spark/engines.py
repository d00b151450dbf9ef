"""What tests of stream tables share: an engine in a folder of its own, and comparing tables as multisets.

Rows are compared by their printed form, which tells 0.0 from -0.0 and knows NaN. All engines use one SparkContext.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import spark_trickle
from spark_trickle.engine import Engine


@contextmanager
def opened(spark: SparkSession, folder: Path, **settings: Any) -> Iterator[Engine]:
    """An engine on a new lake in the folder."""
    with spark_trickle.connect(str(folder), spark=spark.newSession(), **settings) as engine:
        yield engine


def bag(frame: DataFrame) -> Counter[str]:
    """The rows of a frame as a multiset."""
    return Counter(repr(list(row)) for row in frame.collect())


def rows(engine: Engine, query: str) -> Counter[str]:
    """The answer to a query on the lake as everybody sees it."""
    return bag(engine.spark.sql(query))


def values(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    """The answer to a query, sorted, for comparing with literals."""
    return sorted((tuple(row) for row in engine.spark.sql(query).collect()), key=repr)


def assert_equals_query(engine: Engine, name: str) -> None:
    """The stream table holds its query's answer over the tables as they are now, told twice: by `verify`, and by
    running the query beside it. For a stream table that was just refreshed.
    """
    verification = engine.verify(name)
    assert verification.ok, verification
    table = next(each for each in engine.stream_tables() if str(each.name) == name)
    assert rows(engine, f"SELECT * FROM {table.name.sql}") == rows(engine, table.query)


def columns(engine: Engine, table: str) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in engine.spark.table(table).schema.fields]
