"""Rows of tables without versions, copied once for all that read them at one version of the lake.

Spark's own readers read such a table, in a session where names mean what they mean to the user; the copy is a table of
Iceberg's that belongs to one workspace. So whatever a refresh computes of it is computed of the same rows, in however
many places it is read, while others go on writing. The copy is deleted when the workspace is put aside.
"""

from __future__ import annotations

import json
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
from spark_trickle.spark.failures import spark_errors
from spark_trickle.spark.meaning import forget_settings, speak
from spark_trickle.spark.private_pointers import PrivatePointers
from spark_trickle.spark.purge import purge
from spark_trickle.spark.sessions import LakeAddress, Sessions, active, close_lake
from spark_trickle.storage.borrowed import Borrowing
from spark_trickle.storage.iceberg import JavaTable, load, pin, static

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as t

    from spark_trickle.model.meaning import Meaning

_NARROW = ("tinyint", "smallint")


class _Reader:
    """A session that reads other tables as a user does, and writes into a private lake."""

    def __init__(self, sessions: Sessions, warehouse: str, *, as_users_do: bool) -> None:
        self.pointers = PrivatePointers()

        def prepare(_: SparkSession, catalog: str, levels: list[str]) -> None:
            here = {".".join(levels)} if catalog == LAKE else set[str]()
            self.pointers.pin((), here | {INTERNAL_NAMESPACE})

        self.session = sessions.like_main(LakeAddress(self.pointers.jdbc_url, (), warehouse), prepare)
        if not as_users_do:
            forget_settings(self.session)
        self._meaning: Meaning | None = None

    def speak(self, meaning: Meaning) -> None:
        if meaning != self._meaning:
            before, self._meaning = self._meaning, None
            speak(self.session, meaning, before)
            self._meaning = meaning

    def close(self) -> None:
        close_lake(self.session)
        self.pointers.close()


class Copies:
    """Copies of one workspace. One thread at a time asks for one table."""

    def __init__(self, sessions: Sessions, warehouse: str, borrowing: Borrowing) -> None:
        self._sessions = sessions
        self._warehouse = warehouse
        self._borrowing = borrowing
        self._readers: dict[bool, _Reader] = {}
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
        number = crc32(schema.json().encode()) & 0x7FFFFFFF
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
        narrow = [each.name for each in self._schema(pointer).fields if each.dataType.simpleString() in _NARROW]
        if not narrow:
            return []
        return [f"'{pointer.table}': column {', '.join(narrow)} is read as INT: Iceberg has no smaller whole numbers"]

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
            frame = self._frame(pointer.table, meaning)
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
            self._schemas.clear()
        for reader in self._readers.values():
            for _, location in going:
                purge(reader.session, location)
            break

    def close(self) -> None:
        self.forget()
        with self._lock:
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()

    def _require_unmoved(self, pointer: Pointer, where_now: Callable[[], str]) -> None:
        if kind_of(pointer.location) != JDBC and (found := where_now()) != pointer.location:
            raise ConflictError(pointer.table, pointer.location, found)

    def _schema(self, pointer: Pointer) -> t.StructType:
        with self._lock:
            if pointer not in self._schemas:
                with spark_errors(f"reading the columns of '{pointer.table}'"):
                    self._schemas[pointer] = self._frame(pointer.table, None).schema
            return self._schemas[pointer]

    def _frame(self, table: TableName, meaning: Meaning | None) -> DataFrame:
        reader = self._reader(as_users_do=meaning is None)
        if meaning is not None:
            reader.speak(meaning)
        session = reader.session
        with spark_errors(f"reading '{table}'"), active(session):
            if table.catalog == SESSION:
                session.catalog.refreshTable(table.sql)  # Spark remembers which files it found
            return session.table(table.sql)

    def _reader(self, *, as_users_do: bool) -> _Reader:
        with self._lock:
            if as_users_do not in self._readers:
                self._readers[as_users_do] = _Reader(self._sessions, self._warehouse, as_users_do=as_users_do)
            return self._readers[as_users_do]


def _digest(pointer: Pointer) -> bytes:
    """Of what makes it the same table: its name, and the folder that it is in."""
    told = f"{pointer.table.namespace}\0{pointer.table.name}\0{kind_of(pointer.location)}\0{place_in(pointer.location)}"
    return blake2b(told.encode(), digest_size=16).digest()
