"""Why a stream table is not refreshing: what stands in its way, and what it waits for though nothing does. Pure.

What holds it is asked of the same rules that the scheduler asks (`holds`). Everything comes from the catalog, so that
any process can ask, whether a scheduler runs or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from spark_trickle.holds.aligned import AlignedVersions
from spark_trickle.holds.alignment import alignment, stuck, stuck_text
from spark_trickle.holds.held_back import held_back, waiting
from spark_trickle.holds.rule import Held
from spark_trickle.holds.rules import by_unit, held
from spark_trickle.known import Known
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.refresh.damage import put_back, renamed_to
from spark_trickle.refresh.decide import written_past
from spark_trickle.refresh.run import dag_of
from spark_trickle.scheduler.board import Board
from spark_trickle.scheduler.plan import has_work
from spark_trickle.views import Reason, WhyAnswer

MOST_CONCERNED = 100
"""Of how many stream tables the last refresh is looked up."""


def concerned(name: TableName, tables: Mapping[TableName, StreamTable]) -> list[TableName]:
    """Those whose last refresh says something about this one: itself and what is above it, itself first."""
    if name not in tables:
        return []
    return [name, *(each for each in sorted(dag_of(tables.values()).upstream(name)) if each in tables)][:MOST_CONCERNED]


def why(name: TableName, known: Known, board: Board | None = None) -> WhyAnswer:
    """Every reason, transitively, each with what to do. `board`: spares making it, where somebody has it."""
    tables = known.cut.tables
    if name not in tables:
        raise no_stream_table(name, tables)
    table, board = tables[name], board or known.board()
    dag = dag_of(tables.values())
    above, circle = dag.upstream(name), dag.circle_of(name)
    ancestors = [tables[each] for each in sorted(above) if each in tables]
    situation = board.situation(known.cut, known.now, standings=known.standings, stuck_after=known.stuck_after)
    back = held_back(situation)
    found, aligned_of = held(replace(situation, back=back)), back.aligned_of
    unit = board.unit_of[name]
    beside = [hold for hold in by_unit(found, board.unit_of).get(unit, ()) if hold.member not in {name, *above}]
    reasons = [
        *_of_sources(table, ancestors, found),
        *_of_itself(table, found, known),
        *(_read(ancestor, reason) for ancestor in ancestors for reason in _of_itself(ancestor, found, known)),
        *_missing(above, known),
        *_of_group(board.group(unit), beside),
        *(reason for each in (table, *ancestors) for reason in _lost(each, known)),
    ]
    waits = [*_under_way(table, known), *_touched(table, known), *_waits(table, board, known, found, aligned_of)]
    for ancestor in (each for each in ancestors if each.name not in circle):
        waits += [
            replace(wait, text=f"it reads '{ancestor.name}', which has changes to take in: {wait.text}")
            for wait in _waits(ancestor, board, known, found, aligned_of, scheduler=False)
            if has_work([ancestor], _heads(ancestor, known, aligned_of))
        ]
    if reasons or _under_way(table, known):
        # Whoever is held may have all there is; that is no answer to why it is held.
        waits = [wait for wait in waits if wait.next_step != _UP_TO_DATE]
    # That somebody asked for FULL is no news to them.
    whole = table.mode_reason if table.options.refresh_mode is not RefreshMode.FULL else None
    return WhyAnswer(str(name), not reasons, tuple(reasons), tuple(waits), whole)


_UP_TO_DATE = "nothing: it is up to date"


def _of_sources(table: StreamTable, ancestors: Iterable[StreamTable], found: Held) -> list[Reason]:
    """What holds it from above; or, where that does not concern it, what it reads. Each cause once."""
    reasons, told = [], set()
    for each in (table, *ancestors):
        for hold in found.get(each.name, ()):
            if hold.via is None or (hold.code, hold.cause) in told:
                continue
            told.add((hold.code, hold.cause))
            reason = Reason(hold.in_full, hold.next_step, str(hold.cause))
            reasons.append(reason if each.name == table.name else _read(each, reason))
    return reasons


def _of_itself(table: StreamTable, found: Held, known: Known) -> list[Reason]:
    """What holds it, or goes badly, and lies in itself. That it is tried again is told with what it waits for."""
    name, holds = str(table.name), found.get(table.name, ())
    reasons = [
        Reason(hold.in_full, hold.next_step, name)
        for hold in holds
        if hold.via is None and hold.code is not HoldCode.BACKING_OFF
    ]
    because = f": {table.status_reason}" if table.status_reason else ""
    if table.status is Status.INITIALIZING:
        text, load = f"'{name}' was created and holds nothing yet{because}", f"refresh_stream_table('{name}')"
        waits_for = [word for code, word in _LOADS_AFTER if any(hold.code is code for hold in holds)]
        if waits_for:
            what = f"its first load waits for the {' and the '.join(waits_for)}"
            text, load = f"{text}; {what}", f"wait, or {load} loads what is there"
        reasons.append(Reason(text, load, name))
    if table.status is Status.ACTIVE and table.consecutive_errors:
        text = f"the last {table.consecutive_errors} refreshes of '{name}' failed{because}"
        reasons.append(Reason(text, f"history('{name}') shows the errors; the next refresh tries again", name))
    elif table.status in (Status.ACTIVE, Status.INITIALIZING):
        reasons += _failed_by_hand(table, known)
    return reasons


def _failed_by_hand(table: StreamTable, known: Known) -> list[Reason]:
    """A refresh that somebody asked for and that failed: it counts as no error of the scheduler's, so that its row in
    the history is all that there is of it."""
    name, last = str(table.name), known.attempts.get(table.name)
    if last is None or last.status is not Outcome.FAILED or last.started_at < table.created_at:
        return []
    if any(table.name in each.tables for each in known.running):
        return []
    by = "by hand" if last.initiated_by == "MANUAL" else f"by {last.initiated_by.lower()}"
    text = f"its last refresh, {by} at {_moment(last.started_at)}, failed: {last.error or last.reason}"
    return [Reason(text, f"mend the cause; refresh_stream_table('{name}') tries again", name)]


def _under_way(table: StreamTable, known: Known) -> list[Reason]:
    began = min((each.since for each in known.running if table.name in each.tables), default=None)
    text = f"it is being refreshed, since {_moment(began)}" if began else ""
    return [Reason(text, "wait", str(table.name))] if began else []


_LOADS_AFTER = ((HoldCode.AWAY, "catalogs"), (HoldCode.GATED, "gates"), (HoldCode.WATERMARK, "watermarks"))


def _read(ancestor: StreamTable, reason: Reason) -> Reason:
    return replace(reason, text=f"it reads '{ancestor.name}', and {reason.text}")


def _missing(above: Iterable[TableName], known: Known) -> list[Reason]:
    """Sources that are gone: renamed, where somebody remembers where they were, or dropped."""
    dropped, moved = [], []
    for source in sorted(above):
        if source in known.cut.pointers or source in known.cut.tables or source in known.cut.away:
            continue
        found = _renamed(source, known)
        if found is None:
            text = f"its source '{source}' does not exist"
            dropped.append(Reason(text, f"create '{source}' again, or drop the stream table", str(source)))
        else:
            text = f"its source '{source}' was renamed to '{found}'"
            moved.append(Reason(text, f"ALTER TABLE {found} RENAME TO {source} puts it back", str(source)))
    return [*dropped, *moved]


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


def _of_group(group: str | None, beside: Iterable[Hold]) -> list[Reason]:
    """What lies in members beside it: they are published together, or not at all."""
    return [
        Reason(
            f"it is published together with '{hold.member}' (group {group}), and of that: {hold.text}",
            hold.next_step,
            str(hold.member),
        )
        for hold in beside
    ]


def _waits(
    table: StreamTable,
    board: Board,
    known: Known,
    found: Held,
    aligned_of: Mapping[TableName, AlignedVersions],
    *,
    scheduler: bool = True,
) -> list[Reason]:
    """What it waits for though nothing is wrong."""
    name = str(table.name)
    immediate = table.effective_mode is RefreshMode.IMMEDIATE
    if immediate and not has_work([table], known.cut.pointers):
        text = "it is IMMEDIATE: transactions that write its sources refresh it, and no schedule does"
        return [Reason(text, "write through engine.sql or engine.transaction()", name)] if scheduler else []
    waits = []
    if scheduler and not known.lease.live(known.now):
        last = known.lease.ticked_at
        text = "no scheduler is running" + (f"; one was last seen at {_moment(last)}" if last else "")
        waits.append(Reason(text, "`trickle run` (engine.run()), or `trickle tick` for one pass", name))
    if immediate:
        return [*waits, _behind(table, known)]
    standing = known.standings.get(table.name)
    waits += [
        Reason(hold.in_full, f"mend the cause; refresh_stream_table('{name}') tries at once", name)
        for hold in found.get(table.name, ())
        if hold.code is HoldCode.BACKING_OFF
    ]
    unit = board.unit_of[table.name]
    if not has_work(board.members(unit, known.cut.tables), _heads(table, known, aligned_of)):
        aligned = aligned_of.get(table.name)
        if aligned is not None and aligned.of(known.cut) is not known.cut:
            text = f"its sources are read {aligned}, and it has all of that"
            waits.append(Reason(text, "watermark_status() shows which source the others wait for", name))
            return [*waits, *_stuck(aligned, known)]
        since = f" since its last refresh, at {_moment(table.last_refresh_at)}" if table.last_refresh_at else ""
        waits.append(Reason(f"nothing that it reads has changed{since}", _UP_TO_DATE, name))
        return waits
    waits += [
        Reason(hold.in_full, hold.next_step, str(hold.cause))
        for hold in waiting(board.units[unit].members, known.cut.tables, aligned_of)
        if hold.member == table.name
    ]
    due = board.due_at(unit, known.cut.tables, known.standings, None)
    # Whoever is stopped is never due, and cannot be refreshed by hand either.
    if due > known.now and table.status not in (Status.SUSPENDED, Status.ERROR):
        waits.append(_not_due(table, board, due))
    if standing is not None and standing.slowed > 1:
        text = f"its refreshes take longer than its schedule, so it waits {standing.slowed} times as long"
        waits.append(Reason(text, f"alter_stream_table('{name}', schedule=...) gives it a longer schedule", name))
    return waits


def _stuck(aligned: AlignedVersions, known: Known) -> list[Reason]:
    """The sources that hold others back, and have not advanced for long."""
    marks = known.cut.watermarks
    states = [alignment(group, marks, known.cut.pointers) for group in marks.groups if group.name in aligned.groups]
    slowest = {mark.source for state in states for mark in state.known if mark.watermark == state.complete_until}
    return [
        Reason(
            stuck_text(source, marks, known.now), f"advance_watermark('{source}', ...) when it is loaded", str(source)
        )
        for source in stuck(marks, known.now, known.stuck_after)
        if source in slowest
    ]


def _heads(
    table: StreamTable, known: Known, aligned_of: Mapping[TableName, AlignedVersions]
) -> Mapping[TableName, Pointer]:
    """Where the tables are that it reads."""
    aligned = aligned_of.get(table.name)
    return known.cut.pointers if aligned is None else aligned.of(known.cut).pointers


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
