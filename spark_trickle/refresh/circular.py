"""Which circles may be: those that are allowed, whose members are kept incrementally and are monotone in each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from spark_trickle.errors import CycleError, NotMonotoneError, UserError
from spark_trickle.graph.dag import data_flow
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Analysis, Workbench


def check_circles(
    tables: Mapping[TableName, StreamTable],
    analyses: Mapping[TableName, Analysis],
    *,
    allowed: bool,
) -> None:
    """Whether the circles may be that some stream tables are in.

    Args:
        tables: all that there will be.
        analyses: of those whose definitions are new, as far as they are known.
    """

    def told(member: StreamTable) -> Mapping[TableName, str]:
        return analyses[member.name].obstacles if member.name in analyses else {}

    flow = data_flow(tables.values())
    for circle in flow.circles():
        if not set(circle) & set(analyses):
            continue
        path = flow.way_round(circle)
        if not allowed:
            raise CycleError(path)
        _require_members(path, [tables[name] for name in circle], told)


def check_again(bench: Workbench, members: Sequence[StreamTable]) -> None:
    """Whether a circle still may be that is going to be refreshed: a view under a member may have been redefined."""
    flow, of = data_flow(members), {member.name: member for member in members}
    for circle in flow.circles():
        _require_members(flow.way_round(circle), [of[name] for name in circle], bench.obstacles)


def _require_members(
    path: Sequence[TableName],
    members: Sequence[StreamTable],
    obstacles: Callable[[StreamTable], Mapping[TableName, str]],
) -> None:
    for member in members:
        _check_mode(path, member)
    circle = {member.name for member in members}
    for member in members:
        found = obstacles(member)
        for source in sorted(source.table for source in member.sources):
            if source in circle and source in found:
                raise NotMonotoneError(path, member.name, source, found[source])


def _check_mode(path: Iterable[object], table: StreamTable) -> None:
    mode = table.effective_mode
    if mode is RefreshMode.DIFFERENTIAL:
        return
    because = f" ({table.mode_reason})" if table.mode_reason else ""
    raise UserError(
        f"the circle {' -> '.join(map(str, path))} is not possible: '{table.name}' is kept in {mode} mode{because}",
        hint="Members of a circle are kept in DIFFERENTIAL mode",
        facts={"name": str(table.name), "mode": mode.value},
    )
