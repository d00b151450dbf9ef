"""Counts Spark jobs by tag. On small changes jobs are the cost, so every refresh knows how many it took."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class JobCount:
    """Jobs that ran under one tag."""

    def __init__(self, spark: SparkSession, tag: str) -> None:
        self._spark = spark
        self.tag = tag

    def __call__(self) -> int:
        tracker = self._spark.sparkContext._jsc.sc().statusTracker()
        return len(tracker.getJobIdsForTag(self.tag))


@contextmanager
def counting_jobs(spark: SparkSession) -> Iterator[JobCount]:
    """Tag what this thread runs; broadcasts and subqueries inherit the tag."""
    tag = f"trickle-{uuid.uuid4().hex}"
    spark.sparkContext.addJobTag(tag)
    try:
        yield JobCount(spark, tag)
    finally:
        spark.sparkContext.removeJobTag(tag)
