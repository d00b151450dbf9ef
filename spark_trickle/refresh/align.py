"""What a refresh by hand takes along, so that nobody sees a base table at two versions. Pure.

Whoever reads a base table on several paths is refreshed with the stream tables on those paths, as far as they are
behind: alone it would mix what some of them have seen with what others have not.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_trickle.graph.dag import Dag
from spark_trickle.graph.units import plan_units
from spark_trickle.model.publication import Cut
from spark_trickle.names import TableName
from spark_trickle.refresh.decide import untouched


def taken_along(cut: Cut, dag: Dag, asked: Iterable[TableName]) -> set[TableName]:
    """Stream tables above the asked ones that have to move with them."""
    wanted, found = set(asked), set[TableName]()
    for name in wanted:
        sources = [source.table for source in cut.tables[name].sources]
        if len(sources) < 2 or not any(source in cut.tables for source in sources):
            continue
        # Only what is above it can split what it sees.
        family = {name, *(above for above in dag.upstream(name) if above in cut.tables)}
        unit = plan_units({each: cut.tables[each] for each in family}).of(name)
        for member in unit.members if unit.group is not None else ():
            moved = any(source.table in found or source.table in wanted for source in cut.tables[member].sources)
            if member not in wanted and (moved or not untouched(cut.tables[member], cut.pointers)):
                found.add(member)
    return found


def whole_groups(cut: Cut, refreshed: Iterable[TableName]) -> tuple[str, ...]:
    """Groups that are at the cut once these are: each of their members was refreshed, or had nothing to do."""
    moved = set(refreshed)
    there = moved | {name for name, table in cut.tables.items() if untouched(table, cut.pointers)}
    units = plan_units(cut.tables, cut.groups)
    groups = {group.id: group for group in units.groups}
    return tuple(id_ for id_ in units.whole(there) if moved.intersection(groups[id_].members))
