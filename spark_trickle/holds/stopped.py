"""Held by its status: suspended, or in error. Until somebody resumes it."""

from __future__ import annotations

from spark_trickle.holds.rule import Held, Situation
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.stream_table import Status, StreamTable

STOPPED = frozenset({Status.SUSPENDED, Status.ERROR})


def by_status(at: Situation) -> Held:
    return {name: (_hold(table),) for name, table in at.cut.tables.items() if table.status in STOPPED}


def _hold(table: StreamTable) -> Hold:
    name = table.name
    because = f": {table.status_reason}" if table.status_reason else ""
    since = f" since {table.status_since:%Y-%m-%d %H:%M:%S} UTC" if table.status_since else ""
    resume = f"resume_stream_table('{name}')"
    if table.status is Status.SUSPENDED:
        return Hold(
            code=HoldCode.SUSPENDED,
            member=name,
            text=f"it is suspended{because}",
            next_step=resume,
            cause=name,
            account=f"'{name}' is suspended{since}{because}",
        )
    times = f" after {table.consecutive_errors} failed refreshes" if table.consecutive_errors > 1 else ""
    return Hold(
        code=HoldCode.ERROR,
        member=name,
        text=f"it is in error{because}",
        next_step=f"mend the cause, then {resume}",
        cause=name,
        account=f"'{name}' is in error{since}{times}{because}",
    )
