"""Stream tables that are defined together and may read each other: what columns they have.

Spark tells the columns of a query from the tables that it reads. Where those are tables that are being made, they are
staged without rows first, by what is known of them: the branches of a UNION that read no other. Then each is looked at
as a whole, again and again, until no type changes any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from spark_trickle.errors import SqlError, UserError
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import LAKE, TableName
from spark_trickle.ports import Workbench
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
