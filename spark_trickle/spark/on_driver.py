"""Queries over rows that are here already, run in this thread: no job.

Of a small change most queries join and group rows that were looked up or brought before. As a job such a query takes
200 ms of processor time, a job more for each relation that is broadcast, and little of that is work. Spark's own
physical plan, over one partition and without exchanges, computes the same on the driver (`OnDriver.java`, which Spark's
own compiler makes at first use: there is no jar to install). What reads anything else runs as a job, as ever.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from spark_trickle.storage.iceberg import Java, static

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SOURCE = Path(__file__).with_name("OnDriver.java")
_MADE: WeakKeyDictionary[Any, Java] = WeakKeyDictionary()
"""By gateway: there is one JVM behind each."""
_LOCK = threading.Lock()


def on_driver(frame: DataFrame) -> pa.Table | None:
    """The rows of a query over local relations; None: it takes a job."""
    runner = _runner(frame.sparkSession)
    java: Any = frame._jdf
    found = runner.run(java)
    return None if found is None else _table(frame, found)


def _table(frame: DataFrame, streams: bytes) -> pa.Table:
    schema = to_arrow_schema(frame.schema)
    reader, tables = pa.BufferReader(streams), []
    while reader.tell() < len(streams):
        tables.append(pa.ipc.open_stream(reader).read_all())
    return pa.concat_tables(tables).cast(schema) if tables else schema.empty_table()


def _runner(session: SparkSession) -> Java:
    gateway: Any = session.sparkContext._gateway
    with _LOCK:
        if gateway not in _MADE:
            compiler = static(session, "org.codehaus.janino.SimpleCompiler")()
            compiler.setParentClassLoader(static(session, "java.lang.Thread").currentThread().getContextClassLoader())
            compiler.cook(_SOURCE.read_text(encoding="utf-8"))
            made = compiler.getClassLoader().loadClass("OnDriver")
            none = gateway.new_array(gateway.jvm.java.lang.Class, 0)
            _MADE[gateway] = made.getDeclaredConstructor(none).newInstance(
                gateway.new_array(gateway.jvm.java.lang.Object, 0)
            )
        return _MADE[gateway]
