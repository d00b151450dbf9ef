"""What is read at the aligned watermark: whom groups in mode `hold_back` concern, and which recorded version of each
source these read.

Concerned are those whom the group governs, what they are refreshed with, and all between them and the sources of the
group: a report over two summaries is of one moment only if the summaries are. Where several groups concern the same
stream tables, their sources are brought down together, until each group is aligned: so a source is at one version for
all of these. Whoever has already read past that version waits until the watermark gets there: a frontier does not move
backward.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spark_trickle.holds.aligned import AlignedVersions, HeldBack, moment
from spark_trickle.holds.alignment import alignment, governed
from spark_trickle.holds.rule import Readers, Situation, Together, dependents
from spark_trickle.model.frontier import Pointer, commit_number, is_lost_when_it_moves
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.model.watermark import Recorded, WatermarkGroup, WatermarkMode, Watermarks
from spark_trickle.names import TableName

Tables = Mapping[TableName, StreamTable]


NOTHING = HeldBack()


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a group cannot be held back to where it is aligned."""

    group: WatermarkGroup
    source: TableName
    text: str
    next_step: str


def held_back(at: Situation) -> HeldBack:
    """By stream table. Without a group that is held back nothing is looked at."""
    if at.back is not None:
        return at.back
    groups = [group for group in at.cut.watermarks.groups if group.mode is WatermarkMode.HOLD_BACK]
    if not groups:
        return NOTHING
    readers, together = at.who_reads(), at.who_is_with()
    concern = {group.name: _concerned(group, at.cut.tables, readers, together) for group in groups}
    aligned_of: dict[TableName, AlignedVersions] = {}
    holds: dict[TableName, list[Hold]] = defaultdict(list)
    for family in _families(groups, concern):
        settled, problems = _settle(family, at.cut)
        for problem in problems:
            for name in concern[problem.group.name]:
                holds[name].append(_not_ready(name, problem, readers))
        if settled is None:
            continue
        troubled = {name for problem in problems for name in concern[problem.group.name]}
        names = {name for group in family for name in concern[group.name]} - troubled
        for name in names:
            if at.cut.tables[name].effective_mode is not RefreshMode.IMMEDIATE:
                aligned_of[name] = settled
        for hold in (*_ahead(names, settled, at.cut, together), *_lost(names, settled, at.cut)):
            holds[hold.member].append(hold)
    own = {name: tuple(found) for name, found in sorted(holds.items()) if _waits(at.cut.tables[name])}
    return HeldBack(aligned_of, own)


def aligned_for(table: StreamTable, at: Situation) -> AlignedVersions | None:
    """What one stream table, as it is given, reads instead of what is newest; None: what is newest."""
    if not at.cut.watermarks.groups:
        return None
    return held_back(at.with_table(table)).aligned_of.get(table.name)


def waiting(
    unit: Sequence[TableName], tables: Tables, aligned_of: Mapping[TableName, AlignedVersions]
) -> tuple[Hold, ...]:
    """Held until all that the unit reads is of its moment: what is above it may not be due yet, or have failed; or it
    is IMMEDIATE, and has just taken in what comes after that moment."""
    found = []
    for name in unit:
        aligned = aligned_of.get(name)
        for above in sorted(_above(name, tables).difference(unit)) if aligned is not None else ():
            wanted = aligned_of.get(above, None if _waits(tables[above]) else aligned)
            if wanted is not None and not wanted.reached_by(tables[above]):
                text = f"it waits for '{above}', so that all that it reads is {aligned}"
                found.append(
                    Hold(
                        code=HoldCode.WATERMARK,
                        member=name,
                        text=text,
                        gist=f"it waits for '{above}', which is not at the aligned watermark",
                        next_step=f"why('{above}') tells what that waits for",
                        cause=above,
                        via=above,
                    )
                )
                break
    return tuple(found)


def version_gone(name: TableName, source: TableName, why: str) -> Hold:
    """Held: the version that should be read cannot be."""
    what = f"the version of '{source}' at the aligned watermark cannot be read any more: {why}"
    return Hold(
        code=HoldCode.WATERMARK,
        member=name,
        text=what,
        next_step=f"keep snapshots of '{source}' for longer; it goes on with the next aligned watermark",
        cause=source,
        via=source,
    )


def other_versions(name: TableName, aligned: AlignedVersions) -> Hold:
    """Held: it has come to read something that has to be read at another version; the next tick does."""
    source = next(iter(aligned.pointers))
    text = f"it has come to read what is read {aligned}"
    step = "nothing: the next tick reads it so"
    return Hold(code=HoldCode.WATERMARK, member=name, text=text, next_step=step, cause=source, via=source)


def _waits(table: StreamTable) -> bool:
    return table.effective_mode is not RefreshMode.IMMEDIATE


def _concerned(group: WatermarkGroup, tables: Tables, readers: Readers, together: Together) -> frozenset[TableName]:
    depends = set[TableName]().union(*(dependents(source, readers) for source in group.sources))
    found = set(governed(group, tables, readers))
    pending = list(found)
    while pending:
        name = pending.pop()
        above = (source.table for source in tables[name].sources if source.table in depends)
        for other in (*above, *together(name)):
            if other in tables and other not in found:
                found.add(other)
                pending.append(other)
    return frozenset(found)


def _families(
    groups: Sequence[WatermarkGroup], concern: Mapping[str, frozenset[TableName]]
) -> list[list[WatermarkGroup]]:
    """Groups that concern the same stream tables, together."""
    families: list[list[WatermarkGroup]] = []
    for group in groups:
        kin = [f for f in families if any(concern[group.name] & concern[other.name] for other in f)]
        families = [f for f in families if f not in kin]
        families.append([*(other for family in kin for other in family), group])
    return families


