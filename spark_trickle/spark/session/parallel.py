"""Several things asked of Spark at the same time: of a small change, planning takes longer than the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from pyspark.util import inheritable_thread_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Key = TypeVar("Key")
Found = TypeVar("Found")


def in_parallel(session: SparkSession, work: Mapping[Key, Callable[[], Found]]) -> dict[Key, Found]:
    """Do all of it, each in a thread of its own, and raise the first error. Jobs count as this thread's."""
    with ThreadPoolExecutor(max_workers=max(1, len(work))) as pool:
        # A thread of its own would not be counted: what Spark knows of this one goes with it.
        begun = {key: pool.submit(inheritable_thread_target(session)(task)) for key, task in work.items()}
    return {key: future.result() for key, future in begun.items()}
