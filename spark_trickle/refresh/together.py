"""Stream tables that are defined together and may read each other: what columns they have, and whether they may.

Spark tells the columns of a query from the tables that it reads. Where those are tables that are being made, they are
staged without rows first, by what is known of them: the branches of a UNION that read no other. Then each is looked at
as a whole, again and again, until no type changes any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from spark_trickle.errors import CycleError, NotMonotoneError, SqlError, UserError
from spark_trickle.graph.dag import data_flow
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import LAKE, TableName
from spark_trickle.ports import Analysis, Workbench
from spark_trickle.refresh.fixpoint import empty_all
from spark_trickle.sql.branches import named, without


def stage_columns(bench: Workbench, drafts: Sequence[StreamTable]) -> None:
    """Stage stream tables that read each other, without rows, with the columns that their queries give them. Nothing is
    done for those that read none of the others.

    Args:
        drafts: names, queries and meanings count. What there is already under their names gives way.
    """
    names = {draft.name for draft in drafts}
    reads = {draft.name: _named(draft) & names for draft in drafts}
    if not any(reads.values()):
        return
    unknown = set(names)
    while unknown:
        ready = [draft for draft in drafts if draft.name in unknown and not reads[draft.name] & unknown]
        for draft in ready:
            bench.create_empty(draft)
        if not ready:
            ready = [draft for draft in drafts if draft.name in unknown and _by_branches(bench, draft, unknown)]
        if not ready:
            # One that is there already has columns, and shows with them whether its new text fits.
            ready = [draft for draft in drafts if draft.name in unknown and bench.pin_of(draft.name) is not None]
        if not ready:
            raise _untold([draft for draft in drafts if draft.name in unknown], reads)
        unknown -= {draft.name for draft in ready}
    empty_all(bench, drafts)


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
    flow = data_flow(tables.values())
    for circle in flow.circles():
        if not set(circle) & set(analyses):
            continue
        path = flow.way_round(circle)
        if not allowed:
            raise CycleError(path)
        for name in circle:
            _check_mode(path, tables[name])
        for name in (each for each in circle if each in analyses):
            found = analyses[name].obstacles
            for source in flow.sources(name):
                if source in circle and source in found:
                    raise NotMonotoneError(path, name, source, found[source])


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


def _by_branches(bench: Workbench, draft: StreamTable, unknown: Collection[TableName]) -> bool:
    """Stage it by those of its branches that read nothing unknown, if there are any."""
    try:
        known = without(draft.query, lambda parts: _table(parts, draft.meaning) in unknown)
        if known is None:
            return False
        bench.create_empty(replace(draft, query=known))
    except SqlError:
        return False  # whether its text is right is told when all of it is looked at
    return True


def _named(draft: StreamTable) -> set[TableName]:
    return {table for parts in named(draft.query) if (table := _table(parts, draft.meaning)) is not None}


def _table(parts: tuple[str, ...], meaning: Meaning) -> TableName | None:
    """The table that a name in a query means; None: none of the lake."""
    levels = parts[1:] if len(parts) > 2 and parts[0].lower() == LAKE else parts
    namespace = ".".join(levels[:-1]) or meaning.default_namespace
    return None if namespace is None else TableName(namespace, levels[-1])


def _untold(drafts: Sequence[StreamTable], reads: Mapping[TableName, Collection[TableName]]) -> UserError:
    listed = ", ".join(f"'{draft.name}'" for draft in drafts)
    first = drafts[0].name
    others = ", ".join(f"'{name}'" for name in sorted(reads[first]))
    return UserError(
        f"the columns of {listed} cannot be told: each reads another of them ('{first}' reads {others})",
        hint="Give one of them a branch that reads none, for example "
        f"SELECT CAST(NULL AS INT) AS x WHERE false UNION ALL ... as the first branch of '{first}'",
        facts={"names": [str(draft.name) for draft in drafts]},
    )
