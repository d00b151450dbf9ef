"""What makes a query give another answer although nothing that it reads has changed: the clock, chance, the user.

Spark's analysed plan decides, because views and SQL functions are in it; the words of the text tell the place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_trickle.names import TableName
from spark_trickle.spark.queries.moments import clock_reads
from spark_trickle.spark.session.user_functions import is_deterministic, sql_bodies
from spark_trickle.sql.determinism import nondeterministic, typed_moments
from spark_trickle.storage.views import load_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.workspaces.workspace import Workspace

_WORDS = ("now", "today", "tomorrow", "yesterday")


@dataclass(frozen=True, slots=True)
class Changing:
    """The first such part of a query."""

    what: str
    """As a user would write it, with its place."""
    clock: bool


def changing_parts(workspace: Workspace, frame: DataFrame, query: str, views: Iterable[TableName]) -> Changing | None:
    """The first part of a query that gives another answer each time; None: there is none."""
    here = nondeterministic(query)
    for found in here:
        if not found.clock:
            return Changing(str(found), clock=False)
    if not is_deterministic(frame):
        return Changing("a function of the query", clock=False)
    unseen = _unseen_moment(workspace, query, views)
    hidden = unseen is not None or bool(workspace.functions) or bool(list(views))
    reads = clock_reads(frame, words=hidden or any(word in query.lower() for word in _WORDS))
    if not reads and unseen is None and not typed_moments(query):
        return None  # a column may bear the name of a function
    if here:
        return Changing(str(here[0]), clock=True)
    return Changing(unseen or f"{reads[0]} in the query, or in a view or function of it", clock=True)


def unknowable_moment(workspace: Workspace, query: str, views: Iterable[TableName]) -> str | None:
    """A moment in the query that is fixed while its text is read, so that nobody knows later which one it was."""
    found = typed_moments(query)
    return str(found[0]) if found else _unseen_moment(workspace, query, views)


def _unseen_moment(workspace: Workspace, query: str, views: Iterable[TableName]) -> str | None:
    """The same in views and SQL functions under it: the plan does not show it any more."""
    for name in views:
        for found in typed_moments(load_view(workspace.session, name).text):
            return f"{found.name} in view '{name}'"
    lowered = query.lower()
    for function, body in sql_bodies(workspace.session).items():
        if function.lower() in lowered:
            for found in typed_moments(body):
                return f"{found.name} in function '{function}'"
    return None
