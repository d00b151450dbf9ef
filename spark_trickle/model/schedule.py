"""Schedules: `30s`, `1h30m`, a cron line, or `calculated`. Parsing and printing; when one is due is the scheduler's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from spark_trickle.errors import UserError

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class Every:
    """A duration: refreshed when the last refresh is that long ago."""

    interval: timedelta


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron line of five fields, or six with seconds first."""

    line: str


@dataclass(frozen=True, slots=True)
class Calculated:
    """The smallest schedule of the stream tables that read this one."""


Schedule = Every | Cron | Calculated


def parse_schedule(text: str) -> Schedule:
    """Read a schedule as users write it.

    >>> parse_schedule("1h30m")
    Every(interval=datetime.timedelta(seconds=5400))
    """
    words = text.strip()
    if words.lower() == "calculated":
        return Calculated()
    if words.startswith("@") or len(words.split()) in (5, 6):
        return _cron(words)
    return Every(parse_duration(words))


def parse_duration(text: str) -> timedelta:
    """Read a duration such as `30s`, `5m`, `1h30m`, `1d`.

    >>> parse_duration("2m5s").total_seconds()
    125.0
    """
    match = _DURATION.fullmatch(text.strip().lower().replace(" ", ""))
    if not text.strip() or match is None or not any(match.groups()):
        raise UserError(
            f"'{text}' is not a schedule",
            hint="Write a duration (30s, 5m, 1h30m, 1d), a cron line (5 or 6 fields, @hourly, @daily) or 'calculated'",
        )
    seconds = sum(int(n or 0) * unit for n, unit in zip(match.groups(), _UNITS.values(), strict=True))
    if seconds <= 0:
        raise UserError(f"schedule '{text}' is not longer than nothing", hint="The shortest is 1s")
    return timedelta(seconds=seconds)


def _cron(words: str) -> Cron:
    line = _NICKNAMES.get(words.lower(), words)
    try:
        CronSim(line, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as err:
        raise UserError(f"'{words}' is not a cron line: {err}", hint="Five fields, or six with seconds first") from err
    return Cron(line)
