"""Functions that users registered in their session, made known in ours: a new session has none of them. They are
Spark's own entries, handed over as they are, so a Python function runs as it would for the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def share_functions(source: SparkSession, target: SparkSession) -> tuple[str, ...]:
    """Give one session the functions of another, and take from it those that the other has no more.

    Returns:
        The names of the functions.
    """
    jvm: Any = source._jvm
    builtin = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin().listFunction()
    theirs, ours = _registry(source), _registry(target)
    shared = theirs.listFunction().diff(builtin)
    left = ours.listFunction().diff(builtin).diff(shared)
    for place in range(left.length()):
        ours.dropFunction(left.apply(place))
    names = []
    for place in range(shared.length()):
        name = shared.apply(place)
        info, builder = theirs.lookupFunction(name), theirs.lookupFunctionBuilder(name)
        if info.isDefined() and builder.isDefined():
            ours.registerFunction(name, info.get(), builder.get())
            names.append(str(name.funcName()))
    return tuple(names)


def _registry(session: SparkSession) -> Any:
    java: Any = session._jsparkSession
    return java.sessionState().functionRegistry()


def is_deterministic(frame: Any) -> bool:
    """Whether all functions of a query say that they give the same answer each time; a user's may say otherwise."""
    return bool(frame._jdf.queryExecution().analyzed().deterministic())


def aggregates(frame: Any) -> bool:
    """Does Spark see an aggregate anywhere in the query?"""
    jvm: Any = frame.sparkSession._jvm
    pattern = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.AGGREGATE_EXPRESSION()
    return bool(frame._jdf.queryExecution().analyzed().containsPattern(pattern))
