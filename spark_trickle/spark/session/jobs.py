"""Counts Spark jobs by tag, and shares Spark fairly between threads.

On small changes jobs are the cost, so every refresh knows how many it took.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POOL = "spark.scheduler.pool"


class _Pools:
    """Numbers of pools, used again and again: Spark forgets none that it has once heard of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: set[int] = set()

    @contextmanager
    def one(self) -> Iterator[int]:
        with self._lock:
            number = next(each for each in itertools.count() if each not in self._taken)
            self._taken.add(number)
        try:
            yield number
        finally:
            with self._lock:
                self._taken.remove(number)


_POOLS = _Pools()


class JobCount:
    """Jobs that ran under one tag."""

    def __init__(self, spark: SparkSession, tag: str) -> None:
        self._spark = spark
        self.tag = tag

    def __call__(self) -> int:
        tracker = self._spark.sparkContext._jsc.sc().statusTracker()
        return len(tracker.getJobIdsForTag(self.tag))


@contextmanager
def fair_share(spark: SparkSession) -> Iterator[None]:
    """Run what this thread runs in a pool of its own: a long refresh does not keep a short one beside it waiting.

    Pools share alike where Spark schedules FAIR, as sessions that we start do; elsewhere this changes nothing.
    """
    context = spark.sparkContext
    before = context.getLocalProperty(_POOL)
    with _POOLS.one() as number:
        context.setLocalProperty(_POOL, f"trickle-{number}")
        try:
            yield
        finally:
            context.setLocalProperty(_POOL, before)  # type: ignore[arg-type]  # None takes it away


@contextmanager
def counting_jobs(spark: SparkSession) -> Iterator[JobCount]:
    """Tag what this thread runs; broadcasts and subqueries inherit the tag."""
    tag = f"trickle-{uuid.uuid4().hex}"
    spark.sparkContext.addJobTag(tag)
    try:
        yield JobCount(spark, tag)
    finally:
        spark.sparkContext.removeJobTag(tag)
