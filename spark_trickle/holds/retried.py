"""Held for a while after a failure: it is tried again by itself. Whoever mends it clears its errors."""

from __future__ import annotations

from datetime import datetime

from spark_trickle.holds.rule import Held, Situation
from spark_trickle.holds.stopped import STOPPED
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import StreamTable


def by_failures(at: Situation) -> Held:
    tables = at.cut.tables
    return {
        name: (_hold(tables[name], standing),)
        for name, standing in at.standings.items()
        if standing.retry_at is not None and name in tables and _waits(tables[name], standing.retry_at, at.now)
    }


def _waits(table: StreamTable, retry_at: datetime, now: datetime) -> bool:
    return table.consecutive_errors > 0 and table.status not in STOPPED and retry_at > now


def _hold(table: StreamTable, standing: Standing) -> Hold:
    name, until = table.name, standing.retry_at
    times = "its last refresh" if table.consecutive_errors == 1 else f"its last {table.consecutive_errors} refreshes"
    return Hold(
        code=HoldCode.BACKING_OFF,
        member=name,
        text=f"{times} failed and it waits before the next try: {standing.error}",
        next_step=f"history('{name}') shows the errors; it is tried again by itself",
        cause=name,
        until=until,
        account=f"after its failure it is tried again at {until:%Y-%m-%d %H:%M:%S} UTC: {standing.error}",
    )
