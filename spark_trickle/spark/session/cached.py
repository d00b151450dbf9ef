"""Tables that users keep in memory (CACHE TABLE) after something was published to them.

What Spark's own statements write is read anew there. What we publish is written in other sessions, and the users'
session knows nothing of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import StreamTableError
from spark_trickle.model.publication import Swap
from spark_trickle.names import is_internal
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.sessions import active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("spark_trickle")


def read_anew(session: SparkSession, swaps: Iterable[Swap]) -> None:
    """Let what is kept of these tables, and of what was computed of them, be read again when it is next asked for."""
    java: Any = session._jsparkSession
    try:
        with spark_errors("reading cached tables anew"):
            if java.sharedState().cacheManager().isEmpty():
                return
            for swap in swaps:
                if swap.kind == "TABLE" and swap.new is not None and not is_internal(swap.table):
                    with active(session):
                        session.sql(f"REFRESH TABLE {swap.table.sql}")
    except StreamTableError as err:
        # It is published all the same.
        _LOG.warning("what is cached may be older than what was published: %s", err)
