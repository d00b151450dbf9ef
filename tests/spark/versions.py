"""What tests of changes share: a table with versions, and the change between two of them told the slow way.

The slow way reads both versions whole with Spark's own time travel and subtracts the multisets; rows are compared by
their printed form, which tells 0.0 from -0.0 and knows NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import load, pin
from spark_trickle.storage.windows import Broken, Window

MERGE_ON_READ = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}
COPY_ON_WRITE = {f"write.{command}.mode": "copy-on-write" for command in ("delete", "update", "merge")}


@dataclass
class Table:
    """A table under test."""

    spark: SparkSession
    feed: ChangeFeed
    name: TableName

    def run(self, *statements: str) -> None:
        """Run SQL in which `{t}` is this table."""
        for statement in statements:
            self.spark.sql(statement.format(t=self.name.sql))

    def call(self, procedure: str, arguments: str = "") -> None:
        named = f"'{self.name.namespace}.{self.name.name}'"
        self.spark.sql(f"CALL lake.system.{procedure}(table => {named}{', ' + arguments if arguments else ''})")

    @property
    def java(self) -> Any:
        return load(self.spark, self.name)

    def pin(self) -> Pin:
        return pin(self.java, self.name)

    def snapshot(self) -> int:
        found = self.pin().snapshot_id
        assert found is not None
        return found

    def operations(self) -> list[str]:
        return [str(snapshot.operation()) for snapshot in self.java.snapshots()]

    def window(self, since: Pin | None, columns: Sequence[str] | None = None, until: int | None = None) -> Window:
        found = self.feed.window(self.name, since, columns, until)
        assert isinstance(found, Window), found
        return found

    def broken(self, since: Pin | None, columns: Sequence[str] | None = None, until: int | None = None) -> str:
        found = self.feed.window(self.name, since, columns, until)
        assert isinstance(found, Broken), found
        return found.reason

    def changes(
        self, since: Pin | None, columns: Sequence[str] | None = None, until: int | None = None
    ) -> Counter[str]:
        """The feed's answer: printed row -> weight. Fails if a row has both signs or the window lied."""
        window = self.window(since, columns, until)
        frame = self.feed.frame(window, columns)
        weights: Counter[str] = Counter()
        signs: dict[str, int] = {}
        deleted = 0
        for row in frame.collect():
            *values, weight = row
            printed, sign = repr(values), 1 if weight > 0 else -1
            assert signs.setdefault(printed, sign) == sign, f"{printed} has both signs"
            assert weight != 0, printed
            weights[printed] += weight
            deleted += max(-weight, 0)
        assert sum(abs(weight) for weight in weights.values()) <= window.rows
        assert deleted <= window.deleted_rows
        assert not (window.insert_only and deleted)
        assert not (window.empty and weights)
        return weights

    def rows(self, snapshot: int | None, columns: Sequence[str] | None = None) -> Counter[str]:
        wanted = ", ".join(columns) if columns is not None else "*"
        frame: DataFrame = self.spark.sql(
            f"SELECT {wanted} FROM {self.name.sql} VERSION AS OF {snapshot}"
            if snapshot is not None
            else f"SELECT {wanted} FROM {self.name.sql} WHERE false"
        )
        return Counter(repr(list(row)) for row in frame.collect())

    def check(self, since: Pin, columns: Sequence[str] | None = None, until: int | None = None) -> Counter[str]:
        """The feed's answer, after it was found equal to the difference of the two versions."""
        expected = self.rows(until if until is not None else self.pin().snapshot_id, columns)
        expected.subtract(self.rows(since.snapshot_id, columns))
        found = self.changes(since, columns, until)
        assert found == Counter({row: weight for row, weight in expected.items() if weight})
        return found


@dataclass
class Lab:
    """Makes tables in a namespace of its own."""

    spark: SparkSession
    namespace: str

    def __post_init__(self) -> None:
        self.feed = ChangeFeed(self.spark)

    def table(
        self, columns: str, *, format_version: int = 3, properties: dict[str, str] | None = None, clauses: str = ""
    ) -> Table:
        name = TableName(self.namespace, "t")
        options = {"format-version": str(format_version), **(MERGE_ON_READ if properties is None else properties)}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        self.spark.sql(f"CREATE TABLE {name.sql} ({columns}) USING iceberg {clauses} TBLPROPERTIES ({listed})")
        return Table(self.spark, self.feed, name)
