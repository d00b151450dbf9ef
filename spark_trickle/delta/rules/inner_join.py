"""Inner join, one input after the other:  Δ(P ⋈ R) = ΔP ⋈ R_before + P_after ⋈ ΔR,  where P is the join so far.

Written out this is  Σi  R1_after ⋈ … ⋈ ΔRi ⋈ … ⋈ Rn_before:  inputs before the changing one are taken after the window,
those behind it before the window, so each pair of simultaneous changes is counted once, and no term needs a correction.
What the terms have in common is joined once: ΔP meets R, whichever of the inputs in P changed. Inputs that did not
change come last, where they are the same before and after.

A term joins in another order than the query: what follows from its equalities (a = b and b = c, so a = c) is said, so
that a change meets each table by a key.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.delta.ranges import implied, restricted
from spark_trickle.delta.rules.rule import Recur, added, moves, weighted
from spark_trickle.sql.leaves import Leaf, Version
from spark_trickle.sql.operators import Join, Operator, Project, at, used
from spark_trickle.sql.render import next_joined


def differentiate(join: Join, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    changes = {place: recur(source, changed) for place, source in enumerate(join.inputs)}
    moving = [place for place, change in changes.items() if change is not None]
    if not moving:
        return None
    terms = _Terms(join, (*join.conditions, *implied(join)), changed)
    so_far: list[int] = []
    found: _Term | None = None
    for place in terms.order(moving):
        change = changes[place]
        if found is not None:
            found = found.joined_with(place)
        if change is not None:
            own = _Term(change, place, (), tuple(so_far))
            found = own if found is None else terms.together(found, own)
        so_far.append(place)
    assert found is not None
    return Project(terms.joined(found), weighted(join.columns))


@dataclass(frozen=True, slots=True)
class _Term:
    """A change joined with inputs: of the one input that changes, or of several that are joined already."""

    change: Operator
    place: int | None
    """Which input changes; None: several."""
    covers: tuple[int, ...]
    """The inputs whose join the change is of, if they are several."""
    after: tuple[int, ...] = ()
    """Inputs that it is joined with, as they are after the window."""
    before: tuple[int, ...] = ()

    @property
    def places(self) -> tuple[int, ...]:
        alone = () if self.place is None else (self.place,)
        return tuple(sorted((*alone, *self.covers, *self.after, *self.before)))

    def joined_with(self, place: int) -> _Term:
        return _Term(self.change, self.place, self.covers, self.after, (*self.before, place))


@dataclass(frozen=True, slots=True)
class _Terms:
    """Makes the terms of one join."""

    join: Join
    conditions: tuple[exp.Expr, ...]
    changed: frozenset[Leaf]

    def order(self, moving: list[int]) -> list[int]:
        """The first that changes, then one after the other that is connected; those that change first."""
        waiting = [place for place in range(len(self.join.inputs)) if place != moving[0]]
        found = [moving[0]]
        while waiting:
            # Once all that changes is joined, the rest may come in any order.
            preferred = [place for place in waiting if place in moving] or waiting
            known = self._columns(found)
            following = self._connected(known, preferred) or self._connected(known, waiting) or [preferred[0]]
            found.append(following[0])
            waiting.remove(following[0])
        return found

    def together(self, one: _Term, other: _Term) -> _Term:
        """The sum of two terms about the same inputs."""
        columns = tuple(name for place in one.places for name in self.join.inputs[place].columns)
        parts: list[Operator] = [Project(self.joined(term), weighted(columns)) for term in (one, other)]
        both = added(parts)
        assert both is not None
        return _Term(both, None, one.places)

    def joined(self, term: _Term) -> Operator:
        sources = self.join.inputs if term.place is None else restricted(self.join, term.place, self.changed)
        others = []
        for place in sorted((*term.after, *term.before)):
            stays = place in term.after or not moves(sources[place], self.changed)
            others.append(at(sources[place], Version.AFTER if stays else Version.BEFORE))
        known, done = self._columns(term.places), self._columns(term.covers) if term.covers else None
        ready = tuple(c for c in self.conditions if used(c) <= known and (done is None or not used(c) <= done))
        return Join((term.change, *others), ready)

    def _connected(self, known: set[str], places: list[int]) -> list[int]:
        found = next_joined(known, [self.join.inputs[place] for place in places], self.conditions)
        return [place for place in places if found is self.join.inputs[place]]

    def _columns(self, places: tuple[int, ...] | list[int]) -> set[str]:
        return {WEIGHT, *(name for place in places for name in self.join.inputs[place].columns)}
