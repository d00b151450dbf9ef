"""Queries over few rows, run in the thread that asks: no job.

Of a small change most queries join and group rows that were looked up or brought before, or that are in a few small
files. As a job such a query takes 200 ms of processor time, a job more for each relation that is broadcast, and little
of that is work. Spark's own physical plan, over one partition and without exchanges, computes the same on the driver
(`OnDriver.java`, which Spark's own compiler makes at first use: there is no jar to install). What reads more than
`local_query_rows`, or anything else, runs as a job.
"""

from __future__ import annotations

import base64
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.pandas.types import to_arrow_schema

from spark_trickle.storage.iceberg import Java, static
from spark_trickle.storage.newest import size_in_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_LOG = logging.getLogger("spark_trickle")
_MOST_SENT = 1 << 18
"""Larger ones go by way of a file, as Spark sends them: the gateway takes bytes as text."""
_BATCH = 10_000
_UNPLANNED = "OnDriver$Unplanned"
RUNS_AS_A_JOB = "runs as a job, because its plan could not be made here"
_SOURCE = Path(__file__).with_name("OnDriver.java")
_MADE: WeakKeyDictionary[Any, Java] = WeakKeyDictionary()
"""By gateway: there is one JVM behind each."""
_LOCK = threading.Lock()


def on_driver(frame: DataFrame) -> pa.Table | None:
    """The rows of a query over few rows; None: it takes a job."""
    runner = _runner(frame.sparkSession)
    if runner is None:
        return None
    java: Any = frame._jdf
    try:
        found = runner.run(java)
    except Py4JJavaError as err:
        thrown = err.java_exception
        if thrown.getClass().getName() != _UNPLANNED:
            raise
        _LOG.warning("a query over few rows %s: %s", RUNS_AS_A_JOB, thrown.getMessage())
        return None
    return None if found is None else _table(frame, base64.b64decode(found))


def relation(session: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame | None:
    """A relation of rows that are here, in one call; None: it takes Spark's own way, which asks the JVM some forty
    times, and looks for classes in all jars."""
    wanted = to_arrow_schema(schema)
    if size_in_bytes(rows) > _MOST_SENT or rows.schema.types != wanted.types:
        return None
    runner = _runner(session)
    if runner is None:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, wanted) as stream:
        stream.write_table(rows.rename_columns(wanted.names).cast(wanted), max_chunksize=_BATCH)
    made = runner.relation(sink.getvalue().to_pybytes(), schema.json(), session._jsparkSession)
    if made is None:
        return None
    frame: DataFrame = ClassicFrame(made, session)
    frame._schema = schema  # it would be asked for, and read from its JSON
    return frame


def _table(frame: DataFrame, streams: bytes) -> pa.Table:
    schema = to_arrow_schema(frame.schema)
    reader, tables = pa.BufferReader(streams), []
    while reader.tell() < len(streams):
        tables.append(pa.ipc.open_stream(reader).read_all())
    return pa.concat_tables(tables).cast(schema) if tables else schema.empty_table()


def _runner(session: SparkSession) -> Java | None:
    gateway: Any = session.sparkContext._gateway
    with _LOCK:
        if gateway not in _MADE:
            try:
                _MADE[gateway] = compiled(session, _SOURCE.read_text(encoding="utf-8"))
            except Py4JJavaError as err:
                # Spark is another one than it was written for.
                _LOG.warning("every query over few rows %s: %s", RUNS_AS_A_JOB, err.java_exception.toString())
                _MADE[gateway] = None
        return _MADE[gateway]


def compiled(session: SparkSession, source: str) -> Java:
    """An instance of the class."""
    gateway: Any = session.sparkContext._gateway
    compiler = static(session, "org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(static(session, "java.lang.Thread").currentThread().getContextClassLoader())
    compiler.cook(source)
    made = compiler.getClassLoader().loadClass("OnDriver")
    none = gateway.new_array(gateway.jvm.java.lang.Class, 0)
    return made.getDeclaredConstructor(none).newInstance(gateway.new_array(gateway.jvm.java.lang.Object, 0))
