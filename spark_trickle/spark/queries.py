"""Text that is handed to Spark as a query, and is one.

Spark carries out a statement when it is given to a session; some even while they are analysed. So the text is parsed
first, by Spark's own parser, and what is anything but a query never gets further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark_trickle.errors import SqlError
from spark_trickle.spark.failures import sql_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_STATEMENTS = (
    _LOGICAL + "Command",
    _LOGICAL + "ParsedStatement",
    _LOGICAL + "CompoundPlanStatement",
    _LOGICAL + "ExecutableDuringAnalysis",
    "org.apache.spark.sql.catalyst.analysis.UnresolvedExecuteImmediate",
)
"""Classes of what Spark's parser makes of text that does something."""


def query_frame(session: SparkSession, text: str, what: str) -> DataFrame:
    """The query as a frame. SqlError: it is no query, or not a valid one; nothing was run."""
    with sql_errors(what):
        require_query(session, text, what)
        return session.sql(text)


def require_query(session: SparkSession, text: str, what: str) -> None:
    """Refuse everything but a query."""
    java: Any = session._jsparkSession
    pending = [java.sessionState().sqlParser().parsePlan(text)]
    loader = pending[0].getClass().getClassLoader()
    jvm: Any = session._jvm
    statements = [jvm.java.lang.Class.forName(name, False, loader) for name in _STATEMENTS]
    while pending:
        plan = pending.pop()
        if any(kind.isInstance(plan) for kind in statements):
            kind = str(plan.getClass().getSimpleName())
            raise SqlError(
                f"{what} is not a query but a statement that does something ({kind}); it was not run",
                hint="Write SELECT ... or WITH ... SELECT ...; engine.sql runs statements",
            )
        children = plan.children()
        pending += [children.apply(place) for place in range(children.length())]
