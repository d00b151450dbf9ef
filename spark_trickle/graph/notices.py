"""What a stream table changes about the graph that its user should know: diamonds it makes, groups it stands beside."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from spark_trickle.graph.dag import Dag, around, data_flow
from spark_trickle.graph.diamonds import Diamond, diamonds
from spark_trickle.model.groups import DeclaredGroup
from spark_trickle.model.stream_table import DiamondConsistency, StreamTable
from spark_trickle.names import TableName

_SHOWN_PATHS = 6


def notices(
    table: StreamTable, others: Mapping[TableName, StreamTable], declared: Iterable[DeclaredGroup]
) -> tuple[str, ...]:
    """For a stream table that is made or gets another query; `others` may hold its former self."""
    now = {**others, table.name: table}
    dag = data_flow(around(now, table.name))
    made = [diamond for diamond in diamonds(dag) if diamond.convergence == table.name]
    if table.name in others:
        # A new query may also bring paths together further down, where they were not before.
        before = data_flow(around(others, table.name))
        former = {table.name, *(diamond.convergence for diamond in diamonds(before))}
        made += [d for d in diamonds(dag) if d.convergence not in former and table.name in d.members]
    found = [_diamond(diamond, now[diamond.convergence]) for diamond in made]
    found += [warning for group in declared if (warning := _beside(table.name, dag, group))]
    return tuple(found)


def _diamond(diamond: Diamond, convergence: StreamTable) -> str:
    paths = diamond.paths()
    sources = list(dict.fromkeys(path[0] for path in paths))
    listed = ", ".join(f"'{source}'" for source in sources)
    reach = f"{listed} reaches" if len(sources) == 1 else f"{listed} reach"
    shown = "; ".join(" -> ".join(str(step) for step in path) for path in paths[:_SHOWN_PATHS])
    more = f"; and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    name = convergence.name
    if convergence.options.diamond_consistency is DiamondConsistency.ATOMIC:
        then = "They are refreshed at one cut and published together"
    else:
        then = (
            f"With diamond_consistency='none' each is refreshed by itself, and '{name}' may combine two versions; "
            f"consider diamond_consistency='atomic'"
        )
    return f"'{name}' makes a diamond: {reach} it on several paths: {shown}{more}. {then}"


def _beside(name: TableName, dag: Dag, group: DeclaredGroup) -> str | None:
    """Whether it joins members of a declared group, through different sources, without being one."""
    if name in group.members:
        return None
    members = set(group.members)
    reached = [({source} | dag.upstream(source)) & members for source in dag.sources(name)]
    joined = set().union(*reached)
    if len(joined) < 2 or sum(map(bool, reached)) < 2:
        return None
    listed = ", ".join(f"'{member}'" for member in sorted(joined))
    return (
        f"'{name}' joins {listed} of the refresh group '{group.name}' and is no member of it. If it is to be published "
        f"together with them, drop_refresh_group('{group.name}') and declare it again with '{name}'"
    )


def left_over(dropped: Container[TableName], declared: Iterable[DeclaredGroup]) -> tuple[str, ...]:
    """What becomes of declared groups whose members are dropped."""
    found = []
    for group in declared:
        left = [member for member in group.members if member not in dropped]
        if len(left) < len(group.members):
            has = f"has {len(left)} members left" if len(left) > 1 else "groups nothing any more"
            hint = "" if len(left) > 1 else f"; drop_refresh_group('{group.name}') removes it"
            found.append(f"refresh group '{group.name}' {has}{hint}")
    return tuple(found)
