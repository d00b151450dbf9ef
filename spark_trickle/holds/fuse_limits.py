"""When a fuse blows: by a ceiling, or by what its last changes were like. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from spark_trickle.model.fuse import MOST_ROWS, ChangedRows, FuseState
from spark_trickle.model.stream_table import Fuse, Options

SENSITIVITY = 3.0
"""How many deviations above the mean are still usual, where a stream table says nothing else."""
LEAST_KNOWN = 5
"""Changes that have to be known before what is usual can be."""
FLOOR = 1_000
"""No smaller change is unusual: a quiet table does not blow on its first real day."""
LEAST_DEVIATION = 0.1
"""Of the mean: loads that were always of the same size may be a little larger."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many rows, and why so many."""

    rows: int
    why: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What a change may be."""

    rows: tuple[Limit, ...] = ()
    deleted: tuple[Limit, ...] = ()

    def broken_by(self, change: ChangedRows) -> str | None:
        """Which limit a change is past, in numbers; None: none."""
        for limit in self.rows:
            if change.rows > limit.rows:
                return f"{change.rows:,} changed rows are pending ({change.deleted:,} of them deleted), and {limit.why}"
        for limit in self.deleted:
            if change.deleted > limit.rows:
                return f"{change.deleted:,} deleted rows are pending, and {limit.why}"
        return None


def effective_ceiling(options: Options, default: int) -> int | None:
    """The ceiling that counts; None: there is none. 0 says so, too."""
    given = default if options.fuse_ceiling is None else options.fuse_ceiling
    return given or None


def limits(options: Options, state: FuseState, default_ceiling: int) -> Limits:
    """What the next change of a stream table may be."""
    if options.fuse is Fuse.OFF:
        return Limits()
    ceiling = effective_ceiling(options, default_ceiling)
    at_most = () if ceiling is None else (Limit(ceiling, f"its ceiling is {ceiling:,}"),)
    if options.fuse is Fuse.ON:
        return Limits(at_most)
    sensitivity = options.fuse_sensitivity or SENSITIVITY
    usual = _usual([change.rows for change in state.changes], sensitivity, "changes had")
    deletes = _usual([change.deleted for change in state.changes], sensitivity, "changes deleted")
    return Limits((*at_most, *usual), deletes)


def _usual(known: Sequence[int], sensitivity: float, what: str) -> tuple[Limit, ...]:
    if len(known) < LEAST_KNOWN:
        return ()
    mean = sum(known) / len(known)
    deviation = sqrt(sum((each - mean) ** 2 for each in known) / len(known))
    usual = mean + sensitivity * max(deviation, LEAST_DEVIATION * mean)
    limit = int(max(FLOOR, usual)) if usual < MOST_ROWS else MOST_ROWS
    return (Limit(limit, f"its last {len(known)} {what} {mean:,.0f} on average: up to {limit:,} are usual"),)
