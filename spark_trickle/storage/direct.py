"""Small changes written to a table of ours without Spark: a Parquet file of the new rows, deletion vectors, one commit.

A MERGE plans a join, runs two or three jobs and takes more than half a second even for one row. Whoever has the new
rows at hand and knows the addresses (file and position) of the old ones needs none of that: Arrow writes the file
through the table's own FileIO, Iceberg's Java API writes the deletion vectors and commits both.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spark_trickle.storage.arrow_types import arrow_type
from spark_trickle.storage.deletes import delete_loader
from spark_trickle.storage.iceberg import Bulk, Java, JavaTable, array, java_class, static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARQUET = "org.apache.iceberg.shaded.org.apache.parquet"
"""Iceberg's own copy of Parquet's library."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Rows of a table by the files that they are in."""

    positions: Mapping[str, np.ndarray]

    @property
    def count(self) -> int:
        return sum(len(found) for found in self.positions.values())

    @classmethod
    def of(cls, files: pa.ChunkedArray, positions: pa.ChunkedArray) -> Addresses:
        """From two columns; each row is an address."""
        encoded = files.combine_chunks().dictionary_encode()
        where = np.asarray(encoded.indices)
        offsets = np.asarray(positions.combine_chunks().cast(pa.int64()))
        return cls({str(path): offsets[where == number] for number, path in enumerate(encoded.dictionary.to_pylist())})


NO_ADDRESSES = Addresses({})


def directly_writable(table: JavaTable) -> bool:
    """Whether `DirectWriter` can write it: deletion vectors came with format 3, and partitions are Spark's business."""
    return int(table.operations().current().formatVersion()) >= 3 and not bool(table.spec().isPartitioned())


def arrow_schema(spark: SparkSession, table: JavaTable) -> pa.Schema | None:
    """The table's columns with their Iceberg ids; None: there is a type that only Spark writes."""
    described = json.loads(static(spark, "org.apache.iceberg.SchemaParser").toJson(table.schema()))
    fields: list[pa.Field] = []
    for column in described["fields"]:
        kind = arrow_type(column["type"])
        if kind is None:
            return None
        ids = {b"PARQUET:field_id": str(column["id"]).encode()}
        fields.append(pa.field(column["name"], kind, nullable=not column["required"], metadata=ids))
    return pa.schema(fields)


def fits(rows: pa.Schema, table: pa.Schema) -> bool:
    """Whether rows of these columns can be written as those of the table, value by value."""
    return rows.names == table.names and all(
        _same(have.type, want.type) for have, want in zip(rows, table, strict=True)
    )


def _same(have: pa.DataType, want: pa.DataType) -> bool:
    if pa.types.is_integer(have) and pa.types.is_integer(want):
        return bool(have.bit_width <= want.bit_width)
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        return have.unit == want.unit and (have.tz is None) == (want.tz is None)
    return bool(have.equals(want)) or (pa.types.is_large_string(have) and pa.types.is_string(want))


