"""Ticks over ten thousand stream tables in which nothing happens, or only somewhere else. No Spark is started."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

import spark_trickle as trickle
from bench.graphs import small_diamonds
from bench.measure import Line, timed
from spark_trickle.catalog import stream_tables
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.tables import ICEBERG_TABLES
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.publication import Swap
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import LAKE, TableName

NOW = datetime(2026, 1, 1, tzinfo=UTC)


OTHERS = (0, 100_000)
"""Tables of the lake that no stream table reads."""


def run(repeat: int) -> list[Line]:
    return [line for others in OTHERS for line in _run(repeat, others)]


def _run(repeat: int, others: int) -> list[Line]:
    beside = f" beside {others:,} other tables" if others else ""
    with tempfile.TemporaryDirectory(prefix="trickle-bench-") as folder:
        catalog = Catalog.open(f"sqlite:///{folder}/trickle.db")
        count = fill(catalog, others)
        with trickle.connect(folder) as engine:
            engine.tick(NOW + timedelta(hours=1))
            moments = iter(NOW + timedelta(hours=2 + i) for i in range(10_000))
            lines = []
            for what, before in _cases(catalog, Path(folder)).items():
                times = []
                for _ in range(max(repeat, 5)):
                    before()
                    times.append(timed(lambda: engine.tick(next(moments))))
                text = f"idle tick over {count:,} stream tables{beside}, {what}, ms"
                idle = before is _nothing
                aimed = idle and not others
                target, met = ("< 50 ms", statistics.median(times) < 50) if aimed else ("", True)
                lines.append(Line(text, statistics.median(times), None, target, met))
        catalog.close()
    return lines


def _cases(catalog: Catalog, folder: Path) -> dict[str, Callable[[], object]]:
    numbers = iter(range(1_000_000))

    def elsewhere() -> None:
        catalog.swap([Swap(TableName("default", f"elsewhere{next(numbers)}"), None, f"file:{folder}/m.json")])

    return {"nothing was written": _nothing, "a table that nobody reads was written": elsewhere}


def _nothing() -> None: ...


def fill(catalog: Catalog, others: int) -> int:
    """Stream tables that are all up to date, each with a piece of state, and tables that nobody reads."""
    tables = [_up_to_date(table) for table in small_diamonds().values()]
    unread = _pins(TableName("raw", f"other{number}") for number in range(others))
    read = (pin for table in tables for pin in (*table.frontier.pins, *table.published))
    heads = {pin.table: pin.location for pin in (*read, *unread)}
    with catalog.write() as connection:
        for table in tables:
            stream_tables.insert(connection, table)
        rows = [
            {
                "catalog_name": LAKE,
                "table_namespace": name.namespace,
                "table_name": name.name,
                "metadata_location": location,
                "iceberg_type": "TABLE",
            }
            for name, location in heads.items()
        ]
        connection.execute(sa.insert(ICEBERG_TABLES), rows)
    return len(tables)


def _up_to_date(table: StreamTable) -> StreamTable:
    state = TableName("trickle_internal", f"{table.name.name}__state")
    return replace(
        table,
        frontier=Frontier(_pins(source.table for source in table.sources)),
        published=_pins((table.name, state)),
        internal_tables=(state,),
        data_timestamp=NOW,
        last_refresh_at=NOW,
    )


def _pins(names: Iterable[TableName]) -> tuple[Pin, ...]:
    name_of = "file:/warehouse/{0.namespace}/{0.name}/metadata/00001-0b1f7f0e-8a58-4c3c-9b7e-5d1f6f1c9a11.metadata.json"
    return tuple(Pin(name, f"uuid-{name}", 1, 0, name_of.format(name)) for name in names)
