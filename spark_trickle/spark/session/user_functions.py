"""Functions that users registered in their session, made known in ours: a new session has none of them. They are
Spark's own entries, handed over as they are, so a Python function runs as it would for the user.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_IN_SQL = "sql_udf"
_PATTERNS = "org.apache.spark.sql.catalyst.trees.TreePattern"


def share_functions(sources: Sequence[SparkSession], target: SparkSession) -> tuple[str, ...]:
    """Give one session the functions of others, and take from it those that they have no more. Of two with the same
    name the later session's counts.

    Returns:
        The names of the functions.
    """
    builtin = _builtin(target)
    ours = _registry(target)
    left = ours.listFunction().diff(builtin)
    names: dict[str, None] = {}
    for source in sources:
        theirs = _registry(source)
        shared = theirs.listFunction().diff(builtin)
        left = left.diff(shared)
        for place in range(shared.length()):
            name = shared.apply(place)
            info, builder = theirs.lookupFunction(name), theirs.lookupFunctionBuilder(name)
            if info.isDefined() and builder.isDefined():
                ours.registerFunction(name, info.get(), builder.get())
                names[str(name.funcName())] = None
    for place in range(left.length()):
        ours.dropFunction(left.apply(place))
    return tuple(names)


def _registry(session: SparkSession) -> Any:
    java: Any = session._jsparkSession
    return java.sessionState().functionRegistry()


def _builtin(session: SparkSession) -> Any:
    """The names of Spark's own functions."""
    # Not at the top: it loads pyspark, and commands that only read metadata come by here.
    from spark_trickle.storage.iceberg import static

    return static(session, "org.apache.spark.sql.catalyst.analysis.FunctionRegistry").builtin().listFunction()


def is_deterministic(frame: Any) -> bool:
    """Whether all functions of a query say that they give the same answer each time; a user's may say otherwise."""
    return bool(frame._jdf.queryExecution().analyzed().deterministic())


def aggregates(frame: Any) -> bool:
    """Does Spark see an aggregate anywhere in the query?"""
    from spark_trickle.storage.iceberg import static

    pattern = static(frame.sparkSession, _PATTERNS).AGGREGATE_EXPRESSION()
    return bool(frame._jdf.queryExecution().analyzed().containsPattern(pattern))


def sql_bodies(session: SparkSession) -> dict[str, str]:
    """The texts of temporary functions that are written in SQL."""
    registry, found = _registry(session), {}
    names = registry.listFunction().diff(_builtin(session))
    for place in range(names.length()):
        name = names.apply(place)
        info = registry.lookupFunction(name)
        if info.isDefined() and str(info.get().getSource()) == _IN_SQL:
            said = json.loads(info.get().getUsage())
            parts = [text for key, text in said.items() if key in ("sqlFunction.expression", "sqlFunction.query")]
            found[str(name.funcName())] = "\n".join(parts)
    return found
