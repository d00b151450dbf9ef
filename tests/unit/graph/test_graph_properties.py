"""Random graphs: what the graph room finds with bits is what the definitions say by listing all paths."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_trickle.graph.dag import around, data_flow
from spark_trickle.graph.diamonds import diamonds
from spark_trickle.graph.units import Units, plan_units
from spark_trickle.model.groups import DeclaredGroup
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName
from tests.support.graphs import Edges, inside, joined, meeting_groups, orderly, paths, tables_of

BASES = ("x", "y", "z")
NAMES = tuple("abcdefgh")


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Up to eight stream tables; each reads some of those before it."""
    count = draw(st.integers(1, len(NAMES)))
    order = draw(st.permutations(NAMES))[:count]
    found = {}
    for i, name in enumerate(order):
        readable = [*BASES, *order[:i]]
        found[name] = tuple(draw(st.lists(st.sampled_from(readable), min_size=1, max_size=3, unique=True)))
    return found


some = st.lists(st.sampled_from(NAMES), unique=True, max_size=4).map(tuple)


def named(names: object) -> frozenset[str]:
    return frozenset(str(name) for name in names)  # type: ignore[attr-defined]


def check_order(units: Units, tables: dict[TableName, StreamTable]) -> None:
    """Everybody is in one unit, finds what it reads before it, and neighbours know each other."""
    assert sorted(member for unit in units for member in unit.members) == sorted(tables)
    position = {member: i for i, unit in enumerate(units) for member in unit.members}
    for unit in units:
        assert list(unit.members) == list(data_flow(tables.values()).ordered(unit.members))
        above = {
            units.of(source.table)
            for member in unit.members
            for source in tables[member].sources
            if source.table in tables and source.table not in unit.members
        }
        assert set(units.above(unit)) == above
        assert all(unit in units.below(other) for other in above)
        assert all(position[other.members[0]] < position[unit.members[0]] for other in above)
        assert unit.level == max((other.level + 1 for other in above), default=0)
    assert [unit for level in units.levels for unit in level] == sorted(units, key=lambda unit: unit.level)


@given(graphs())
@settings(max_examples=300, deadline=None)
def test_a_stream_table_has_a_diamond_where_two_paths_from_one_source_meet(edges: Edges) -> None:
    found = {str(diamond.convergence): diamond for diamond in diamonds(data_flow(tables_of(edges).values()))}
    assert set(found) == {name for name in edges if inside(edges, name)}
    for name, diamond in found.items():
        assert diamond.intermediates
        assert named(diamond.intermediates) <= inside(edges, name)


@given(graphs())
@settings(max_examples=300, deadline=None)
def test_the_named_paths_are_paths_and_each_source_has_two(edges: Edges) -> None:
    for diamond in diamonds(data_flow(tables_of(edges).values())):
        shown = [tuple(str(step) for step in path) for path in diamond.paths()]
        assert all(path in paths(edges, path[0], str(diamond.convergence)) for path in shown)
        for source in {path[0] for path in shown}:
            assert len({path[-2] for path in shown if path[0] == source}) > 1
            assert source in named(diamond.shared_sources)


@given(graphs(), st.sampled_from(NAMES))
@settings(max_examples=300, deadline=None)
def test_what_is_around_a_stream_table_tells_all_diamonds_that_it_has_a_part_in(edges: Edges, name: str) -> None:
    tables, asked = tables_of(edges), TableName.parse(name)
    if asked not in tables:
        return
    dag = data_flow(tables.values())
    near = {asked, *dag.downstream(asked)}
    whole, part = (
        [(each.members, each.paths()) for each in diamonds(graph) if each.convergence in near]
        for graph in (dag, data_flow(around(tables, asked)))
    )
    assert sorted(part) == sorted(whole)
    assert {table.name for table in around(tables, asked)} >= near


@given(graphs(), some)
@settings(max_examples=600, deadline=None)
def test_groups_are_what_the_definition_says(edges: Edges, none: tuple[str, ...]) -> None:
    tables = tables_of(edges, none=none)
    units = plan_units(tables)
    check_order(units, tables)
    expected = orderly(edges, list(meeting_groups(edges, none)))
    assert {named(unit.members) for unit in units} == expected
    assert {named(group.members) for group in units.groups} == {part for part in expected if len(part) > 1}


@given(graphs(), some, some, some)
@settings(max_examples=300, deadline=None)
def test_declared_groups_stay_whole_and_leave_an_order(
    edges: Edges, none: tuple[str, ...], one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    tables = tables_of(edges, none=none)
    declared = [
        DeclaredGroup(name=name, members=tuple(TableName.parse(member) for member in members))
        for name, members in (("one", one), ("other", tuple(sorted({*other} - {*one}))))
    ]
    units = plan_units(tables, declared)
    check_order(units, tables)
    alive = [named(group.members) & set(edges) for group in declared]
    groups = joined([*meeting_groups(edges, none), *(each for each in alive if len(each) > 1)])
    assert {named(unit.members) for unit in units} == orderly(edges, groups)
    for group in units.groups:
        assert set(group.declared) == {
            each.name
            for each, members in zip(declared, alive, strict=True)
            if len(members) > 1 and members & named(group.members)
        }


@given(graphs(), some)
@settings(max_examples=100, deadline=None)
def test_the_plan_does_not_depend_on_the_order_of_the_tables(edges: Edges, none: tuple[str, ...]) -> None:
    tables = tables_of(edges, none=none)
    assert plan_units(tables) == plan_units(dict(reversed(tables.items())))
