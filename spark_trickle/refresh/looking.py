"""What a refresh finds before it computes anything: whether the query still says the same, which versions it reads,
what changed in them, and reasons to start over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from spark_trickle.errors import HeldError
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.fuse import ChangedRows
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Broken, Window, Workbench
from spark_trickle.refresh.damage import damaged, gone, other_functions, require_not_renamed
from spark_trickle.refresh.decide import Rebuild, rebuild_before_looking
from spark_trickle.refresh.fuse import require_usual
from spark_trickle.refresh.request import Request
from spark_trickle.refresh.resolve import redefined


@dataclass(frozen=True, slots=True)
class Look:
    """What was found of one stream table."""

    table: StreamTable
    """With what its query says now."""
    frontier: Frontier
    """The versions of the sources that the refresh reads."""
    rebuild: Rebuild | None
    """Why it has to start over; None: what changed is known."""
    windows: dict[TableName, Window] = field(default_factory=dict)
    """What changed in each source that did."""
    pending: ChangedRows | None = None
    """How much changed in all of them; None: nobody counted."""


def look(bench: Workbench, table: StreamTable, request: Request) -> Look:
    """Look at one stream table and its sources, as they are in the workbench."""
    redefinition = _redefinition(bench, table)
    if _waited(table, request) or redefinition is not None:
        table = follow(bench, table, request)
        _require_free(table, request)
    frontier = frontier_here(bench, table, request)
    pending = require_usual(
        bench,
        table,
        frontier,
        stream_tables=request.stream_tables,
        default_ceiling=request.fuse_default_ceiling,
        now=request.now,
    )
    require_not_renamed(bench, table, request.heads)
    rebuild = rebuild_before_looking(table, request.mode)
    if rebuild is None:
        reason = damaged(bench, table) or redefinition or other_functions(bench, table)
        rebuild = _other_sources(table, frontier) if reason is None else Rebuild(Action.REINITIALIZE, reason)
    if rebuild is not None:
        return Look(table, frontier, rebuild, pending=pending)
    found = changed_sources(bench, table)
    if isinstance(found, Broken):
        action = Action.FULL if found.always else Action.REINITIALIZE
        return Look(table, frontier, Rebuild(action, found.reason), pending=pending)
    return Look(table, frontier, None, found, pending)


def frontier_here(bench: Workbench, table: StreamTable, request: Request) -> Frontier:
    """The versions of the sources that this refresh reads."""
    pins: list[Pin] = []
    for source in table.sources:
        pin = bench.pin_of(source.table)
        if pin is None:
            raise gone(table, source.table, request.heads)
        pins.append(pin)
    return Frontier(tuple(pins))


def changed_sources(bench: Workbench, table: StreamTable) -> dict[TableName, Window] | Broken:
    """What changed in each source since the versions that the stream table has been brought to."""
    windows: dict[TableName, Window] = {}
    for source in table.sources:
        if source.kind == "VIEW" or source.table in table.fuse.skipping:
            continue
        since = table.frontier.of(source.table)
        assert since is not None  # _other_sources has looked
        window = bench.window(table, since)
        if isinstance(window, Broken):
            return window
        if not window.empty:
            windows[source.table] = window
    return windows


def summary_of(table: StreamTable, frontier: Frontier) -> dict[str, str]:
    """What the staged snapshot says of itself, so that the data tells which versions it is the answer for."""
    return {
        "trickle.stream-table": str(table.name),
        "trickle.frontier": json.dumps({str(pin.table): pin.version for pin in frontier.pins}),
    }


def _redefinition(bench: Workbench, table: StreamTable) -> str | None:
    """Why the text of the query says something else than at the last refresh: a view under it does, or columns of a
    source are others, and the query reads them by `*`, by position, or where one hides another; or it is planned in
    another way.
    """
    reshaped = []
    all_there = True
    for source in table.sources:
        before, now = table.frontier.of(source.table), bench.pin_of(source.table)
        all_there = all_there and now is not None
        if before is None or now is None or (before.uuid, before.schema_id) == (now.uuid, now.schema_id):
            continue
        if source.kind == "VIEW":
            return f"view '{source.table}' was redefined"
        for column in bench.new_columns(table, before):
            return f"column '{column}' of '{source.table}' is new in the query"
        if before.uuid == now.uuid:
            reshaped.append(f"'{source.table}'")
    whose = f"the columns of {', '.join(reshaped)} were changed"
    if reshaped and table.effective_mode is RefreshMode.FULL:
        return whose
    if reshaped and table.reading and bench.reading(table) != table.reading:
        return f"{whose}, and with that what the query reads by '*' or by position"
    return _other_state(bench, table) if all_there else None


def _waited(table: StreamTable, request: Request) -> bool:
    """Whether it was created without contents some time ago: there is no frontier to tell what changed meanwhile."""
    return not table.populated and request.stream_tables.get(table.name) == table


def follow(bench: Workbench, table: StreamTable, request: Request) -> StreamTable:
    """The same query now reads something else: other sources, other state, perhaps another mode."""
    followed = redefined(table, bench.analyze(table.query, table.meaning, request.stream_tables))
    for stale in set(table.internal_tables) - set(followed.internal_tables):
        bench.drop(stale)
    return replace(followed, published=tuple(pin for pin in table.published if pin.table in followed.tables))


def _require_free(table: StreamTable, request: Request) -> None:
    """Whether it was held was decided by what it used to read; what it has come to read may hold it."""
    holds = request.holding(table)
    if holds:
        raise HeldError(table.name, holds, table.sources)


def _other_state(bench: Workbench, table: StreamTable) -> str | None:
    """Why the state that is there does not serve: the query is planned in another way than by who made it."""
    if not table.populated or table.effective_mode is RefreshMode.FULL:
        return None
    state = bench.state_of(table)
    if state is None:
        return "its query can no longer be kept incrementally"
    return None if state == table.internal_tables else "its query is planned in another way, with other internal state"


def _other_sources(table: StreamTable, frontier: Frontier) -> Rebuild | None:
    """Reasons to start over that lie in the sources: they are not those of the last refresh."""
    for source in table.sources:
        before, now = table.frontier.of(source.table), frontier.of(source.table)
        if before is None or now is None:
            return Rebuild(Action.REINITIALIZE, f"source '{source.table}' is new in the query")
        if before.uuid != now.uuid:
            reason = f"source '{source.table}' was dropped and made again under the same name"
            return Rebuild(Action.REINITIALIZE, reason)
    return None
