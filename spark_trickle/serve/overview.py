"""What the first page says: how many stream tables are well, what needs somebody, who schedules, what was done.

Pure: from a moment of the lake and reports that are made elsewhere.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from spark_trickle.circles import SccStatus
from spark_trickle.conditions import Condition, State
from spark_trickle.grouping import GroupStatus
from spark_trickle.holds.fuse_report import FuseCondition, FuseStatus
from spark_trickle.holds.gate_report import BootstrapGateStatus
from spark_trickle.holds.watermark_report import WatermarkStatus
from spark_trickle.model.intervention import Intervention
from spark_trickle.model.refresh import Activity
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.serve.recent import HOUR
from spark_trickle.serve.timeline import Ranked, Timeline, busiest, slowest, timeline
from spark_trickle.watching import Moment

NEEDING_SOMEBODY = (State.FAILED, State.LATE, State.HELD, State.EMPTY)
"""In the order of how badly."""
LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One stream table in a list."""

    name: str
    namespace: str
    state: State
    because: str
    since: datetime | None
    behind_since: datetime | None
    """When the first change was made that is not in yet."""
    due_at: datetime | None
    held_by: tuple[str, ...]
    mode: str
    """The effective one."""
    wanted_mode: str
    schedule: str
    last_refresh_at: datetime | None
    data_timestamp: datetime | None
    epoch: int
    group: str | None
    """The id of the group or circle that it is published with."""
    diverged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRunning:
    tables: tuple[str, ...]
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerView:
    """Who schedules."""

    live: bool
    holder: str | None
    seen_at: datetime | None
    """When it was last heard of."""
    running: tuple[UnitRunning, ...]
    """What is being refreshed, by the scheduler or by somebody's hand through this page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    now: datetime
    generation: int
    counts: dict[str, int]
    """How many are in each state."""
    total: int
    scheduler: SchedulerView
    attention: tuple[TableRow, ...]
    attention_omitted: int
    gates: tuple[BootstrapGateStatus, ...]
    """The closed ones."""
    watermark_groups: tuple[WatermarkStatus, ...]
    fuses: tuple[FuseStatus, ...]
    """Those that are on."""
    circles: tuple[SccStatus, ...]
    groups: tuple[GroupStatus, ...]
    slowest: tuple[Ranked, ...]
    busiest: tuple[Ranked, ...]
    timeline: Timeline
    interventions: tuple[Intervention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """What is asked elsewhere for an overview."""

    activity: tuple[Activity, ...]
    gates: tuple[BootstrapGateStatus, ...] = ()
    watermark_groups: tuple[WatermarkStatus, ...] = ()
    fuses: tuple[FuseStatus, ...] = ()
    circles: tuple[SccStatus, ...] = ()
    groups: tuple[GroupStatus, ...] = ()
    interventions: tuple[Intervention, ...] = ()


def overview(moment: Moment, reports: Reports) -> Overview:
    rows = table_rows(moment)
    bad = sorted(
        (row for row in rows if row.state in NEEDING_SOMEBODY),
        key=lambda row: (NEEDING_SOMEBODY.index(row.state), row.name),
    )
    counted = Counter(row.state.value for row in rows)
    units = {
        str(name): (unit.id, tuple(str(member) for member in unit.members))
        for unit in moment.board.units
        for name in unit.members
    }
    return Overview(
        now=moment.now,
        generation=moment.known.cut.generation,
        counts={state.value: counted.get(state.value, 0) for state in State},
        total=len(rows),
        scheduler=scheduler_view(moment),
        attention=tuple(bad[:LISTED]),
        attention_omitted=max(0, len(bad) - LISTED),
        gates=tuple(gate for gate in reports.gates if gate.gated),
        watermark_groups=reports.watermark_groups,
        fuses=tuple(fuse for fuse in reports.fuses if fuse.fuse_state is not FuseCondition.DISABLED),
        circles=reports.circles,
        groups=reports.groups,
        slowest=slowest(reports.activity),
        busiest=busiest(reports.activity),
        timeline=timeline(reports.activity, moment.now, HOUR, units),
        interventions=reports.interventions,
    )


def scheduler_view(moment: Moment) -> SchedulerView:
    lease = moment.known.lease
    return SchedulerView(
        live=lease.live(moment.now),
        holder=lease.holder,
        seen_at=lease.ticked_at,
        running=tuple(
            UnitRunning(tables=tuple(str(name) for name in each.tables), since=each.since) for each in moment.running
        ),
    )


def table_rows(moment: Moment) -> list[TableRow]:
    """All stream tables, by name."""
    found = moment.conditions
    return [_row(table, found[name], moment) for name, table in sorted(moment.tables.items())]


def _row(table: StreamTable, condition: Condition, moment: Moment) -> TableRow:
    return TableRow(
        name=str(table.name),
        namespace=table.name.namespace,
        state=condition.state,
        because=condition.because,
        since=condition.since,
        behind_since=condition.behind_since,
        due_at=condition.due_at,
        held_by=condition.causes if condition.state is State.HELD else (),
        mode=table.effective_mode.value,
        wanted_mode=table.options.refresh_mode.value,
        schedule=table.options.schedule,
        last_refresh_at=table.last_refresh_at,
        data_timestamp=table.data_timestamp,
        epoch=table.epoch,
        group=moment.board.group(moment.board.unit_of[table.name]),
        diverged=table.diverged is not None,
    )
