"""The changes that all engines are given: the shop's cycles in the lake, and what they changed as files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from bench.peers.answers import Answer
from bench.peers.needs import COLUMNS, TEXTS, WEIGHT, batch_name
from bench.tpch import data, queries
from bench.tpch.changes import Amounts, Shop
from spark_trickle.engine import Engine


class Stream:
    """The lake, and the shop that writes it. Each query's story starts from the tables as they were loaded."""

    def __init__(self, engine: Engine, files: Path, scale: float, fraction: float) -> None:
        self._engine = engine
        self._files = files
        self._scale = scale
        data.generate(files, scale)
        data.load(engine, files)
        data.restore(engine)
        self._counts = data.row_counts(engine)
        self.rows = round(sum(self._counts.values()) * fraction)
        self._shop = self._new_shop()

    def restart(self) -> None:
        """Bring the lake back to how it was loaded. The cycles that come are the same as before."""
        data.restore(self._engine)
        self._shop = self._new_shop()

    def cycle(self, batch: int) -> None:
        """Change the lake; write what changed to the batch's folder, if an earlier story has not."""
        before = self._snapshots()
        self._shop.cycle()
        folder = self._files / batch_name(batch)
        if (folder / "complete").exists():
            return
        folder.mkdir(exist_ok=True)
        for table, until in self._snapshots().items():
            if until != before[table]:
                self._export(table, before[table], until, folder)
        (folder / "complete").touch()

    def expected(self, number: int) -> Answer:
        """The answer, as Spark computes the query itself."""
        return self._rows(queries.text(number, self._scale))

    def published(self, number: int) -> Answer:
        """The answer that our engine has published."""
        return self._rows(f"SELECT * FROM {queries.stream_table(number)}")

    def verified(self, number: int) -> bool:
        """Whether our engine's own proof holds, too."""
        return self._engine.verify(queries.stream_table(number)).ok

    def _rows(self, sql: str) -> Answer:
        return [[str(value) for value in row] for row in self._engine.spark.sql(sql).collect()]

    def _new_shop(self) -> Shop:
        amounts = Amounts.of(self.rows, self._counts)
        return Shop(lambda sql: self._engine.spark.sql(sql).collect(), amounts, self._counts)

    def _snapshots(self) -> dict[str, int]:
        def current(table: str) -> int:
            history = f"SELECT snapshot_id FROM {data.NAMESPACE}.{table}.history ORDER BY made_current_at DESC LIMIT 1"
            return int(self._engine.spark.sql(history).collect()[0].snapshot_id)

        return {table: current(table) for table in sorted({name for needed in COLUMNS.values() for name in needed})}

    def _export(self, table: str, since: int, until: int, folder: Path) -> None:
        changed = self._engine.changes(table, since, until).toArrow()
        pyarrow.parquet.write_table(changed, folder / f"{table}.parquet")
        for number, needed in COLUMNS.items():
            if table in needed:
                there = folder / f"flink-q{number:02}"
                there.mkdir(exist_ok=True)
                lines = debezium(changed.select([*needed[table], WEIGHT]).to_pylist())
                (there / f"{table}.json").write_text("\n".join([*lines, ""]), encoding="utf-8")


def write_first(files: Path, number: int) -> None:
    """What is there at first, as CSV for Flink, which brings no reader of Parquet. Not in any time that is measured."""
    for table, columns in COLUMNS[number].items():
        folder = files / f"flink-q{number:02}" / table
        if folder.exists():
            continue
        read = pyarrow.dataset.dataset(files / table).to_table(columns=list(columns))
        # Its writer knows no views of strings.
        plain = [pa.field(field.name, pa.string()) if field.name in TEXTS else field for field in read.schema]
        folder.mkdir(parents=True)
        options = pyarrow.csv.WriteOptions(include_header=False)
        pyarrow.csv.write_csv(read.cast(pa.schema(plain)), folder / "rows.csv", options)


def debezium(rows: list[dict[str, object]]) -> Iterator[str]:
    """Changed rows as Debezium writes them, those that went first."""
    for row in sorted(rows, key=lambda row: int(str(row[WEIGHT]))):
        weight = int(str(row[WEIGHT]))
        values = {name: value if isinstance(value, int) else str(value) for name, value in row.items()}
        del values[WEIGHT]
        came = weight > 0
        said = {"op": "c" if came else "d", "before": None if came else values, "after": values if came else None}
        for _ in range(abs(weight)):
            yield json.dumps(said)
