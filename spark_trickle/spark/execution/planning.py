"""How Spark plans the queries of a change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOR_CHANGES = {
    # Spark 4.1 fails ("key not found") on EXISTS and a union: when it looks for what else must be true of the union's
    # rows, and when it moves EXISTS as a value into the union's branches (two rules do). Our SQL needs none of them.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("PushProjectionThroughUnion", "CombineUnions")
    ),
    # Nor three EXISTS, one within another, that compare a field of a struct: what it made a column of, to read no more
    # of the struct than that, it forgets ("Could not find _extract_a").
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    # The JVM never compiles a method of more than 8,000 bytes: operators that do not fit into one are run one by one.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}
_FOR_SMALL_CHANGES = {
    # Adaptive execution runs each stage as a job of its own and plans again between them: on a change of some thousand
    # rows that takes longer than the work. The sizes that matter are known beforehand.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # What is at hand is sent to where large tables are. The usual 10 MB are some hundred thousand rows: of
    # more than that, fifteen million orders were sorted to meet them.
    "spark.sql.autoBroadcastJoinThreshold": "64MB",
}


@contextmanager
def planned_for(session: SparkSession, *, small: bool) -> Iterator[None]:
    """Let Spark plan for a change, and a small one if it is."""
    wanted = {**_FOR_CHANGES, **(_FOR_SMALL_CHANGES if small else {})}
    before = {key: session.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, former in before.items():
            if former is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, former)
