"""What a scheduler keeps from one tick to the next, so that a tick in which nothing happened costs next to nothing.

Everything here can be made again from the catalog; a scheduler that starts with an empty memory does the same things.
One exception: that a cron line came round while there was nothing to do is known only to who saw it. A scheduler that
has just started makes up for it: it may have come round while none was at work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from spark_trickle.holds.aligned import AlignedVersions
from spark_trickle.holds.held_back import held_back
from spark_trickle.holds.rule import Situation
from spark_trickle.holds.rules import LASTING, PASSING, by_unit, held
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.hold import Hold
from spark_trickle.model.publication import Cut
from spark_trickle.model.standing import Standing
from spark_trickle.model.watermark import WatermarkColumn
from spark_trickle.names import TableName
from spark_trickle.scheduler.board import Board
from spark_trickle.scheduler.plan import Plan, has_work, make_plan


@dataclass(slots=True)
class Memory:
    """The last cut, and what follows from it."""

    make_board: Callable[[Cut], Board]
    cut: Cut | None = None
    board: Board | None = None
    touched: frozenset[int] = frozenset()
    """Units that had something to do at the cut."""
    held: Mapping[int, tuple[Hold, ...]] = field(default_factory=dict)
    """Units that are held for as long as the cut is the same."""
    back: Mapping[TableName, AlignedVersions] = field(default_factory=dict)
    """Stream tables that are held back: what they read instead of what is newest."""
    late: dict[tuple[TableName, ...], tuple[AlignedVersions, tuple[Hold, ...]]] = field(default_factory=dict)
    """Units of which only their refresh found out that they cannot read their versions: it is not tried twice."""
    standings: Mapping[TableName, Standing] | None = None
    quiet: dict[TableName, datetime] = field(default_factory=dict)
    """Until when the unit of a stream table was seen to have nothing to do, before it had."""
    ticked_at: datetime | None = None
    unread: set[WatermarkColumn] = field(default_factory=set)
    """Columns that advance watermarks, and cannot at the moment: it was told."""

    def look(self, cut: Cut, standings: Callable[[], Mapping[TableName, Standing]], now: datetime) -> Plan:
        """Take in a cut, and say what is to be done about it."""
        if cut is not self.cut:
            self._take_in(cut, now)
        if self.standings is None:
            self.standings = standings()
        assert self.board is not None
        board, known = self.board, self.standings
        waiting = by_unit(held(Situation(cut=cut, now=now, standings=known), PASSING), board.unit_of)
        late = self._still_late() if self.late else {}
        all_held = _merged(_merged(self.held, late), waiting) if waiting or late else self.held
        plan = make_plan(
            self.touched,
            board.below,
            all_held,
            lambda unit: board.due_at(unit, cut.tables, known, self._quiet(unit)),
            now,
        )
        self.ticked_at = now
        return plan

    def _quiet(self, unit: int) -> datetime | None:
        """Until when it is known to have had nothing to do; a unit that gets something in this tick had nothing yet."""
        assert self.board is not None
        if unit not in self.touched:
            return self.ticked_at
        found = [self.quiet.get(name) for name in self.board.units[unit].members]
        known = [moment for moment in found if moment is not None]
        return min(known) if len(known) == len(found) else None

    def _take_in(self, cut: Cut, now: datetime) -> None:
        busy = {name for unit in self.touched for name in self.board.units[unit].members} if self.board else set()
        before = self.back
        if self.cut is None or self.board is None or cut.generation != self.cut.generation:
            self.board = self.make_board(cut)
            self.quiet = {name: moment for name, moment in self.quiet.items() if name in self.board.unit_of}
            situation = self._situation(self.board, cut, now)
            self.touched = self._with_work(self.board, cut, range(len(self.board.units)))
        else:
            situation = self._situation(self.board, cut, now)
            moved = _moved(self.board, self.cut, cut)
            read_others = {name for name in {*before, *self.back} if before.get(name) != self.back.get(name)}
            moved |= {self.board.unit_of[name] for name in read_others}
            self.touched = (self.touched - moved) | self._with_work(self.board, cut, moved)
        if self.ticked_at is not None:
            for unit in self.touched:
                members = self.board.units[unit].members
                if busy.isdisjoint(members):
                    self.quiet.update(dict.fromkeys(members, self.ticked_at))
        self.held = by_unit(held(situation, LASTING), self.board.unit_of)
        self.cut = cut

    def _situation(self, board: Board, cut: Cut, now: datetime) -> Situation:
        """What the rules are asked about; with it, what is read by those that are held back."""
        situation = board.situation(cut, now)
        found = held_back(situation)
        self.back = found.aligned_of
        return replace(situation, back=found)

    def _with_work(self, board: Board, cut: Cut, units: Iterable[int]) -> frozenset[int]:
        return frozenset(unit for unit in units if has_work(board.members(unit, cut.tables), self.heads(unit, cut)))

    def heads(self, unit: int, cut: Cut) -> Mapping[TableName, Pointer]:
        """Where the tables are that a unit reads."""
        aligned = self.aligned(unit)
        return cut.pointers if aligned is None else aligned.of(cut).pointers

    def aligned(self, unit: int) -> AlignedVersions | None:
        """What a unit reads instead of what is newest: the same for all of its members that are held back."""
        if not self.back or self.board is None:
            return None
        return next((self.back[name] for name in self.board.units[unit].members if name in self.back), None)

    def found_late(self, unit: int, holds: tuple[Hold, ...]) -> None:
        """Its versions cannot be read: that stays so for as long as they are the same."""
        aligned = self.aligned(unit)
        if self.board is not None and aligned is not None:
            self.late[self.board.units[unit].members] = (aligned, holds)

    def _still_late(self) -> dict[int, tuple[Hold, ...]]:
        assert self.board is not None
        units = {unit.members: number for number, unit in enumerate(self.board.units) if unit.members in self.late}
        self.late = {
            members: (aligned, holds)
            for members, (aligned, holds) in self.late.items()
            if members in units and self.aligned(units[members]) == aligned
        }
        return {units[members]: holds for members, (_, holds) in self.late.items()}

    def forget_standings(self) -> None:
        """They were written, or may have been: read them again."""
        self.standings = None


def _moved(board: Board, before: Cut, now: Cut) -> frozenset[int]:
    """The units for which something is not where it was. Values that did not change are the same objects in both."""
    heads = {name for name, head in now.pointers.items() if before.pointers.get(name) is not head}
    heads |= before.pointers.keys() - now.pointers.keys()
    found = {board.unit_of[name] for name, table in now.tables.items() if before.tables.get(name) is not table}
    return frozenset(found.union(*(board.watchers[name] for name in heads if name in board.watchers)))


def _merged(one: Mapping[int, tuple[Hold, ...]], other: Mapping[int, tuple[Hold, ...]]) -> dict[int, tuple[Hold, ...]]:
    return {unit: (*one.get(unit, ()), *other.get(unit, ())) for unit in sorted({*one, *other})}


def changed_holds(
    board: Board,
    held: Mapping[int, tuple[Hold, ...]],
    standings: Mapping[TableName, Standing],
    describe: Callable[[int, TableName], str | None],
) -> Iterable[tuple[int | None, TableName, str | None]]:
    """Stream tables whose reasons are not those recorded last: (unit, name, reason), None where nothing holds it."""
    for unit in held:
        for name in board.units[unit].members:
            text = describe(unit, name)
            if text is not None and (name not in standings or standings[name].held != text):
                yield unit, name, text
    for name, standing in standings.items():
        at = board.unit_of.get(name)
        if standing.held is not None and (at is None or at not in held or describe(at, name) is None):
            yield None, name, None
