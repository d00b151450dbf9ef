"""What a refresh has to do, decided from what is known. Pure; each answer carries its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_trickle.model.frontier import Pointer
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import TableName

NOTHING_CHANGED = "no source has changed"

SMALL_CHANGE_ROWS = 10_000
"""Below this many changed rows the ratio says nothing: on a table of ten rows every change is a large one."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Compute the whole query again."""

    action: Action
    reason: str
    plain: bool = False
    """Only the public table, by the query as it was written: internal state is left behind."""


def untouched(table: StreamTable, heads: Mapping[TableName, Pointer]) -> bool:
    """Whether every source and every table of ours is exactly where the last refresh left it.

    Equal metadata locations mean equal versions: no file is opened for this. What reads the clock is never as it was.
    """
    if not table.populated or table.reads_clock or table.fuse.reinitialize:
        return False
    pins = (*table.frontier.pins, *table.published)
    return all(pin.table in heads and heads[pin.table].location == pin.location for pin in pins)


def rebuild_before_looking(table: StreamTable, requested: RefreshMode | None) -> Rebuild | None:
    """A rebuild that needs no look at the sources' changes."""
    if not table.populated:
        return Rebuild(Action.FULL, "first refresh" if table.epoch == 0 else "its definition was changed")
    if requested is RefreshMode.FULL:
        return Rebuild(Action.FULL, "mode FULL was asked for")
    if table.fuse.reinitialize:
        return Rebuild(Action.REINITIALIZE, "its fuse was reset by 'reinitialize'")
    if table.reads_clock:
        return Rebuild(Action.FULL, table.mode_reason or "it reads the clock")
    return None


def full_by_mode(table: StreamTable) -> Rebuild | None:
    """A rebuild because the stream table is kept in FULL mode (asked only once something changed)."""
    if table.effective_mode is RefreshMode.FULL:
        reason = table.mode_reason or "refresh_mode is FULL"
        return Rebuild(Action.FULL, reason)
    return None


def full_by_size(table: StreamTable, changed_rows: int, total_rows: int | None, limit: float) -> Rebuild | None:
    """A rebuild because so much changed that recomputing is likely the cheaper way. Only AUTO may choose it."""
    if table.options.refresh_mode is not RefreshMode.AUTO or table.options.strict:
        return None
    if changed_rows < SMALL_CHANGE_ROWS or not total_rows:
        return None
    ratio = changed_rows / total_rows
    if ratio <= limit:
        return None
    return Rebuild(
        Action.FULL,
        f"{changed_rows:,} of {total_rows:,} rows changed ({ratio:.0%}), "
        f"more than differential_max_change_ratio = {limit:g}",
    )


def written_past(sources: Sequence[str]) -> str:
    """What is told of an IMMEDIATE stream table that somebody wrote past.

    >>> written_past(["a", "b"])
    "'a', 'b' were written, and not through engine.sql or engine.transaction()"
    """
    verb = "was" if len(sources) == 1 else "were"
    return f"{', '.join(map(repr, sources))} {verb} written, and not through engine.sql or engine.transaction()"
