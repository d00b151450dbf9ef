"""Options of a stream table, read from what users pass: names, strings, booleans. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from enum import StrEnum
from typing import Any

from spark_trickle.errors import UserError
from spark_trickle.model.fuse import MOST_ROWS
from spark_trickle.model.schedule import parse_schedule
from spark_trickle.model.stream_table import (
    BootstrapGating,
    DiamondConsistency,
    DiamondSchedulePolicy,
    Fuse,
    Options,
    RefreshMode,
)

_CHOICES: dict[str, type[StrEnum]] = {
    "refresh_mode": RefreshMode,
    "diamond_consistency": DiamondConsistency,
    "diamond_schedule_policy": DiamondSchedulePolicy,
    "bootstrap_gating": BootstrapGating,
    "fuse": Fuse,
}
NAMES = tuple(field.name for field in fields(Options))


def with_options(options: Options, changes: Mapping[str, object]) -> Options:
    """The options with some of them changed; a wrong one names itself and the right choices."""
    unknown = sorted(set(changes) - set(NAMES))
    if unknown:
        raise UserError(f"'{unknown[0]}' is not an option of a stream table", hint=f"Options: {', '.join(NAMES)}")
    read: dict[str, Any] = {name: _read(name, value) for name, value in changes.items()}
    changed = replace(options, **read)
    if changed.strict and changed.refresh_mode is RefreshMode.FULL:
        raise UserError(
            "strict=True and refresh_mode='FULL' exclude each other: strict refuses every recomputation",
            hint="Use refresh_mode='DIFFERENTIAL' with strict=True, or strict=False",
        )
    return changed


def _read(name: str, value: object) -> object:
    if name in _CHOICES:
        return _choice(name, value, _CHOICES[name])
    if name == "schedule":
        if not isinstance(value, str):
            raise UserError(f"schedule must be text, not {value!r}", hint="For example '5m', '@hourly' or 'calculated'")
        parse_schedule(value)
        return value
    if name == "strict":
        return _boolean(name, value)
    if name == "fuse_sensitivity":
        return _sensitivity(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise UserError(f"{name} must be a whole number of rows that is not negative, or None, not {value!r}")
    if isinstance(value, int) and value > MOST_ROWS:
        raise UserError(f"{name} cannot be more than {MOST_ROWS:,}, and is {value!r}", hint="None: there is no ceiling")
    return value


def _sensitivity(value: object) -> float | None:
    if value is None:
        return None
    try:
        found = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise UserError(f"fuse_sensitivity must be a number above 0, or None, not {value!r}")
    return found


def _choice(name: str, value: object, kind: type[StrEnum]) -> StrEnum:
    for member in kind:
        if isinstance(value, str) and value.lower() == member.value.lower():
            return member
    raise UserError(f"{name} cannot be {value!r}", hint=f"Choose one of {', '.join(repr(m.value) for m in kind)}")


def _boolean(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise UserError(f"{name} must be true or false, not {value!r}")
