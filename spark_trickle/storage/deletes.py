"""Which rows of data files are deleted in a version, read from deletion vectors and position deletes without a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

from spark_trickle.errors import InternalError
from spark_trickle.storage.iceberg import Java, JavaTable, array, java_class, static
from spark_trickle.storage.newest import Newest
from spark_trickle.storage.windows import DeleteFile, FileState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_BYTES = 128 * 1024 * 1024
"""Of all that is remembered."""
_HEAD = 8
"""A vector begins with its length and a number that says what it is."""
NO_ROWS = np.empty(0, np.int64)


class DeadRows:
    """Positions of deleted rows, by data file and the deletes that apply to it; neither ever changes."""

    def __init__(self) -> None:
        self._known: Newest[tuple[str, frozenset[DeleteFile]], np.ndarray] = Newest(
            MOST_BYTES, lambda rows: 256 + rows.nbytes, family=lambda key: key[0]
        )

    def of(self, spark: SparkSession, table: JavaTable, tasks: Java, states: Sequence[FileState]) -> list[np.ndarray]:
        """Of each file of a version its deleted rows, in order. All deletes are by position."""
        found: list[np.ndarray] = []
        loader: Java | None = None
        for index, state in enumerate(states):
            rows = self._known.get((state.location, state.deletes)) if state.deletes else NO_ROWS
            if rows is None:
                loader = loader or delete_loader(spark, table)
                rows = _positions(loader.loadPositionDeletes(tasks.get(index).deletes(), state.location))
                self._known.put((state.location, state.deletes), rows)
            found.append(rows)
        return found


def delete_loader(spark: SparkSession, table: JavaTable) -> Java:
    """Reads deletes through the table's FileIO."""
    delete_file = java_class(spark, "org.apache.iceberg.DeleteFile")
    opener = java_class(spark, "org.apache.iceberg.io.FileIO")
    method = opener.getMethod("newInputFile", array(spark, "Class", [delete_file]))
    lookup = static(spark, "java.lang.invoke.MethodHandles").publicLookup()
    handle = lookup.unreflect(method).bindTo(table.io())
    function = java_class(spark, "java.util.function.Function")
    proxies = static(spark, "java.lang.invoke.MethodHandleProxies")
    return static(spark, "org.apache.iceberg.data.BaseDeleteLoader")(proxies.asInterfaceInstance(function, handle))


def _positions(index: Java) -> np.ndarray:
    """The positions in a Java index of them, through the form in which Iceberg writes deletion vectors."""
    if index.isEmpty():
        return NO_ROWS
    content = bytes(index.serialize().array())
    bitmaps, at = int.from_bytes(content[_HEAD : _HEAD + 8], "little"), _HEAD + 8
    found: list[np.ndarray] = []
    for _ in range(bitmaps):
        upper = int.from_bytes(content[at : at + 4], "little")
        bitmap = BitMap.deserialize(content[at + 4 :])
        at += 4 + len(bitmap.serialize())
        found.append(np.asarray(bitmap.to_array(), dtype=np.int64) + (upper << 32))
    rows = np.concatenate(found)
    if len(rows) != int(index.cardinality()):
        raise InternalError(f"read {len(rows)} of {int(index.cardinality())} deleted positions")
    return rows
