"""What a tick does about watermarks: it follows the columns that advance them, and tells which stand still.

Both are written under the scheduler's fence, and become part of the tick's cut.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from spark_trickle.errors import DeposedError, StreamTableError
from spark_trickle.events import Noticed, Observer
from spark_trickle.holds.aligned import moment
from spark_trickle.holds.alignment import stuck, stuck_text
from spark_trickle.model.publication import Cut, Publication
from spark_trickle.model.watermark import FIRST_MOMENT, Advance, Looked, ToldStuck, WatermarkChange, WatermarkColumn
from spark_trickle.ports import Broken
from spark_trickle.refresh.run import Refresher

BY_COLUMN = "column"
"""How `advanced_by` begins where nobody said it."""


def follow_columns(
    cut: Cut, refresher: Refresher, now: datetime, fence: int, notify: Observer, unread: MutableSet[WatermarkColumn]
) -> Cut:
    """Advance the watermarks that columns advance, by what is new at the cut. Nothing is opened where nothing is.

    Args:
        unread: columns of which was told that they say nothing; that is told once, and once when they do again.
    """
    changes: list[WatermarkChange] = []
    for column in cut.watermarks.columns.values():
        head = cut.pointers.get(column.source)
        if head is not None and head.location != column.looked_at:
            changes += _looked(column, cut, refresher, now, _Once(column, notify, unread))
    if not changes:
        return cut
    refresher.catalog.publish(Publication(watermarks=tuple(changes), fence=fence))
    return after(cut, changes)


def after(cut: Cut, changes: Iterable[WatermarkChange]) -> Cut:
    """The cut as it would have been read, had these been published before: the same versions, the new watermarks."""
    marks, gates = cut.watermarks, dict(cut.gates)
    for change in changes:
        known, marks = marks, marks.after(change)
        gate = gates.get(change.source)
        if isinstance(change, Advance) and marks is not known and gate is not None and change.opens(gate):
            del gates[change.source]
    return replace(cut, watermarks=marks, gates=gates)


@dataclass(frozen=True, slots=True)
class _Once:
    """Tells what is wrong with a column when it begins and when it ends, not at every tick between."""

    column: WatermarkColumn
    notify: Observer
    unread: MutableSet[WatermarkColumn]

    def wrong(self, what: str) -> None:
        if self._key not in self.unread:
            self.unread.add(self._key)
            self._tell(what)

    def right(self) -> None:
        if self._key in self.unread:
            self.unread.discard(self._key)
            self._tell(f"its watermark column '{self.column.column}' is read again")

    @property
    def _key(self) -> WatermarkColumn:
        return replace(self.column, looked_at=None)

    def _tell(self, what: str) -> None:
        self.notify(Noticed(str(self.column.source), what))


def _looked(
    column: WatermarkColumn, cut: Cut, refresher: Refresher, now: datetime, once: _Once
) -> list[WatermarkChange]:
    source, location = column.source, cut.pointers[column.source].location
    try:
        with refresher.lake.workbench(cut, [source]) as bench:
            found = bench.largest(source, column.column, column.looked_at)
    except DeposedError:
        raise
    except StreamTableError as err:
        # The others go on; it is looked at again by the next tick.
        once.wrong(f"its watermark column '{column.column}' cannot be read: {err}")
        return []
    looked = Looked(source, location)
    if isinstance(found, Broken):
        once.wrong(f"its watermark is not advanced by column '{column.column}': {found.reason}")
        return [looked]
    if found is not None and found - FIRST_MOMENT < column.delay:
        early = f"its largest value, {found}, is too early for a delay of {column.delay}"
        once.wrong(f"its watermark is not advanced by column '{column.column}': {early}")
        return [looked]
    once.right()
    if found is None:
        return [looked]
    by = f"{BY_COLUMN} {column.column}"
    mark = found - column.delay
    behind = cut.gates[source].gated_at if source in cut.gates else None
    advance = Advance(source=source, watermark=mark, at=now, by=by, location=location, automatic=True, behind=behind)
    return [looked, advance]


def tell_stuck(cut: Cut, refresher: Refresher, now: datetime, fence: int, notify: Observer, limit: timedelta) -> None:
    """Say once of each source of a group that it stands still, and once that it goes on, whoever schedules then."""
    marks = cut.watermarks
    standing = stuck(marks, now, limit)
    begun = [source for source in standing if source not in marks.told_stuck]
    ended = sorted(marks.told_stuck.difference(standing))
    if not begun and not ended:
        return
    changes = [
        *(ToldStuck(source, stuck=True) for source in begun),
        *(ToldStuck(source, stuck=False) for source in ended),
    ]
    refresher.catalog.publish(Publication(watermarks=tuple(changes), fence=fence))
    for source in begun:
        notify(Noticed(str(source), f"{stuck_text(source, marks, now)}; advance_watermark(...) when it is loaded"))
    for source in ended:
        where = f": it is at {moment(marks.latest[source].watermark)}" if source in marks.latest else ""
        notify(Noticed(str(source), f"the watermark of '{source}' goes on{where}"))
