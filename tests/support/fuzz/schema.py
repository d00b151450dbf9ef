"""Random tables and their histories: few distinct values, many NULLs and duplicates, everything may change at once.

A history is a list of states, one per refresh, each with the whole content of every table: removing a row or a state
leaves a history, so shrinking is simple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from random import Random

from tests.support.duck import Row, Table


class Kind(StrEnum):
    """What may be computed with a value. Floating values are halves and quarters, so that their sums are exact."""

    INT = "int"
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "text"
    BOOL = "bool"
    DATE = "date"
    RATIO = "ratio"
    """A quotient of exact numbers: the same each time, but sums of such are not."""
    APPROXIMATE = "approximate"
    """Depends on the order of summing: may be shown, not be compared or computed with."""
    WIDE = "wide"
    """From here on: kinds with values at the edges of their types, for Spark alone; see `wild`."""
    HUGE = "huge"
    REAL = "real"
    WORDS = "words"
    BYTES = "bytes"
    DAY = "day"
    MOMENT = "moment"
    WALL = "wall"
    LIST = "list"
    NESTED = "nested"
    RECORD = "record"
    DICTIONARY = "dictionary"
    """Cannot be compared."""


NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.DOUBLE)
ORDERED_WILD = (
    Kind.WIDE, Kind.HUGE, Kind.REAL, Kind.WORDS, Kind.BYTES, Kind.DAY, Kind.MOMENT, Kind.WALL, Kind.LIST, Kind.NESTED,
    Kind.RECORD,
)  # fmt: skip
COMPARABLE = (Kind.INT, Kind.DECIMAL, Kind.DOUBLE, Kind.TEXT, Kind.BOOL, Kind.DATE, *ORDERED_WILD)

_PREFIX = {Kind.INT: "i", Kind.DECIMAL: "m", Kind.DOUBLE: "f", Kind.TEXT: "s", Kind.BOOL: "b", Kind.DATE: "d"}
_TYPES = {
    Kind.INT: ("INTEGER", "BIGINT"),
    Kind.DECIMAL: ("DECIMAL(9,2)", "DECIMAL(12,3)"),
    Kind.DOUBLE: ("DOUBLE",),
    Kind.TEXT: ("VARCHAR",),
    Kind.BOOL: ("BOOLEAN",),
    Kind.DATE: ("DATE",),
}
FRIENDLY = {kind: (letter, _TYPES[kind]) for kind, letter in _PREFIX.items()}
"""The letter of a kind's columns, and its types."""
POOLS: dict[Kind, tuple[object, ...]] = {
    Kind.INT: (0, 1, 2, 3, 5, -1),
    Kind.DECIMAL: ("0.00", "1.50", "2.25", "-3.00", "0.10"),
    Kind.DOUBLE: (0.0, -0.0, 0.5, 1.25, 2.0, -3.5),
    Kind.TEXT: ("a", "b", "B", "ab", ""),
    Kind.BOOL: (True, False),
    Kind.DATE: ("2024-01-01", "2024-02-29", "2023-12-31"),
}


@dataclass(frozen=True)
class SourceColumn:
    name: str
    kind: Kind
    type: str
    required: bool


@dataclass(frozen=True)
class Source:
    """A table of a case."""

    name: str
    columns: tuple[SourceColumn, ...]

    def declared(self) -> Table:
        parts = (f"{each.name} {each.type}{' NOT NULL' if each.required else ''}" for each in self.columns)
        return Table(self.name, ", ".join(parts))


State = dict[str, tuple[Row, ...]]
History = tuple[State, ...]


def random_sources(random: Random) -> tuple[Source, ...]:
    """Names are shared by tables, so that NATURAL and USING find some; a name has one kind everywhere."""
    kinds = [Kind.INT, *random.choices(list(_PREFIX), weights=(5, 2, 2, 4, 1, 1), k=5)]
    names = [f"{_PREFIX[kind]}{place}" for place, kind in enumerate(kinds)]
    required = {name for name in names if random.random() < 0.12}
    sources = []
    for place in range(random.choice((2, 2, 3, 3, 4, 4, 5, 6))):
        chosen = sorted({0, *random.sample(range(len(names)), random.randint(1, 4))})
        columns = [
            SourceColumn(names[n], kinds[n], random.choice(_TYPES[kinds[n]]), names[n] in required) for n in chosen
        ]
        sources.append(Source(f"t{place}", tuple(columns)))
    return tuple(sources)


def random_history(random: Random, sources: tuple[Source, ...], windows: int) -> History:
    # Of few values many are equal, so that joins of many tables have rows.
    few = random.choice((2, 2, 3, 6, 6, 6))
    pools = {kind: tuple(random.sample(pool, min(few, len(pool)))) for kind, pool in POOLS.items()}
    draw = partial(_value, random, pools, 0.2 if few > 2 else 0.1)
    state: State = {source.name: random_rows(random, source, 8, draw) for source in sources}
    states = [state]
    # A change is written anew for each set of changed tables: two sets for a history, or writing takes all the time.
    some = random.sample(sources, random.randint(1, len(sources)))
    for _ in range(windows):
        state = dict(state)
        for source in random.choice((some, sources)):
            state[source.name] = changed(random, source, state[source.name], draw)
        states.append(state)
    return tuple(states)


Draw = Callable[[SourceColumn], object]


def changed(random: Random, source: Source, rows: tuple[Row, ...], draw: Draw) -> tuple[Row, ...]:
    if random.random() < 0.1:  # truncated and filled again
        return random_rows(random, source, 6, draw)
    kept = list(rows)
    for _ in range(random.randint(0, 3)):
        if kept and random.random() < 0.6:
            kept.pop(random.randrange(len(kept)))
    for _ in range(random.randint(0, 2)):
        if kept:
            place, column = random.randrange(len(kept)), random.randrange(len(source.columns))
            row = list(kept[place])
            row[column] = draw(source.columns[column])
            kept[place] = tuple(row)
    kept += random_rows(random, source, 3, draw)
    if kept and random.random() < 0.2:
        kept.append(random.choice(kept))
    return tuple(kept)


def random_rows(random: Random, source: Source, most: int, draw: Draw) -> tuple[Row, ...]:
    return tuple(tuple(draw(column) for column in source.columns) for _ in range(random.randint(0, most)))


def _value(random: Random, pools: dict[Kind, tuple[object, ...]], nulls: float, column: SourceColumn) -> object:
    if not column.required and random.random() < nulls:
        return None
    return random.choice(pools[column.kind])


def statements(state: State, last: State | None = None) -> list[str]:
    """What makes the tables hold a state: tables that changed are emptied and filled again."""
    found = []
    for name, rows in state.items():
        if last is not None and last[name] == rows:
            continue
        if last is None or last[name]:
            found.append(f"DELETE FROM after.{name}")
        if rows:
            values = ", ".join("(" + ", ".join(map(_literal, row)) + ")" for row in rows)
            found.append(f"INSERT INTO after.{name} VALUES {values}")
    return found


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'::DOUBLE" if isinstance(value, float) else f"'{value}'"
