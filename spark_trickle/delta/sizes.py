"""Every size that decides how a change is carried out. What follows from them is in `program`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_trickle.delta.staged import NONE_LARGE
from spark_trickle.sql.leaves import Leaf

STEP_ROWS = 50_000
"""Before a small change meets a table with more rows, it is computed as far as it is joined: Spark knows no size of a
join, and would move the table about. That takes a step, which is not worth it for a smaller one."""

MOVED_ROWS = 20_000
"""A table of ours with more rows is not joined as it is with a small change: to keep rows without partner Spark would
move the whole table. Its rows that matter are looked for first."""

COMPUTED_ROWS = 500_000
"""Of a table with more rows only those are computed that a change meets."""

MOST_READ = 0.5
"""A key range that leaves a larger part of a table's rows to read is left out."""

MOST_FILES = 8
"""A small table with so many files is written anew, into one: each refresh reads all of them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of the same names."""

    small_change_rows: int
    rewrite_table_rows: int
    broadcast_table_rows: int
    held_table_rows: int
    lookup_table_rows: int


USUAL = Limits(
    small_change_rows=250_000,
    rewrite_table_rows=10_000,
    broadcast_table_rows=500_000,
    held_table_rows=1_000,
    lookup_table_rows=100_000,
)
"""What the settings are where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Own:
    """The table of a node itself, before its change."""

    rows: int = 0
    addressed: bool = False
    """Whether its rows come with where they are, so that those that go need not be looked for."""
    travels: bool = True
    """Whether its rows can be brought to the driver as they are."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is known before anything is computed."""

    changed: int = 0
    """Rows of the changes that the node reads, at the most."""
    tables: Mapping[Leaf, int] = field(default_factory=dict)
    """Rows of what it reads, about."""
    own: Own = Own()
    limits: Limits = USUAL

    @property
    def small(self) -> bool:
        """Whether what is computed comes to the driver."""
        return self.changed <= self.limits.small_change_rows

    @property
    def large(self) -> Mapping[Leaf, int]:
        """What is read that has more rows than it is good to move about, where the change is small."""
        most = min(STEP_ROWS, self.limits.broadcast_table_rows)
        return {leaf: rows for leaf, rows in self.tables.items() if rows > most} if self.small else NONE_LARGE

    @property
    def looks_first(self) -> bool:
        """Whether the rows of the node's own table that a change touches are looked for, before they are joined."""
        most = self.limits.broadcast_table_rows
        return self.own.rows > (min(MOVED_ROWS, most) if self.small else most)
