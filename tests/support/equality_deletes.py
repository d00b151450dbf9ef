"""Deletes by value, as streaming writers commit them: Spark cannot write one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession


def delete_equal(spark: SparkSession, table: Any, column: str, values: Sequence[int | str]) -> None:
    """Commit a delete of every row that has one of the values now.

    Args:
        table: Iceberg's own.
    """
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    numbers = gateway.new_array(jvm.int, 1)
    numbers[0] = table.schema().findField(column).fieldId()
    schema = table.schema().select(jvm.java.util.List.of(column))
    factory = jvm.org.apache.iceberg.data.GenericAppenderFactory(table.schema(), table.spec(), numbers, schema)
    place = table.locationProvider().newDataLocation(f"equality-deletes-{uuid4().hex}.parquet")
    encrypted = jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(table.io().newOutputFile(place))
    writer = factory.newEqDeleteWriter(encrypted, jvm.org.apache.iceberg.FileFormat.PARQUET, None)
    for value in values:
        record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
        record.setField(column, value)
        writer.write(record)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
