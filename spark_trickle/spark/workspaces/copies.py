"""Rows of tables without versions, copied once for all that read them at one version of the lake.

Spark's own readers read such a table, in a session where names mean what they mean to the user; the copy is a table of
Iceberg's that belongs to one workspace. So whatever a refresh computes of it is computed of the same rows, in however
many places it is read, while others go on writing. The copy is deleted when the workspace is put aside.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from zlib import crc32

from py4j.protocol import Py4JJavaError

from spark_trickle.elsewhere.unversioned import JDBC, kind_of, number_of, place_in
from spark_trickle.errors import ConflictError, StreamTableError, UserError
from spark_trickle.model.borrowed import BorrowedVersion, Shape, Step
from spark_trickle.model.frontier import Pointer
from spark_trickle.names import INTERNAL_NAMESPACE, LAKE, SESSION, TableName
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.meaning import forget_settings, speak
from spark_trickle.spark.session.sessions import LakeAddress, Sessions, active, close_lake
from spark_trickle.spark.workspaces.private_pointers import PrivatePointers
from spark_trickle.spark.workspaces.purge import purge
from spark_trickle.storage.borrowed import Borrowing
from spark_trickle.storage.iceberg import JavaTable, load, pin, static

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as t

    from spark_trickle.model.meaning import Meaning

_LOG = logging.getLogger("spark_trickle")
_NARROW = ("tinyint", "smallint")


class _Reader:
    """A session that reads other tables as a user does, and writes into a private lake."""

    def __init__(self, sessions: Sessions, warehouse: str, meaning: Meaning | None) -> None:
        """Args:
        meaning: with which settings text in files is read; None: with the user's.
        """
        self._pointers = PrivatePointers()

        def prepare(_: SparkSession, catalog: str, levels: list[str]) -> None:
            here = {".".join(levels)} if catalog == LAKE else set[str]()
            self._pointers.pin((), here | {INTERNAL_NAMESPACE})

        self.session = sessions.like_main(LakeAddress(self._pointers.jdbc_url, (), warehouse), prepare)
        if meaning is not None:
            forget_settings(self.session)
            speak(self.session, meaning, None)

    def frame(self, table: TableName) -> DataFrame:
        with spark_errors(f"reading '{table}'"), active(self.session):
            if table.catalog == SESSION:
                self.session.catalog.refreshTable(table.sql)  # Spark remembers which files it found
            return self.session.table(table.sql)

    def close(self) -> None:
        close_lake(self.session)
        self._pointers.close()


class Copies:
    """Copies of one workspace. One thread at a time asks for one table."""

    def __init__(self, sessions: Sessions, warehouse: str, borrowing: Borrowing) -> None:
        self._sessions = sessions
        self._warehouse = warehouse
        self._borrowing = borrowing
        self._readers: dict[Meaning | None, _Reader] = {}
        """Made anew each time: a user may have configured other catalogs since."""
        self._schemas: dict[Pointer, t.StructType] = {}
        self._copies: dict[tuple[Pointer, Meaning | None], tuple[JavaTable, str]] = {}
        self._lock = threading.RLock()

    def columns(self, spark: SparkSession, pointer: Pointer) -> JavaTable:
        """The table with its columns, and without rows: enough for whoever asks what a query means."""
        schema = self._schema(pointer)
        java: Any = static(spark, "org.apache.spark.sql.types.DataType").fromJson(schema.json())
        try:
            converted = static(spark, "org.apache.iceberg.spark.SparkSchemaUtil").convert(java)
        except Py4JJavaError as err:
            raise UserError(
                f"'{pointer.table}' cannot be read: {err.java_exception.getMessage()}",
                facts={"source": str(pointer.table)},
            ) from err
        told = json.loads(str(static(spark, "org.apache.iceberg.SchemaParser").toJson(converted)))
        number = crc32(json.dumps(told).encode()) & 0x7FFFFFFF
        version = BorrowedVersion(
            uuid=str(uuid.UUID(bytes=_digest(pointer))),
            number=number_of(pointer.location),
            stamp="",
            shape=Shape(number, {**told, "schema-id": number}, ()),
            files=(),
        )
        return self._borrowing.table(spark, str(pointer.table), pointer.location, [Step(version)], {})

    def notices(self, pointer: Pointer) -> list[str]:
        """What a reader should know of how a table is read."""
        told = []
        if kind_of(pointer.location) == JDBC:
            told.append(
                f"'{pointer.table}' does not say whether it has changed: what reads it is computed again each time it "
                "is due, and its schedule says how often that is"
            )
        narrow = [each.name for each in self._schema(pointer).fields if each.dataType.simpleString() in _NARROW]
        if not narrow:
            return told
        return [
            *told,
            f"'{pointer.table}': column {', '.join(narrow)} is read as INT: Iceberg has no smaller whole numbers",
        ]

    def of(self, pointer: Pointer, meaning: Meaning | None, where_now: Callable[[], str]) -> JavaTable:
        """The rows. ConflictError: somebody has changed it since it was pinned.

        Args:
            meaning: with which settings text in files is read; None: with the user's.
            where_now: what the newest version is called.
        """
        if meaning is not None:
            # Only its settings: what is read here is named whole.
            meaning = replace(meaning, catalog=LAKE, namespace=INTERNAL_NAMESPACE)
        with self._lock:
            known = self._copies.get((pointer, meaning))
        if known is not None:
            return known[0]
        target = TableName(INTERNAL_NAMESPACE, f"copied_{uuid.uuid4().hex}")
        try:
            frame = self._reader(meaning).frame(pointer.table)
            with spark_errors(f"reading '{pointer.table}'"):
                frame.writeTo(target.sql).using("iceberg").tableProperty("format-version", "2").create()
                made = load(frame.sparkSession, target)
        except StreamTableError:
            # Files that are exchanged while they are read are missing in the middle of it.
            self._require_unmoved(pointer, where_now)
            raise
        with self._lock:
            self._copies[pointer, meaning] = (made, pin(made, target).location)
        self._require_unmoved(pointer, where_now)
        return made

    def forget(self) -> None:
        """Delete what was copied."""
        with self._lock:
            going, self._copies = list(self._copies.values()), {}
            readers, self._readers = list(self._readers.values()), {}
            self._schemas.clear()
        try:
            for _, location in going:
                purge(readers[0].session, location)
        except StreamTableError as err:
            # What was computed of it has been published, or has failed with its own reason.
            _LOG.warning("a copy could not be deleted, maintain() will: %s", err)
        for reader in readers:
            reader.close()

    def _require_unmoved(self, pointer: Pointer, where_now: Callable[[], str]) -> None:
        if kind_of(pointer.location) != JDBC and (found := where_now()) != pointer.location:
            raise ConflictError(pointer.table, pointer.location, found)

    def _schema(self, pointer: Pointer) -> t.StructType:
        with self._lock:
            if pointer not in self._schemas:
                with spark_errors(f"reading the columns of '{pointer.table}'"):
                    self._schemas[pointer] = self._reader(None).frame(pointer.table).schema
            return self._schemas[pointer]

    def _reader(self, meaning: Meaning | None) -> _Reader:
        with self._lock:
            if meaning not in self._readers:
                self._readers[meaning] = _Reader(self._sessions, self._warehouse, meaning)
            return self._readers[meaning]


def _digest(pointer: Pointer) -> bytes:
    """Of what makes it the same table: its name, and the folder that it is in."""
    told = f"{pointer.table.namespace}\0{pointer.table.name}\0{kind_of(pointer.location)}\0{place_in(pointer.location)}"
    return blake2b(told.encode(), digest_size=16).digest()
