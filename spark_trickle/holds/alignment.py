"""How far apart the sources of a watermark group are, and whom the group governs: those with two or more of its sources
somewhere above them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_trickle.holds.aligned import moment
from spark_trickle.holds.rule import Readers, dependents, readers_of
from spark_trickle.holds.stale import shown
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.model.watermark import Watermark, WatermarkGroup, Watermarks
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True)
class Alignment:
    """One group at one moment."""

    group: WatermarkGroup
    known: tuple[Watermark, ...]
    """Of its sources, the slowest first."""
    missing: tuple[TableName, ...]
    """Sources without a watermark: they are not ready."""
    made_again: frozenset[TableName] = frozenset()
    """Those of them whose watermark is of a table that was dropped."""

    @property
    def lag(self) -> timedelta | None:
        return self.known[-1].watermark - self.known[0].watermark if self.known else None

    @property
    def aligned(self) -> bool:
        lag = self.lag
        return not self.missing and lag is not None and lag <= self.group.tolerance

    @property
    def complete_until(self) -> datetime | None:
        """Up to when all of its sources are complete."""
        return None if self.missing or not self.known else self.known[0].watermark

    @property
    def unready(self) -> str | None:
        """What is wrong with the first source that is not ready."""
        if not self.missing:
            return None
        source = self.missing[0]
        again = "was made again since its watermark was advanced"
        return f"'{source}' {again if source in self.made_again else 'has no watermark yet'}"


def alignment(group: WatermarkGroup, marks: Watermarks, heads: Mapping[TableName, Pointer]) -> Alignment:
    """How far apart the sources of a group are.

    Args:
        heads: where tables are now, as far as it is known.
    """
    found = [marks.latest[source] for source in group.sources if source in marks.latest]
    former = frozenset(mark.source for mark in found if mark.is_of_a_table_before(heads.get(mark.source)))
    own = [mark for mark in found if mark.source not in former]
    known = sorted(own, key=lambda mark: (mark.watermark, mark.source))
    ready = {mark.source for mark in known}
    return Alignment(group, tuple(known), tuple(each for each in group.sources if each not in ready), former)


def governed(
    group: WatermarkGroup, tables: Mapping[TableName, StreamTable], readers: Readers
) -> dict[TableName, dict[TableName, TableName]]:
    """Whom the group governs, by name: each with its sources of the group, and what it reads on the way to each.

    IMMEDIATE stream tables follow each write by definition; what reads them is governed.
    """
    ways: dict[TableName, dict[TableName, TableName]] = defaultdict(dict)
    for source in group.sources:
        for name, via in dependents(source, readers).items():
            ways[name][source] = via
    return {
        name: ways[name]
        for name in sorted(ways)
        if len(ways[name]) > 1 and name in tables and tables[name].effective_mode is not RefreshMode.IMMEDIATE
    }


def governing_groups(
    name: TableName, marks: Watermarks, tables: Mapping[TableName, StreamTable]
) -> tuple[WatermarkGroup, ...]:
    """The groups that govern a stream table."""
    readers = readers_of(tables.values())
    return tuple(group for group in marks.groups if name in governed(group, tables, readers))


def stuck_since(source: TableName, marks: Watermarks) -> datetime | None:
    """Since when a source of a group stands still: its last advance, or the group it was to be ready for."""
    if source in marks.latest:
        return marks.latest[source].updated_at
    return min((group.created_at for group in marks.groups if source in group.sources), default=None)


def stuck(marks: Watermarks, now: datetime, limit: timedelta) -> tuple[TableName, ...]:
    """Sources of groups that have not advanced for longer than the limit; no limit (zero) is never passed."""
    if not limit or not marks.groups:
        return ()
    sources = sorted({source for group in marks.groups for source in group.sources})
    return tuple(s for s in sources if (since := stuck_since(s, marks)) is not None and now - since > limit)


def stuck_text(source: TableName, marks: Watermarks, now: datetime) -> str:
    since = stuck_since(source, marks)
    assert since is not None  # only sources of groups are asked about
    if source not in marks.latest:
        return f"'{source}' has had no watermark for {shown(now - since)}: it is stuck"
    where = moment(marks.latest[source].watermark)
    return f"the watermark of '{source}' is at {where} and has not advanced for {shown(now - since)}: it is stuck"
