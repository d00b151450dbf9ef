"""Stories of everyday life: tables are loaded, emptied, loaded again, updated as a whole, left alone, changed all at
once, and the same row comes again. Bugs show on the second and the third refresh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.support.duck import Row
from tests.support.fuzz.schema import POOLS, Draw, History, Source, SourceColumn, State, changed, random_rows
from tests.support.fuzz.wild import WILD


def everyday(
    random: Random, sources: tuple[Source, ...], cycles: int, draw: Draw | None = None
) -> tuple[History, tuple[str, ...]]:
    """The states of the tables, and what each was reached by."""
    draw = draw or drawer(random, sources)
    load: State = {source.name: _loaded(random, source, draw) for source in sources}
    empty: State = {source.name: () for source in sources}
    states, acts = ([empty, load], ["empty", "load"]) if random.random() < 0.5 else ([load], ["load"])
    life = _Life(random, sources, load, draw)
    plan = iter(_plan(random, cycles))
    while len(states) <= cycles:
        act = next(plan)
        states.append(_ACTS[act](life, states[-1]))
        acts.append(act)
    return tuple(states), tuple(acts)


def _loaded(random: Random, source: Source, draw: Draw) -> tuple[Row, ...]:
    """Mostly so many rows that joins and conditions leave some; sometimes hardly any."""
    if random.random() < 0.2:
        return random_rows(random, source, 3, draw)
    return tuple(tuple(draw(column) for column in source.columns) for _ in range(random.randint(6, 14)))


def _plan(random: Random, cycles: int) -> list[str]:
    """Emptied and loaded again, always; the others as they come."""
    others = random.sample(_OTHERS, len(_OTHERS))
    again = [random.choice(("delete all", "delete all", "delete all of one table")), "load again"]
    place = random.randint(0, max(cycles - 3, 0))
    return [*others[:place], *again, *others[place:], *others, *others]


def drawer(random: Random, sources: tuple[Source, ...]) -> Draw:
    """Values for columns: few, so that many are equal; each wild column has its own set."""
    few = random.choice((2, 3, 6))
    pools = {kind: tuple(random.sample(pool, min(few, len(pool)))) for kind, pool in POOLS.items()}
    wild: dict[str, tuple[str, ...]] = {}
    for source in sources:
        for column in source.columns:
            if column.kind in WILD and column.name not in wild:
                sets = [values for type_, values in WILD[column.kind][1] if type_ == column.type]
                chosen = random.choice(sets)
                wild[column.name] = tuple(random.sample(chosen, min(len(chosen), 5)))

    def draw(column: SourceColumn) -> object:
        if not column.required and random.random() < 0.15:
            return None
        return random.choice(wild.get(column.name) or pools[column.kind])

    return draw


@dataclass(frozen=True)
class _Life:
    """What may happen to the tables."""

    random: Random
    sources: tuple[Source, ...]
    load: State
    draw: Draw

    def delete_all(self, _: State) -> State:
        return {source.name: () for source in self.sources}

    def delete_one(self, last: State) -> State:
        return {**last, self.random.choice(self.sources).name: ()}

    def load_again(self, last: State) -> State:
        """The very rows of the first load."""
        empty = [source.name for source in self.sources if not last[source.name]] or list(self.load)
        return {**last, **{name: self.load[name] for name in empty}}

    def update_all(self, last: State) -> State:
        """One column of all rows gets one value."""
        state = dict(last)
        for source in self.random.choice((self.sources, self.random.sample(self.sources, 1))):
            place = self.random.randrange(len(source.columns))
            value = self.draw(source.columns[place])
            state[source.name] = tuple((*row[:place], value, *row[place + 1 :]) for row in last[source.name])
        return state

    def nothing(self, last: State) -> State:
        return dict(last)

    def same_again(self, last: State) -> State:
        return {name: (*rows, *(rows or self.load[name])[:1]) for name, rows in last.items()}

    def all_at_once(self, last: State) -> State:
        return {source.name: self._other(source, last[source.name]) for source in self.sources}

    def some(self, last: State) -> State:
        chosen = self.random.sample(self.sources, self.random.randint(1, len(self.sources)))
        return {**last, **{source.name: self._other(source, last[source.name]) for source in chosen}}

    def _other(self, source: Source, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Another content than before, if a few tries find one."""
        for _ in range(3):
            found = changed(self.random, source, rows, self.draw)
            if found != rows:
                return found
        return rows


_ACTS: dict[str, Callable[[_Life, State], State]] = {
    "delete all": _Life.delete_all,
    "delete all of one table": _Life.delete_one,
    "load again": _Life.load_again,
    "update all": _Life.update_all,
    "nothing": _Life.nothing,
    "the same row again": _Life.same_again,
    "all tables at once": _Life.all_at_once,
    "some rows of some tables": _Life.some,
}
_OTHERS = (
    *("update all", "update all", "nothing", "the same row again"),
    *("all tables at once", "all tables at once", "some rows of some tables", "some rows of some tables"),
)
