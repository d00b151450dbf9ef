"""Whether Spark reads a text as it does by itself, although settings were made that can change how it is read: most
texts mean the same with them. Spark is asked, and compares the two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import SqlError
from spark_trickle.model.meaning import OF_READING, Meaning
from spark_trickle.spark.queries import query_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.workspace import Workspace


def read_otherwise(workspace: Workspace, query: str, meaning: Meaning, frame: DataFrame) -> tuple[str, str] | None:
    """The setting, with its value, on whose account a query may mean something else than its text says by itself.

    Args:
        frame: the query, as Spark has read it with all settings.
    """
    made = [(key, value) for key, value in meaning.unusual() if key in OF_READING]
    others = [(key, value) for key, value in meaning.unusual() if key not in OF_READING]
    if others:
        return others[0]
    return made[0] if made and not _same_without(workspace, query, meaning, frame) else None


def _same_without(workspace: Workspace, query: str, meaning: Meaning, frame: DataFrame) -> bool:
    usual = replace(meaning, settings=tuple(each for each in meaning.settings if each[0] not in OF_READING))
    read = _plan(frame)
    workspace.speak(usual)
    try:
        return bool(read.sameResult(_plan(query_in(workspace, query, usual, "the query"))))
    except SqlError:
        return False  # with the settings only it is a query at all
    finally:
        workspace.speak(meaning)


def _plan(frame: DataFrame) -> Any:
    # Analysed, with numbers of its WITH entries that do not count up from query to query.
    return frame._jdf.queryExecution().normalized()
