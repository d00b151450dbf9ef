"""Whether Spark reads a text as it does by itself, although settings were made that can change how it is read: most
texts mean the same with them. Spark is asked, and compares the two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import SqlError
from spark_trickle.model.meaning import OF_READING, Meaning
from spark_trickle.spark.queries.queries import query_in

_STRICTER = {("spark.sql.legacy.ctePrecedencePolicy", "EXCEPTION")}
"""With these, Spark refuses what could be read in two ways: what it accepts, it reads as usual."""
_OF_ORDERS = frozenset({"spark.sql.orderByOrdinal", "spark.sql.prioritizeOrdinalResolutionInSort.enabled"})
"""They decide by what rows are ordered: no matter where nothing cuts them."""
_CUTS = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Tail"})

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.workspaces.workspace import Workspace


def read_otherwise(workspace: Workspace, query: str, meaning: Meaning, frame: DataFrame) -> tuple[str, str] | None:
    """The setting, with its value, on whose account a query may mean something else than its text says by itself.

    Args:
        frame: the query, as Spark has read it with all settings.
    """
    made = [pair for pair in meaning.unusual() if pair[0] in OF_READING and (pair[0], pair[1].upper()) not in _STRICTER]
    if any(key in _OF_ORDERS for key, _ in made) and not _cuts(frame):
        made = [(key, value) for key, value in made if key not in _OF_ORDERS]
    others = [(key, value) for key, value in meaning.unusual() if key not in OF_READING]
    if others:
        return others[0]
    without = {key for key, _ in made}
    return made[0] if made and not _same_without(without, workspace, query, meaning, frame) else None


def _same_without(settings: set[str], workspace: Workspace, query: str, meaning: Meaning, frame: DataFrame) -> bool:
    usual = replace(meaning, settings=tuple(each for each in meaning.settings if each[0] not in settings))
    read = _plan(frame)
    workspace.speak(usual)
    try:
        return bool(read.sameResult(_plan(query_in(workspace, query, usual, "the query"))))
    except SqlError:
        return False  # with the settings only it is a query at all
    finally:
        workspace.speak(meaning)


def _cuts(frame: DataFrame) -> bool:
    """Whether a query, or one inside of it, takes some of its rows only."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    subqueries = plan.subqueriesAll()
    pending = [plan, *(subqueries.apply(place) for place in range(subqueries.length()))]
    while pending:
        node = pending.pop()
        if str(node.nodeName()) in _CUTS:
            return True
        children = node.children()
        pending += [children.apply(place) for place in range(children.length())]
    return False


def _plan(frame: DataFrame) -> Any:
    # Analysed, with numbers of its WITH entries that do not count up from query to query.
    return frame._jdf.queryExecution().normalized()
