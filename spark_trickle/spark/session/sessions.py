"""SparkSessions: ours or the user's, and new ones whose catalog `lake` points where we say.

Every session sees one Iceberg catalog, `lake`, through Iceberg's JDBC catalog. The main session's `lake` is the real
one; a workspace's is a private copy of its pointers (see `workspace.py`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_trickle.elsewhere.settings import PREFIX, CatalogSettings, catalogs_in
from spark_trickle.errors import UnavailableError, UserError
from spark_trickle.names import DEFAULT_NAMESPACE, LAKE, TableName
from spark_trickle.spark.session.requirements import require_jars, require_jvm
from spark_trickle.spark.session.stores import (
    IO_IMPL,
    LAKE_PREFIX,
    STORES,
    file_settings,
    is_ours,
    packages_for,
    start_settings,
    store_of,
)
from spark_trickle.spark.session.traces import traces_to_our_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_trickle.model.meaning import Meaning

_KEPT_FOR_LONG = {
    # Broadcasts and shuffles of refreshes that are over go once the JVM has collected; by itself it does when it must.
    "spark.cleaner.periodicGC.interval": "5min",
    # Spark remembers plans and figures of a thousand queries for its pages, which nobody sees here. Jobs are counted.
    "spark.sql.ui.retainedExecutions": "200",
    "spark.ui.retainedStages": "500",
    "spark.ui.retainedTasks": "10000",
}
"""What Spark keeps of the past, in a process that runs for days."""

LOCAL_QUERY_ROWS = "spark.trickle.localQueryRows"
"""How `OnDriver.java` knows our setting of that name."""
_JVM = "spark.driver.extraJavaOptions"
_JVM_OPTIONS = (
    # Small changes run new code each time. The JVM's second compiler begins ten times later than it would by itself:
    # not on code that is soon gone. Long scans reach it all the same.
    "-XX:+IgnoreUnrecognizedVMOptions -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)


@dataclass(frozen=True, slots=True)
class LakeAddress:
    """Where a catalog `lake` keeps its pointers and its files."""

    jdbc_url: str
    jdbc_properties: tuple[tuple[str, str], ...]
    """user and password, when the database wants them."""
    warehouse: str

    def conf(self) -> dict[str, str]:
        """Settings of the Spark catalog."""
        prefix = f"spark.sql.catalog.{LAKE}"
        settings = {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.type": "jdbc",
            f"{prefix}.uri": self.jdbc_url,
            f"{prefix}.jdbc.schema-version": "V1",
            f"{prefix}.warehouse": self.warehouse,
            # Connections that PostgreSQL ended while they were idle are replaced: what it answers with these never ran.
            f"{prefix}.retryable_status_codes": "57P01,57P02,57P03",
            # A cached table would be an old version of it.
            f"{prefix}.cache-enabled": "false",
            f"{prefix}.default-namespace": DEFAULT_NAMESPACE,
            "spark.sql.defaultCatalog": LAKE,
        }
        settings.update({f"{prefix}.jdbc.{key}": value for key, value in self.jdbc_properties})
        return settings


class _Context:
    """The SparkContext is one per process, whoever started it: the last engine that uses ours ends it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0

    def enter(self, start: Callable[[], SparkSession]) -> tuple[SparkSession, bool]:
        """A session of its own, and whether the context is ours to end."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        with self.lock:
            if SparkContext._active_spark_context is not None:
                ours = self.users > 0
                self.users += 1 if ours else 0
                return SparkSession.builder.getOrCreate().newSession(), ours
            session = start()
            self.users = 1
            return session, True

    def leave(self, session: SparkSession) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                session.stop()


_CONTEXT = _Context()


class Sessions:
    """The main session, made on first use, and sessions beside it."""

    def __init__(
        self,
        lake: LakeAddress,
        *,
        given: SparkSession | None,
        master: str,
        driver_memory: str,
        extra: Mapping[str, str],
        local_query_rows: int = 0,
    ) -> None:
        self._lake = lake
        self._given = given
        self._master = master
        self._driver_memory = driver_memory
        self._extra = dict(extra)
        self._local_query_rows = local_query_rows
        self._told: Mapping[str, str] = {}
        """What each session is told that we make."""
        self._lock = threading.Lock()
        self._main: SparkSession | None = None
        self._ours = False

    @property
    def started(self) -> bool:
        return self._main is not None

    @property
    def main(self) -> SparkSession:
        """The session users write with; its `lake` is the real one."""
        with self._lock:
            if self._main is None:
                if self._given is not None:
                    require_jvm(self._given)
                    # Beside the user's session, with its settings, views and functions: nothing of that one is changed.
                    session = _clone(self._given)
                else:
                    session, self._ours = _CONTEXT.enter(self._start)
                try:
                    known = {**_set_for_lake(session), **self._extra}
                    require_jars(
                        session, packages_for(self._lake.warehouse, known), store_of(self._lake.warehouse, known)
                    )
                    files = file_settings(self._lake.warehouse, known)
                    self._told = {**files, LOCAL_QUERY_ROWS: str(self._local_query_rows)}
                    # A session that was given, or of a Spark that another engine started, knows nothing of these.
                    others = {key: value for key, value in self._extra.items() if _is_of_other_catalog(key)}
                    self._main = _configured(session, self._lake, {**self._told, **others})
                except BaseException:
                    if self._ours:
                        _CONTEXT.leave(session)
                    raise
            return self._main

    def beside(self, lake: LakeAddress) -> SparkSession:
        """A session of its own: own settings, temporary views and catalog; same executors."""
        return _configured(self.main.newSession(), lake, self._told)

    def like_main(
        self, lake: LakeAddress, prepare: Callable[[SparkSession, str, list[str]], None] | None = None
    ) -> SparkSession:
        """A session in which a user's statement means what it means in the main one: with its settings, current
        namespace, temporary views, functions and variables. Only its lake is another one.

        Args:
            prepare: what is done to it before it enters that catalog and namespace.
        """
        from spark_trickle.spark.session.meaning import enter

        main = self.main
        session = _configured(_clone(main), lake, self._told)
        theirs, ours = _catalog_manager(main), _catalog_manager(session)
        with active(main):
            catalog, namespace = str(theirs.currentCatalog().name()), list(theirs.currentNamespace())
        if prepare is not None:
            prepare(session, catalog, namespace)
        enter(session, catalog, namespace)
        _share_variables(theirs, ours)
        return session

    @property
    def functions_from(self) -> tuple[SparkSession, ...]:
        """Where users register functions: in our main session, and in one that they gave us."""
        return (self.main,) if self._given is None else (self._given, self.main)

    @property
    def namespace(self) -> str:
        """Where names without a namespace are. Starts no JVM: before there is a session nobody can have left."""
        if self._main is None:
            return DEFAULT_NAMESPACE
        from spark_trickle.spark.session.meaning import current_namespace

        found = current_namespace(self._main)
        if found is None:
            raise UserError(
                f"the current catalog of the session is not '{LAKE}', so a name needs its namespace",
                hint=f"Write {LAKE}.namespace.name, or USE {LAKE}.{DEFAULT_NAMESPACE}",
            )
        return found

    def named(self, text: str) -> TableName:
        """The table that a name means in the main session."""
        return TableName.parse(text, lambda: self.namespace, self.catalogs())

    def catalogs(self) -> dict[str, CatalogSettings]:
        """The other catalogs that are configured. Starts no JVM: before there is a session, by its settings."""
        if self._main is not None:
            return catalogs_in(_all_settings(self._main))
        return catalogs_in(self._extra if self._given is None else {**self._extra, **self._given.conf.getAll})

    def meaning(self) -> Meaning:
        """What a query means that is defined now."""
        from spark_trickle.spark.session.meaning import spoken_in

        return spoken_in(self.main)

    def stop(self) -> None:
        """End Spark if we started it and nobody else uses it."""
        with self._lock:
            main, self._main = self._main, None
            if main is None:
                return
            if main is not self._given:
                close_lake(main)
            if self._ours:
                _CONTEXT.leave(main)

    def _start(self) -> SparkSession:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(self._master).appName("spark-trickle")
        settings = start_settings(self._lake.warehouse, self._extra)
        # What a user tells the JVM comes last, and so counts.
        options = f"{_JVM_OPTIONS} {settings.get(_JVM, '')}".strip()
        for key, value in {**self._defaults(), **settings, _JVM: options}.items():
            builder = builder.config(key, value)
        try:
            spark = builder.getOrCreate()
        except (PySparkException, OSError) as err:
            raise UnavailableError(
                f"Spark could not be started: {err}",
                hint="It needs Java 17 or newer (JAVA_HOME or on PATH) and, the first time, the network for its jars",
            ) from err
        spark.sparkContext.setLogLevel("ERROR")
        traces_to_our_log()
        return spark

    def _defaults(self) -> dict[str, str]:
        cores = os.cpu_count() or 2
        return {
            "spark.driver.memory": self._driver_memory,
            # Spark's 200 suits a cluster; adaptive execution joins partitions that turn out small. Refreshes of small
            # changes use one.
            "spark.sql.shuffle.partitions": str(8 * cores),
            # Code that Spark generated for one refresh is compiled and warm for the next one. Spark keeps that of
            # 100 stages: of more than some ten stream tables, none would ever find its own. Each takes some 80 KB, and
            # those are among them whose keys never come again.
            "spark.sql.codegen.cache.maxEntries": "4000",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.scheduler.mode": "FAIR",
            **_KEPT_FOR_LONG,
        }


def _configured(spark: SparkSession, lake: LakeAddress, told: Mapping[str, str]) -> SparkSession:
    from spark_trickle.spark.session.failures import spark_errors

    for key, value in {**told, **lake.conf()}.items():
        spark.conf.set(key, value)
    with spark_errors("opening the catalog"):
        _load_lake(spark)
    return spark


def _load_lake(spark: SparkSession) -> None:
    """Let the session open its catalog now, by its own settings.

    Spark reads a catalog's settings from the session that is active in the thread which first asks for the catalog, and
    that may be another one, or none: a workspace would open the real lake, and what is staged there would be published.
    """
    mine: Any = spark._jsparkSession
    with active(spark):
        mine.sessionState().catalogManager().catalog(LAKE)


def close_lake(spark: SparkSession) -> None:
    """Close the connections that a session's catalog has open: the JVM would keep them until it ends.

    Where Spark itself has gone there is nothing left to close, and what made it go is being told already.
    """
    from spark_trickle.spark.session.failures import spark_errors

    mine: Any = spark._jsparkSession
    with suppress(UnavailableError), spark_errors("closing the catalog"):
        mine.sessionState().catalogManager().catalog(LAKE).icebergCatalog().close()


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Make a session this thread's active one: what Spark and Iceberg ask for settings without naming a session.
    Afterwards the one before is: PySpark makes a session active for good whenever a frame is made in it."""
    from pyspark.sql import SparkSession

    from spark_trickle.storage.iceberg import static

    sessions = static(spark, "org.apache.spark.sql.classic.SparkSession")
    before, in_python = sessions.getActiveSession(), SparkSession._activeSession
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        SparkSession._activeSession = in_python
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same frame, belonging to another session: its plan is taken over."""
    from pyspark.sql import DataFrame

    from spark_trickle.storage.iceberg import DATASET, static

    if frame.sparkSession is session:
        return frame
    java: Any = frame._jdf
    plan = java.queryExecution().analyzed()
    return DataFrame(static(session, DATASET).ofRows(session._jsparkSession, plan), session)


def _clone(session: SparkSession) -> SparkSession:
    """A session with everything that was set and made in another, which it does not change."""
    from pyspark.sql import SparkSession

    java: Any = session._jsparkSession
    return SparkSession(session.sparkContext, java.cloneSession())


def _catalog_manager(session: SparkSession) -> Any:
    java: Any = session._jsparkSession
    return java.sessionState().catalogManager()


def _share_variables(theirs: Any, ours: Any) -> None:
    """Let a session have the variables of another: a clone has none of them. Spark has no call for that."""
    field = ours.getClass().getDeclaredField("tempVariableManager")
    field.setAccessible(True)
    field.set(ours, theirs.tempVariableManager())


def _is_of_other_catalog(key: str) -> bool:
    return key.startswith(PREFIX) and key != LAKE_PREFIX and not key.startswith(f"{LAKE_PREFIX}.")


def _all_settings(spark: SparkSession) -> dict[str, str]:
    """What is set in a session, in one call: asked for one by one they take longer than a small refresh may."""
    from spark_trickle.storage.iceberg import static

    java: Any = spark._jsparkSession
    joiner = static(spark, "org.apache.iceberg.relocated.com.google.common.base.Joiner")
    joined = str(joiner.on("\x00").withKeyValueSeparator("\x01").join(java.conf().getAllAsJava()))
    return dict(pair.split("\x01", 1) for pair in joined.split("\x00") if "\x01" in pair)


def _set_for_lake(spark: SparkSession) -> dict[str, str]:
    """What a session says of the catalog `lake`, other than where it is. The FileIO of a store follows from the scheme:
    the session may be that of an engine whose files are elsewhere."""
    found = {
        key: value for key, value in spark.conf.getAll.items() if key.startswith(f"{LAKE_PREFIX}.") and not is_ours(key)
    }
    if found.get(IO_IMPL) in {store.file_io for store in STORES.values()}:
        del found[IO_IMPL]
    return found
