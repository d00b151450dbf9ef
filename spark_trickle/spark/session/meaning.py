"""Meanings of definitions, taken from a session and given to one. See `model/meaning.py`."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_trickle.errors import SchemaChangedError
from spark_trickle.model.meaning import ALWAYS, Meaning
from spark_trickle.names import DEFAULT_NAMESPACE, LAKE, TableName
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.sessions import active
from spark_trickle.storage.iceberg import static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "spark.sql."
_NOT_MEANING = tuple(
    _PREFIX + each
    for each in (
        # What Spark does not keep with its views either: how a query is carried out, not what it answers.
        "view.maxNestedViewDepth",
        "optimizer.",
        "codegen.",
        "execution.",
        "shuffle.",
        "adaptive.",
        "hive.",
        "artifact.",
        # Where catalogs are, and how they and files are read and written.
        "catalog.",
        "catalogImplementation",
        "defaultCatalog",
        "extensions",
        "warehouse.",
        "iceberg.",
        "files.",
        "parquet.",
        "orc.",
        "sources.",
        "streaming.",
        # What is shown and kept of queries that ran; how long they may take; how joins are planned.
        "ui.",
        "event.",
        "debug.",
        "maxPlanStringLength",
        "redaction.",
        "repl.",
        "thriftServer.",
        "globalTempDatabase",
        "queryExecutionListeners",
        "statistics.",
        "cbo.",
        "autoBroadcastJoinThreshold",
        "broadcastTimeout",
        "broadcastExchange.",
        "join.preferSortMergeJoin",
        "constraintPropagation.",
        "inMemoryColumnarStorage.",
        "cache.",
        "pyspark.",
        "leafNodeDefaultParallelism",
    )
)
_ONLY_REFUSES = ("spark.sql.crossJoin.enabled",)
"""What makes an error of a query, and never another answer: a definition that was accepted means the same without it,
and its change may join where the query does not."""


def spoken_in(session: SparkSession) -> Meaning:
    """What a query would mean that is defined in a session now."""
    java: Any = session._jsparkSession
    with spark_errors("reading the settings of the session"), active(session):
        manager = java.sessionState().catalogManager()
        namespace = ".".join(manager.currentNamespace())
        found = {
            key: value
            for key, value in _set(session).items()
            if _matters(session, key) and key not in _ONLY_REFUSES and not _is_default(session, key, value)
        }
        for key, default in ALWAYS.items():
            found[key] = str(session.conf.get(key, default))
        return Meaning(str(manager.currentCatalog().name()), namespace, tuple(sorted(found.items())))


def current_namespace(session: SparkSession) -> str | None:
    """The namespace of the lake that a session is in; None: it is in another catalog."""
    java: Any = session._jsparkSession
    # Spark asks the thread's active session for the default catalog, whichever session is asked.
    with active(session):
        manager = java.sessionState().catalogManager()
        return ".".join(manager.currentNamespace()) if manager.currentCatalog().name() == LAKE else None


def named_in(session: SparkSession, text: str, catalogs: Collection[str]) -> TableName:
    """The table that a name means in a session; in another catalog than the lake it has to be whole."""
    return TableName.parse(text, current_namespace(session) or DEFAULT_NAMESPACE, catalogs)


def forget_settings(session: SparkSession) -> None:
    """Take away settings that change what queries mean: what a session was started with counts for nobody."""
    for key in _set(session):
        if key not in ALWAYS and _matters(session, key):
            session.conf.unset(key)


def speak(session: SparkSession, meaning: Meaning, before: Meaning | None) -> None:
    """Let queries in a session of ours mean what they mean in a definition.

    Args:
        before: what they meant there until now; None: nothing was said yet.
    """
    wanted = dict(meaning.settings)
    for key, _ in before.settings if before is not None else ():
        if key not in wanted:
            session.conf.unset(key)
    former = dict(before.settings) if before is not None else {}
    for key, value in wanted.items():
        if former.get(key) != value:
            session.conf.set(key, value)
    if before is None or (before.catalog, before.namespace) != (meaning.catalog, meaning.namespace):
        enter(session, meaning.catalog, meaning.namespace.split("."))


def enter(session: SparkSession, catalog: str, namespace: list[str]) -> None:
    """Look up unqualified names there."""
    with active(session):
        _enter(session, catalog, namespace)


def _enter(session: SparkSession, catalog: str, namespace: list[str]) -> None:
    java: Any = session._jsparkSession
    manager = java.sessionState().catalogManager()
    if manager.currentCatalog().name() == catalog and list(manager.currentNamespace()) == namespace:
        return
    shown = ".".join([catalog, *namespace])
    try:
        manager.setCurrentCatalog(catalog)
        manager.setCurrentNamespace(_array(session, namespace))
    except (PySparkException, Py4JJavaError) as err:
        raise SchemaChangedError(
            f"names were looked up in {shown} when this was defined, and that is not there any more",
            hint="Make it again, or define the query anew (alter_stream_table(..., query=...))",
        ) from err


def _array(session: SparkSession, texts: list[str]) -> Any:
    gateway: Any = session.sparkContext._gateway
    array = gateway.new_array(static(session, "java.lang.String"), len(texts))
    for place, text in enumerate(texts):
        array[place] = text
    return array


def _set(session: SparkSession) -> dict[str, str]:
    """Spark SQL's settings that a session was started with or that were set in it."""
    java: Any = session._jsparkSession
    found = static(session, "scala.jdk.javaapi.CollectionConverters").asJava(java.sessionState().conf().getAllConfs())
    return {str(key): str(found[key]) for key in found if key.startswith(_PREFIX)}


def _matters(session: SparkSession, key: str) -> bool:
    return not key.startswith(_NOT_MEANING) and bool(session.conf.isModifiable(key))


def _is_default(session: SparkSession, key: str, value: str) -> bool:
    """Whether a setting is what it would be if nobody had set it."""
    # Scala's object itself: Java sees none of its methods in the class of the same name.
    known = getattr(static(session, "org.apache.spark.sql.internal.SQLConf$"), "MODULE$")
    entry = known.getConfigEntry(key)
    return entry is not None and str(entry.defaultValueString()).lower() == value.lower()
