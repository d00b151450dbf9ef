"""What must be true of every cut, and from one cut to the next, whoever schedules: told by the catalog alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from spark_trickle.graph.units import plan_units
from spark_trickle.holds.fuse_report import FuseCondition, condition
from spark_trickle.model.frontier import Pin, commit_number
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName


class Watch:
    """Remembers the cut before."""

    def __init__(self) -> None:
        self._before: Cut | None = None
        self.blown = 0
        """Fuses that were seen to blow."""

    def wrong(self, cut: Cut) -> list[str]:
        before, self._before = self._before, cut
        units = [[cut.tables[name] for name in unit.members] for unit in plan_units(cut.tables, cut.groups)]
        found = [text for unit in units for text in _split(unit, cut)]
        if before is not None:
            found += [text for table in cut.tables.values() for text in _backward(table, before)]
            found += [text for unit in units for text in _moved(unit, before, cut)]
            self.blown += sum(_blows(table, before) for table in cut.tables.values())
        return found


def _blows(table: StreamTable, before: Cut) -> bool:
    blown = table.fuse.blown
    return blown is not None and before.tables[table.name].fuse.blown != blown


def _backward(table: StreamTable, before: Cut) -> Iterable[str]:
    for pin in table.frontier.pins:
        former = before.tables[table.name].frontier.of(pin.table)
        if former is not None and commit_number(pin.location) < commit_number(former.location):
            yield f"'{table.name}' went back from {former.location} to {pin.location}"


def _split(unit: Sequence[StreamTable], cut: Cut) -> Iterable[str]:
    """A unit sees one version of everything, and of its own members the one that is there."""
    seen: dict[TableName, set[Pin]] = defaultdict(set)
    for table in unit:
        # Whoever had changes skipped is ahead of the others, and said to be.
        for pin in () if table.diverged is not None else table.frontier.pins:
            seen[pin.table].add(pin)
    members = {table.name for table in unit}
    for name, pins in seen.items():
        locations = {pin.location for pin in pins}
        if name in members:
            locations.add(cut.pointers[name].location)
        if len(locations) > 1:
            yield f"{sorted(map(str, members))} are of several versions of '{name}': {sorted(locations)}"


def _moved(unit: Sequence[StreamTable], before: Cut, cut: Cut) -> Iterable[str]:
    """While a fuse is blown nothing of its unit moves."""
    held = [table for table in unit if condition(table) is FuseCondition.BLOWN]
    if not any(before.tables[table.name].fuse.blown == table.fuse.blown for table in held):
        return
    for table in unit:
        former = before.tables[table.name]
        if (cut.pointers[table.name], table.frontier) != (before.pointers[table.name], former.frontier):
            yield f"'{table.name}' moved while the fuse of '{held[0].name}' was blown"
