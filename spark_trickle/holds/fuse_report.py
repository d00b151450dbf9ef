"""Fuses as users see them: one row a stream table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spark_trickle.holds.fuse_limits import SENSITIVITY, effective_ceiling, limits
from spark_trickle.model.stream_table import Fuse, StreamTable


class FuseCondition(StrEnum):
    DISABLED = "disabled"
    ARMED = "armed"
    BLOWN = "blown"


@dataclass(frozen=True, slots=True, kw_only=True)
class FuseStatus:
    """One fuse, as `fuse_status` lists it."""

    stream_table: str
    fuse_mode: Fuse
    fuse_state: FuseCondition
    fuse_ceiling: int | None
    effective_ceiling: int | None
    """With the setting `fuse_default_ceiling`; None: there is none."""
    fuse_sensitivity: float
    known_changes: int
    """How many of the last changes are known, by which `auto` judges."""
    expected_rows: int | None
    """More changed rows than that are too many; None: it does not judge yet."""
    expected_deleted: int | None
    blown_at: datetime | None
    blow_reason: str | None
    diverged: str | None
    """Since when, and by whom, it does not equal its query."""


def condition(table: StreamTable) -> FuseCondition:
    if table.options.fuse is Fuse.OFF:
        return FuseCondition.DISABLED
    return FuseCondition.ARMED if table.fuse.blown is None else FuseCondition.BLOWN


def fuse_status(tables: Iterable[StreamTable], default_ceiling: int) -> list[FuseStatus]:
    """All of them, by name."""
    rows = []
    for table in tables:
        options, allowed = table.options, limits(table.options, table.fuse, default_ceiling)
        blown = table.fuse.blown if condition(table) is FuseCondition.BLOWN else None
        rows.append(
            FuseStatus(
                stream_table=str(table.name),
                fuse_mode=options.fuse,
                fuse_state=condition(table),
                fuse_ceiling=options.fuse_ceiling,
                effective_ceiling=effective_ceiling(options, default_ceiling),
                fuse_sensitivity=options.fuse_sensitivity or SENSITIVITY,
                known_changes=len(table.fuse.changes),
                expected_rows=min((limit.rows for limit in allowed.rows), default=None),
                expected_deleted=min((limit.rows for limit in allowed.deleted), default=None),
                blown_at=None if blown is None else blown.at,
                blow_reason=None if blown is None else blown.reason,
                diverged=None if table.diverged is None else str(table.diverged),
            )
        )
    return rows