def _settle(groups: Sequence[WatermarkGroup], cut: Cut) -> tuple[AlignedVersions | None, list[_Problem]]:
    """The newest recorded versions at which each group is aligned, apart from those that cannot be."""
    marks, problems = cut.watermarks, list[_Problem]()
    ready = []
    for group in groups:
        problem = _unready(group, marks, cut)
        problems += [] if problem is None else [problem]
        ready += [group] if problem is None else []
    while ready:
        found = _brought_down(ready, {s: _own(s, marks, cut) for group in ready for s in group.sources})
        if not isinstance(found, _Problem):
            pointers = {source: Pointer(source, each.location) for source, each in sorted(found.items())}
            until = min(each.watermark for each in found.values())
            return AlignedVersions(pointers, until, tuple(sorted(group.name for group in ready))), problems
        problems.append(found)
        ready.remove(found.group)
    return None, problems


def _unready(group: WatermarkGroup, marks: Watermarks, cut: Cut) -> _Problem | None:
    state = alignment(group, marks, cut.pointers)
    if state.missing:
        text = f"watermark group '{group.name}' is not ready: {state.unready}"
        return _Problem(
            group, state.missing[0], text, f"advance_watermark('{state.missing[0]}', ...) when it is loaded"
        )
    for source in group.sources:
        if not _own(source, marks, cut):
            gone = "does not exist" if source not in cut.pointers else "was made again since its watermark was advanced"
            text = f"watermark group '{group.name}' is not ready: '{source}' {gone}"
            return _Problem(group, source, text, f"advance_watermark('{source}', ...) when it is loaded again")
    return None


def _own(source: TableName, marks: Watermarks, cut: Cut) -> tuple[Recorded, ...]:
    """Recorded versions of the table that is there now: one that was dropped had others."""
    if source not in cut.pointers:
        return ()
    newest = commit_number(cut.pointers[source].location)
    return tuple(each for each in marks.log.get(source, ()) if commit_number(each.location) <= newest)


def _brought_down(
    groups: Iterable[WatermarkGroup], recorded: Mapping[TableName, tuple[Recorded, ...]]
) -> dict[TableName, Recorded] | _Problem:
    """Each source at its newest recorded version; then older ones, until no group is further apart than it may be."""
    found = {source: each[-1] for source, each in recorded.items()}
    moving = True
    while moving:
        moving = False
        for group in groups:
            until = min(found[source].watermark for source in group.sources)
            limit = group.reach(until)
            for source in group.sources:
                if found[source].watermark <= limit:
                    continue
                older = [each for each in recorded[source] if each.watermark <= limit]
                if not older:
                    text = (
                        f"watermark group '{group.name}' is complete until {moment(until)}, and no "
                        f"version of '{source}' is recorded for then or before"
                    )
                    return _Problem(group, source, text, "wait until the other sources have come further")
                found[source], moving = older[-1], True
    return found


def _ahead(names: Iterable[TableName], aligned: AlignedVersions, cut: Cut, together: Together) -> Iterable[Hold]:
    """Those who have read a source past the version that they should read, or depend on one who has."""
    past: dict[TableName, TableName] = {}
    for name in names:
        for pin in cut.tables[name].frontier.pins:
            if pin.table in aligned.pointers and _is_past(
                pin.location, aligned.pointers[pin.table], cut.pointers[pin.table]
            ):
                past[name] = pin.table
    for name in sorted(names) if past else ():
        who = next(
            (each for each in (name, *sorted({*together(name), *_above(name, cut.tables)})) if each in past), None
        )
        if who is None:
            continue
        whose = "" if who == name else f" by '{who}'"
        what = f"'{past[who]}' was read{whose} past the aligned watermark of {', '.join(map(repr, aligned.groups))}"
        yield Hold(
            code=HoldCode.WATERMARK,
            member=name,
            text=f"{what} ({moment(aligned.until)}): by hand, or before the group was made",
            gist=what,
            next_step="wait: it goes on when the watermarks get there",
            cause=past[who],
            via=past[who] if who == name else who,
        )


def _lost(names: Iterable[TableName], aligned: AlignedVersions, cut: Cut) -> Iterable[Hold]:
    """Those who should read what a table without versions was, and have not. Of others a refresh finds that out."""
    lost = [
        (source, wanted.location)
        for source, wanted in aligned.pointers.items()
        if is_lost_when_it_moves(wanted.location) and cut.pointers[source] != wanted
    ]
    for name in sorted(names) if lost else ():
        table = cut.tables[name]
        read = {source.table for source in table.sources}
        for source, location in lost:
            here = table.frontier.of(source)
            if source in read and (here is None or here.location != location):
                yield version_gone(name, source, "it has no versions, and it has changed")


def _is_past(read: str, wanted: Pointer, newest: Pointer) -> bool:
    # A number above the newest one is of a table that was dropped: to go on with the new one is no way back.
    return commit_number(wanted.location) < commit_number(read) <= commit_number(newest.location)


def _above(name: TableName, tables: Tables) -> set[TableName]:
    found, pending = set[TableName](), [name]
    while pending:
        for source in tables[pending.pop()].sources:
            if source.table in tables and source.table not in found:
                found.add(source.table)
                pending.append(source.table)
    return found


def _not_ready(name: TableName, problem: _Problem, readers: Readers) -> Hold:
    via = dependents(problem.source, readers).get(name, problem.source)
    return Hold(
        code=HoldCode.WATERMARK,
        member=name,
        text=problem.text,
        next_step=problem.next_step,
        cause=problem.source,
        via=via,
    )
