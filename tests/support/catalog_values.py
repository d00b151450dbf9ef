"""Small values for tests of the catalog: complete, and different where a test says so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.refresh import Action, HistoryRow, Outcome
from spark_trickle.model.stream_table import Options, RefreshMode, Source, Status, StreamTable
from spark_trickle.names import TableName

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def pin(name: str, snapshot_id: int | None = 1, location: str = "m1.json") -> Pin:
    return Pin(TableName.parse(name), f"uuid-of-{name}", snapshot_id, 0, f"file:/wh/{name}/{location}")


def stream_table(name: str, reads: tuple[str, ...] = ("orders",), **changes: Any) -> StreamTable:
    values: dict[str, Any] = {
        "name": TableName.parse(name),
        "query": f"select * from {reads[0] if reads else 'nothing'}",
        "normalized_query": "SELECT *",
        "options": Options(),
        "status": Status.ACTIVE,
        "effective_mode": RefreshMode.DIFFERENTIAL,
        "sources": tuple(Source(table=TableName.parse(source), kind="TABLE") for source in reads),
        "created_at": NOON,
    }
    return StreamTable(**(values | changes))


def history_row(name: str, **changes: Any) -> HistoryRow:
    values: dict[str, Any] = {
        "name": name,
        "action": Action.DIFFERENTIAL,
        "status": Outcome.COMPLETED,
        "mode": "DIFFERENTIAL",
        "reason": None,
        "error": None,
        "started_at": NOON,
        "duration_ms": 12.5,
        "rows_inserted": 3,
        "rows_deleted": 1,
        "frontier": Frontier((pin("orders", 7),)),
        "cut": "c1",
        "group": None,
        "epoch": 4,
        "jobs": 2,
        "commits": 1,
        "initiated_by": "MANUAL",
    }
    return HistoryRow(**(values | changes))
