"""Why a stream table is not refreshing: what stands in its way, and what it waits for though nothing does. Pure.

Obstacles of its own and of those above it are told by `views.why_of`; here are those of its group, and what only the
scheduler knows. Everything comes from the catalog, so that any process can ask, whether a scheduler runs or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from spark_trickle.gates.held import held
from spark_trickle.graph.units import plan_units
from spark_trickle.model.publication import Cut
from spark_trickle.model.standing import Hold, HoldCode, LeaseRow, Standing
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.refresh.damage import put_back, renamed_to
from spark_trickle.refresh.decide import written_past
from spark_trickle.refresh.run import dag_of
from spark_trickle.scheduler.board import Board, make_board
from spark_trickle.scheduler.plan import backing_off, backs_off, has_work, holds
from spark_trickle.views import Reason, WhyAnswer, why_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What there is to know at one moment."""

    cut: Cut
    standings: Mapping[TableName, Standing]
    lease: LeaseRow
    now: datetime
    default_schedule: timedelta

    def board(self) -> Board:
        return make_board(plan_units(self.cut.tables, self.cut.groups), self.cut.tables, self.default_schedule)


def why(name: TableName, known: Known) -> WhyAnswer:
    """Every reason, transitively, each with what to do."""
    tables = known.cut.tables
    if name not in tables:
        raise no_stream_table(name, tables)
    table, board = tables[name], known.board()
    above = dag_of(tables.values()).upstream(name)
    missing = [source for source in sorted(above) if source not in known.cut.pointers and source not in tables]
    renamed = {source: found for source in missing if (found := _renamed(source, known)) is not None}
    ancestors = [tables[each] for each in sorted(above) if each in tables]
    gated = held(tables, known.cut.gates)
    answer = why_of(table, ancestors, missing=[source for source in missing if source not in renamed], gated=gated)
    told = {name, *above}
    by_status = holds(tables, board.unit_of, gated).get(board.unit_of[name], ())
    by_failure = backing_off(tables, board.unit_of, known.standings, known.now).get(board.unit_of[name], ())
    reasons = [*answer.reasons, *_of_group(board, name, [h for h in (*by_status, *by_failure) if h.member not in told])]
    for source, found in renamed.items():
        text = f"its source '{source}' was renamed to '{found}'"
        reasons.append(Reason(text, f"ALTER TABLE {found} RENAME TO {source} puts it back", str(source)))
    reasons += [reason for each in (table, *ancestors) for reason in _lost(each, known)]
    waits = [*_touched(table, known), *_waits(table, board, known)]
    for ancestor in ancestors:
        waits += [
            replace(wait, text=f"it reads '{ancestor.name}', which has changes to take in: {wait.text}")
            for wait in _waits(ancestor, board, known, scheduler=False)
            if has_work([ancestor], known.cut.pointers)
        ]
    return WhyAnswer(str(name), not reasons, tuple(reasons), tuple(waits))


def _renamed(source: TableName, known: Known) -> TableName | None:
    """Where a source that is gone is now, if one of those that read it remembers where it was."""
    pins = (pin for table in known.cut.tables.values() if (pin := table.frontier.of(source)) is not None)
    return next((found for pin in pins if (found := renamed_to(pin, known.cut.pointers)) is not None), None)


def _lost(table: StreamTable, known: Known) -> list[Reason]:
    """Tables of its own that are not there, where a refresh would not simply make them again."""
    reasons = []
    for pin in table.published:
        if pin.table in known.cut.pointers:
            continue
        renamed = renamed_to(pin, known.cut.pointers)
        if renamed is not None:
            text = f"'{pin.table}' was renamed to '{renamed}' by plain SQL"
            reasons.append(Reason(text, put_back(pin.table, renamed, table.name), str(table.name)))
        elif table.options.strict:
            text = f"'{pin.table}' was dropped by somebody, and '{table.name}' is strict"
            reasons.append(Reason(text, f"refresh_stream_table('{table.name}', mode='FULL')", str(table.name)))
    return reasons