class DirectWriter:
    """Writes to one version of a table; every commit says in its summary whose it is."""

    def __init__(self, spark: SparkSession, table: JavaTable, schema: pa.Schema, summary: Mapping[str, str]) -> None:
        self._spark = spark
        self._table = table
        self._schema = schema
        self._summary = dict(summary)

    def replace(self, rows: pa.Table) -> None:
        """Let the table hold these rows only."""
        everything = static(self._spark, "org.apache.iceberg.expressions.Expressions").alwaysTrue()
        update = self._table.newOverwrite().overwriteByRowFilter(everything)
        if rows.num_rows:
            update = update.addFile(self._data_file(rows))
        self._commit(update)

    def change(self, added: pa.Table, removed: Addresses) -> str | None:
        """Take rows away by their addresses and add others, in one commit. Tells the data file of those."""
        file = self._data_file(added) if added.num_rows else None
        location = None if file is None else str(file.location())
        if not removed.positions:
            self._commit(self._table.newAppend().appendFile(file))
            return location
        update = self._table.newRowDelta()
        # The addresses are those of this version: vectors that somebody has added since would not be in ours.
        update = update.validateFromSnapshot(self._table.currentSnapshot().snapshotId())
        if file is not None:
            update = update.addRows(file)
        result = self._deletion_vectors(removed)
        for vector in _items(result.deleteFiles()):
            update = update.addDeletes(vector)
        for replaced in _items(result.rewrittenDeleteFiles()):
            update = update.removeDeletes(replaced)
        self._commit(update)
        return location

    def _commit(self, update: Java) -> None:
        for key, value in self._summary.items():
            update.set(key, value)
        update.commit()

    def _data_file(self, rows: pa.Table) -> Java:
        """A Parquet file with the rows, and what a manifest says of it."""
        buffer = pa.BufferOutputStream()
        pq.write_table(
            rows.cast(self._schema), buffer, compression="zstd", store_decimal_as_integer=True, store_schema=False
        )
        io = self._table.io()
        location = self._table.locationProvider().newDataLocation(f"{uuid.uuid4()}.parquet")
        content = buffer.getvalue().to_pybytes()
        stream = io.newOutputFile(location).create()
        try:
            stream.write(content)
        finally:
            stream.close()
        files = static(self._spark, "org.apache.iceberg.DataFiles").builder(self._table.spec())
        return files.withInputFile(io.newInputFile(location)).withMetrics(self._metrics(content)).build()

    def _metrics(self, content: bytes) -> Java:
        """Counts and bounds, of the footer that is here: to open the file for them Iceberg would read all of Hadoop's
        settings, which takes longer than to write it."""
        (length,) = struct.unpack("<I", content[-8:-4])
        footer = static(self._spark, "java.io.ByteArrayInputStream")(content[-8 - length : -8])
        plain = static(self._spark, f"{_PARQUET}.conf.PlainParquetConfiguration")()
        options = static(self._spark, f"{_PARQUET}.ParquetReadOptions").builder(plain).build()
        converter = static(self._spark, f"{_PARQUET}.format.converter.ParquetMetadataConverter")(options)
        found = converter.readParquetMetadata(footer)
        config = static(self._spark, "org.apache.iceberg.MetricsConfig").forTable(self._table)
        nothing = static(self._spark, "java.util.stream.Stream").empty()
        return static(self._spark, "org.apache.iceberg.parquet.ParquetUtil").footerMetrics(found, nothing, config)

    def _deletion_vectors(self, removed: Addresses) -> Java:
        """The vectors of the files that lose rows, with what they had lost before."""
        factory = static(self._spark, "org.apache.iceberg.io.OutputFileFactory").builderFor(self._table, 0, 0)
        puffin = static(self._spark, "org.apache.iceberg.FileFormat").fromString("puffin")
        previous = self._lost_before(list(removed.positions))
        writer = static(self._spark, "org.apache.iceberg.deletes.BaseDVFileWriter")(
            factory.format(puffin).build(), self._lookup(previous)
        )
        try:
            for path, positions in removed.positions.items():
                self._delete_each(writer, path, positions)
        finally:
            writer.close()
        return writer.result()

    def _delete_each(self, writer: Java, path: str, positions: np.ndarray) -> None:
        """All positions of a file in a few calls, however many they are."""
        gateway = self._spark.sparkContext._gateway
        assert gateway is not None
        packed = np.ascontiguousarray(positions, dtype=">i8").tobytes()
        values = gateway.new_array(gateway.jvm.long, len(positions))
        static(self._spark, "java.nio.ByteBuffer").wrap(packed).asLongBuffer().get(values)
        stream = static(self._spark, "java.util.stream.LongStream").of(values)
        stream.forEach(self._deleting(writer, path))

    def _deleting(self, writer: Java, path: str) -> Java:
        """`writer.delete(path, position, spec, null)` as a function of the position."""
        handles = static(self._spark, "java.lang.invoke.MethodHandles")
        kinds = ["java.lang.String", None, "org.apache.iceberg.PartitionSpec", "org.apache.iceberg.StructLike"]
        long = static(self._spark, "java.lang.Long").TYPE
        types = [long if kind is None else java_class(self._spark, kind) for kind in kinds]
        parameters = array(self._spark, "Class", types)
        method = java_class(self._spark, "org.apache.iceberg.deletes.BaseDVFileWriter").getMethod("delete", parameters)
        bound = handles.publicLookup().unreflect(method).bindTo(writer)
        behind = handles.insertArguments(bound, 2, array(self._spark, "Object", [self._table.spec(), None]))
        handle = handles.insertArguments(behind, 0, array(self._spark, "Object", [path]))
        consumer = java_class(self._spark, "java.util.function.LongConsumer")
        return static(self._spark, "java.lang.invoke.MethodHandleProxies").asInterfaceInstance(consumer, handle)

    def _lookup(self, values: Java) -> Java:
        """`values.get` as a function."""
        kind = java_class(self._spark, "java.lang.Object")
        method = java_class(self._spark, "java.util.Map").getMethod("get", array(self._spark, "Class", [kind]))
        handle = static(self._spark, "java.lang.invoke.MethodHandles").publicLookup().unreflect(method).bindTo(values)
        function = java_class(self._spark, "java.util.function.Function")
        return static(self._spark, "java.lang.invoke.MethodHandleProxies").asInterfaceInstance(function, handle)

    def _lost_before(self, paths: Sequence[str]) -> Java:
        """A Java map from each file that has lost rows before to its deletion vector."""
        found = static(self._spark, "java.util.HashMap")()
        if not self._table.currentSnapshot().deleteManifests(self._table.io()).size():
            return found
        bulk = Bulk(self._spark)
        tasks = bulk.to_list(self._table.newScan().planFiles())
        places = bulk.read(tasks, "ContentScanTask.file", "ContentFile.location")
        vectors = [int(files) - 1 for files in bulk.read(tasks, "ScanTask.filesCount")]
        wanted = set(paths)
        loader = delete_loader(self._spark, self._table)
        for index, (place, deletes) in enumerate(zip(places, vectors, strict=True)):
            if deletes and place in wanted:
                found.put(place, loader.loadPositionDeletes(tasks.get(index).deletes(), place))
        return found


def _items(values: Java) -> list[Java]:
    """The items of a Java list. Walking it to its end would be a Java exception, which takes 30 ms."""
    return [values.get(index) for index in range(int(values.size()))]
