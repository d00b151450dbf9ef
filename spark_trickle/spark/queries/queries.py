"""Text that is handed to Spark as a query, and is one.

Spark carries out a statement when it is given to a session; some even while they are analysed. So the text is parsed
first, by Spark's own parser, and what is anything but a query never gets further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import SqlError
from spark_trickle.names import LAKE, TableName
from spark_trickle.spark.session.failures import sql_errors, unknown_table
from spark_trickle.sql.branches import named
from spark_trickle.storage.iceberg import static
from spark_trickle.storage.views import load_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_trickle.model.meaning import Meaning
    from spark_trickle.spark.workspaces.workspace import Workspace

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_STATEMENTS = (
    _LOGICAL + "Command",
    _LOGICAL + "ParsedStatement",
    _LOGICAL + "CompoundPlanStatement",
    _LOGICAL + "ExecutableDuringAnalysis",
    "org.apache.spark.sql.catalyst.analysis.UnresolvedExecuteImmediate",
)
"""Classes of what Spark's parser makes of text that does something."""


def query_frame(
    session: SparkSession, text: str, what: str, tables: Callable[[], Iterable[TableName]] = tuple
) -> DataFrame:
    """The query as a frame. SqlError: it is no query, or not a valid one; nothing was run. `tables`: to suggest one."""
    with sql_errors(what, tables):
        require_query(session, text, what)
        return session.sql(text)


def query_in(workspace: Workspace, text: str, meaning: Meaning, what: str) -> DataFrame:
    """The query as a frame of a workspace, whatever catalogs its tables are in."""
    _meet_named(workspace, text, meaning)
    return meeting_tables(workspace, meaning, lambda: query_frame(workspace.session, text, what, workspace.heads))


def _meet_named(workspace: Workspace, text: str, meaning: Meaning) -> None:
    """Pin the tables of other catalogs that a text names, as far as we can read it, and those that its views name: what
    Spark does not find it writes into the log."""
    heads = workspace.heads()
    pending, seen = [(parts, meaning) for parts in named(text)], set[TableName]()
    while pending:
        parts, within = pending.pop()
        name = workspace.named(parts, within)
        if name is None or name in seen:
            continue
        seen.add(name)
        if name.is_elsewhere:
            workspace.meet(name)
        elif name in heads and heads[name].kind == "VIEW":
            view = load_view(workspace.session, name)
            where = replace(meaning, catalog=LAKE, namespace=view.default_namespace)
            pending += [(each, where) for each in named(view.text)]


def meeting_tables(workspace: Workspace, meaning: Meaning, make: Callable[[], DataFrame]) -> DataFrame:
    """A frame of a workspace. Tables of other catalogs that it reads, itself or through views, are pinned there when
    they are met: Spark says which it did not find."""
    seen: set[str] = set()
    while True:
        try:
            return make()
        except SqlError as err:
            unknown = unknown_table(err.__cause__)
            if unknown is None or unknown in seen:
                raise
            seen.add(unknown)
            java: Any = workspace.session._jsparkSession
            parts = java.sessionState().sqlParser().parseMultipartIdentifier(unknown)
            name = workspace.named([str(parts.apply(place)) for place in range(parts.length())], meaning)
            if name is None or not name.is_elsewhere or not workspace.meet(name):
                raise


def require_query(session: SparkSession, text: str, what: str) -> None:
    """Refuse everything but a query."""
    java: Any = session._jsparkSession
    pending = [java.sessionState().sqlParser().parsePlan(text)]
    loader = pending[0].getClass().getClassLoader()
    classes = static(session, "java.lang.Class")
    statements = [classes.forName(name, False, loader) for name in _STATEMENTS]
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