def _touched(table: StreamTable, known: Known) -> list[Reason]:
    """What somebody did to its own tables, as far as the catalog can tell: that something was done."""
    name, heads = str(table.name), known.cut.pointers
    for pin in table.published:
        whose = f"'{pin.table}'" if pin.table == table.name else f"its internal state '{pin.table.name}'"
        if pin.table not in heads:
            if renamed_to(pin, heads) is None and not table.options.strict:
                text = f"{whose} was dropped by somebody: the next refresh makes it again"
                return [Reason(text, f"wait, or refresh_stream_table('{name}')", name)]
        elif heads[pin.table].location != pin.location:
            text = (
                f"{whose} was changed since its last refresh, and not by one (plain SQL, or maintenance): the next "
                "refresh looks whether rows or columns are others, and then starts over"
            )
            step = f"refresh_stream_table('{name}', mode='FULL')" if table.options.strict else "wait"
            return [Reason(text, f"{step}; write to its sources, not to it", name)]
    return []


def _of_group(board: Board, name: TableName, found: list[Hold]) -> list[Reason]:
    """What lies in members beside it: they are published together, or not at all."""
    group = board.group(board.unit_of[name])
    return [
        Reason(
            f"it is published together with '{hold.member}' (group {group}), and of that: {hold.text}",
            _NEXT[hold.code].format(name=hold.member),
            str(hold.member),
        )
        for hold in found
    ]


_NEXT = {
    HoldCode.SUSPENDED: "resume_stream_table('{name}')",
    HoldCode.ERROR: "mend the cause, then resume_stream_table('{name}')",
    HoldCode.GATED: "source_gates() lists the gates; ungate the source when its load is complete",
    HoldCode.BACKING_OFF: "history('{name}') shows the errors; it is tried again by itself",
    HoldCode.OVERTAKEN: "nothing: the next tick looks again",
}


def _waits(table: StreamTable, board: Board, known: Known, *, scheduler: bool = True) -> list[Reason]:
    """What it waits for though nothing is wrong."""
    name = str(table.name)
    immediate = table.effective_mode is RefreshMode.IMMEDIATE
    if immediate and not has_work([table], known.cut.pointers):
        text = "it is IMMEDIATE: transactions that write its sources refresh it, and no schedule does"
        return [Reason(text, "write through engine.sql or engine.transaction()", name)] if scheduler else []
    found = []
    if scheduler and not known.lease.live(known.now):
        last = known.lease.ticked_at
        text = "no scheduler is running" + (f"; one was last seen at {_moment(last)}" if last else "")
        found.append(Reason(text, "`trickle run` (engine.run()), or `trickle tick` for one pass", name))
    if immediate:
        return [*found, _behind(table, known)]
    standing = known.standings.get(table.name)
    if backs_off(table, standing, known.now) and standing is not None and standing.retry_at is not None:
        text = f"after its failure it is tried again at {_moment(standing.retry_at)}: {standing.error}"
        found.append(Reason(text, f"mend the cause; refresh_stream_table('{name}') tries at once", name))
    unit = board.unit_of[table.name]
    if not has_work(board.members(unit, known.cut.tables), known.cut.pointers):
        since = f" since its last refresh, at {_moment(table.last_refresh_at)}" if table.last_refresh_at else ""
        found.append(Reason(f"nothing that it reads has changed{since}", "nothing: it is up to date", name))
        return found
    due = board.due_at(unit, known.cut.tables, known.standings, None)
    if due > known.now:
        found.append(_not_due(table, board, due))
    if standing is not None and standing.slowed > 1:
        text = f"its refreshes take longer than its schedule, so it waits {standing.slowed} times as long"
        found.append(Reason(text, f"alter_stream_table('{name}', schedule=...) gives it a longer schedule", name))
    return found


def _behind(table: StreamTable, known: Known) -> Reason:
    """An IMMEDIATE stream table whose sources have moved without it."""
    heads = known.cut.pointers
    moved = [
        pin.table for pin in table.frontier.pins if pin.table in heads and heads[pin.table].location != pin.location
    ]
    past = written_past([str(each) for each in moved if each not in known.cut.tables])
    text = f"it is IMMEDIATE, and behind: {past}" if moved else "it is IMMEDIATE, and has not been loaded yet"
    return Reason(
        text, f"the next tick catches it up; refresh_stream_table('{table.name}') does it now", str(table.name)
    )


def _not_due(table: StreamTable, board: Board, due: datetime) -> Reason:
    unit = board.unit_of[table.name]
    whose = f"its group, by its {board.policy(unit)} member," if board.group(unit) else "it"
    text = f"{whose} is not due until {_moment(due)} ({board.rhythms[table.name]})"
    step = f"wait, or refresh_stream_table('{table.name}') now; alter_stream_table(..., schedule=...) makes it sooner"
    return Reason(text, step, str(table.name))


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
