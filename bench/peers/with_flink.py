"""The measured process of Flink SQL. Runs in Flink's environment, so it imports of ours only what imports nothing.

A table is what was there at first (CSV files) and what changed (a folder that Flink looks into, files of Debezium's
JSON, whose deletions Flink understands): `UNION ALL` of both. The queries are the text of the benchmark, without an
order that nobody sees. State is on the heap, Flink's default; decimals are decimals.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

from bench.peers.needs import COLUMNS, DATES, DECIMALS, TEXTS, batch_name
from bench.peers.wire import Wire

SETTINGS = {
    "parallelism.default": "1",
    "rest.address": "127.0.0.1",
    # Without it each row that comes changes the answer, twice.
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "100 ms",
    "table.exec.mini-batch.size": "20000",
}
LOOK_EVERY = "100 ms"


def main(files: Path, watched: Path, number: int, text: str) -> None:
    """Start the query; say its answer whenever it changes."""
    wire = Wire()
    settings = Configuration()
    for key, value in SETTINGS.items():
        settings.set_string(key, value)
    environment = TableEnvironment.create(
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(settings).build()
    )
    for table, columns in COLUMNS[number].items():
        (watched / table).mkdir(parents=True)
        _create(environment, f"first_{table}", columns, files / f"flink-q{number:02}" / table, "'format' = 'csv'")
        follow = f"'format' = 'debezium-json', 'source.monitor-interval' = '{LOOK_EVERY}'"
        _create(environment, f"changed_{table}", columns, watched / table, follow)
        environment.execute_sql(
            f"CREATE VIEW {table} AS SELECT * FROM first_{table} UNION ALL SELECT * FROM changed_{table}"
        )
    answer = environment.execute_sql(text)
    threading.Thread(target=_hand_on, args=(wire, files, watched, number), daemon=True).start()
    _tell(wire, answer)


def _create(environment: Any, name: str, columns: tuple[str, ...], folder: Path, settings: str) -> None:
    listed = ", ".join(f"{column} {_type(column)}" for column in columns)
    environment.execute_sql(
        f"CREATE TABLE {name} ({listed}) WITH ('connector' = 'filesystem', 'path' = '{folder}', {settings})"
    )


def _type(column: str) -> str:
    if column in DECIMALS:
        return "DECIMAL(15, 2)"
    return "DATE" if column in DATES else "STRING" if column in TEXTS else "BIGINT"


def _tell(wire: Wire, answer: Any) -> None:
    """Rows come one by one, as what came and what went: no row says that it is the last for now."""
    rows: dict[tuple[str, ...], int] = {}
    for row in answer.collect():
        values = tuple(str(value) for value in row)
        kind = row.get_row_kind().name
        came = kind in ("INSERT", "UPDATE_AFTER")
        rows[values] = rows.get(values, 0) + (1 if came else -1)
        if not rows[values]:
            del rows[values]
        if kind != "UPDATE_BEFORE":  # what it becomes comes next
            wire.answer([values for values, times in rows.items() for _ in range(times)])


def _hand_on(wire: Wire, files: Path, watched: Path, number: int) -> None:
    for batch in wire.batches():
        for table in COLUMNS[number]:
            file = files / batch_name(batch) / f"flink-q{number:02}" / f"{table}.json"
            if file.exists():
                os.link(file, watched / table / f"{batch}.json")
    os._exit(0)  # the bench is gone


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
