"""How long to wait after a failure that may go away: 1 s, twice as long each time, a minute at the most. Pure."""

from __future__ import annotations

from datetime import timedelta

FIRST_SECONDS = 1.0
MOST_SECONDS = 60.0
JITTER = 0.25


def delay(failures: int, chance: float) -> timedelta:
    """The wait after that many failures in a row. `chance`, from 0 to 1, spreads those who failed at the same moment.

    >>> [delay(n, 0.5).total_seconds() for n in (1, 2, 3, 7, 100)]
    [1.0, 2.0, 4.0, 60.0, 60.0]
    """
    seconds = min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, 32))
    spread = 1 + JITTER * (2 * chance - 1)
    return timedelta(seconds=min(MOST_SECONDS, seconds * spread))
