"""Consistency groups and units, by the names that the plans for them give their tests, and the cases beyond."""

from __future__ import annotations

from spark_trickle.graph.dag import Dag
from spark_trickle.graph.units import Unit, Units, plan_units
from spark_trickle.model.groups import DeclaredGroup, GroupOrigin, Isolation, strictest
from spark_trickle.model.stream_table import DiamondSchedulePolicy
from spark_trickle.names import TableName
from tests.support.graphs import tables_of

FASTEST, SLOWEST = DiamondSchedulePolicy.FASTEST, DiamondSchedulePolicy.SLOWEST


def names(text: str) -> tuple[TableName, ...]:
    return tuple(TableName.parse(name) for name in text.split())


def planned(text: str, *declared: DeclaredGroup, none: str = "", slowest: str = "") -> Units:
    return plan_units(tables_of(text, none=tuple(none.split()), slowest=tuple(slowest.split())), declared)


def shown(units: Units) -> list[str]:
    return [" ".join(str(member) for member in unit.members) for unit in units]


def only(units: Units) -> Unit:
    (unit,) = units
    return unit


def test_groups_simple_diamond() -> None:
    group = only(planned("b: a; c: a; d: b c")).group
    assert group is not None
    assert group.members == names("b c d")
    assert group.convergence_points == names("d")
    assert (group.id, group.origin, group.policy) == ("diamond:d", GroupOrigin.DIAMOND, FASTEST)


def test_groups_singleton_non_diamond() -> None:
    units = planned("b: a; c: b")
    assert shown(units) == ["b", "c"]
    assert [(unit.group, unit.level) for unit in units] == [(None, 0), (None, 1)]


def test_groups_nested_merge() -> None:
    """D is where one diamond ends and what the other starts from."""
    group = only(planned("b: a; c: a; d: b c; e: d; f: d; g: e f")).group
    assert group is not None
    assert group.members == names("b c d e f g")
    assert group.convergence_points == names("d g")


def test_groups_independent_diamonds() -> None:
    units = planned("b: a; c: a; d: b c; q: p; r: p; s: q r")
    assert [group.id for group in units.groups] == ["diamond:d", "diamond:s"]
    assert shown(units) == ["b c d", "q r s"]


def test_two_diamonds_below_one_stream_table_that_is_in_none_stay_apart() -> None:
    units = planned("top: base; b: top; c: top; d: b c; q: top; r: top; s: q r")
    assert shown(units) == ["top", "b c d", "q r s"]


def test_diamonds_that_share_an_intermediate_are_one_group() -> None:
    assert shown(planned("b: a; c: a; e: a; d: b c; f: c e")) == ["b c d e f"]


def test_deeper_diamonds_are_one_group() -> None:
    units = planned("A: source_1; B: source_1 source_2; C: A B; D: B source_2; E: C D")
    assert shown(units) == ["A B C D E"]
    assert units.groups[0].convergence_points == names("C D E")


def test_a_chain_between_two_diamonds_keeps_them_apart() -> None:
    assert shown(planned("b: a; c: a; d: b c; m: d; e: m; f: m; g: e f")) == ["b c d", "m", "e f g"]


def test_a_group_that_two_members_of_another_read_stays_apart_where_these_do_not_meet_again() -> None:
    """y and z are in one group, because each meets m; what they read of f goes no two ways."""
    units = planned("f: s; k: s; g: f k; y: a f; m: a; z: a f; d2: y m; d3: m z")
    assert sorted(shown(units)) == ["f k g", "m y d2 z d3"]


def test_none_at_the_convergence_dissolves_its_diamond() -> None:
    assert shown(planned("b: a; c: a; d: b c", none="d")) == ["b", "c", "d"]


def test_none_at_an_intermediate_says_nothing() -> None:
    assert shown(planned("b: a; c: a; d: b c", none="b c")) == ["b c d"]


def test_none_lets_go_only_what_no_other_diamond_holds() -> None:
    assert shown(planned("b: a; c: a; d: b c; e: b c", none="e")) == ["b c d", "e"]


def test_a_diamond_inside_of_an_atomic_one_is_held_whatever_it_says() -> None:
    """E sees a on both sides; what w combines it sees, too."""
    assert shown(planned("u: a; v: a; w: u v; y: a; e: w y", none="w")) == ["u v w y e"]


def test_a_diamond_that_only_leads_to_an_atomic_one_may_be_none() -> None:
    assert shown(planned("u: a; v: a; w: u v; m: w; p: m; q: m; e: p q", none="w")) == ["u", "v", "w", "m", "p q e"]


def test_diamond_schedule_policy_default() -> None:
    assert strictest([]) is FASTEST


def test_diamond_schedule_policy_stricter() -> None:
    assert strictest([SLOWEST, FASTEST]) is strictest([FASTEST, SLOWEST]) is strictest([SLOWEST]) is SLOWEST
    assert strictest([FASTEST, FASTEST]) is FASTEST


def test_group_policy_is_read_from_the_convergence_and_not_from_intermediates() -> None:
    assert planned("b: a; c: a; d: b c", slowest="b c").groups[0].policy is FASTEST
    assert planned("b: a; c: a; d: b c", slowest="d").groups[0].policy is SLOWEST


def test_group_policy_nested_strictest_wins() -> None:
    chain = "b: a; c: a; d: b c; e: d; f: d; g: e f"
    assert planned(chain, slowest="d").groups[0].policy is SLOWEST
    assert planned(chain, slowest="g").groups[0].policy is SLOWEST


def test_the_policy_of_a_convergence_that_is_none_has_no_effect() -> None:
    inner = "u: a; v: a; w: u v; y: a; e: w y"
    assert planned(inner, none="w", slowest="w").groups[0].policy is FASTEST


def test_a_declared_group_is_one_unit_though_nothing_is_shared() -> None:
    group = DeclaredGroup(
        name="prices", members=names("b2 c2"), isolation=Isolation.REPEATABLE_READ, snapshot_timeout_ms=500
    )
    units = planned("b2: b1; c2: c1; d: b2 c2", group)
    assert shown(units) == ["b2 c2", "d"]
    (found,) = units.groups
    assert (found.id, found.origin, found.declared) == ("declared:prices", GroupOrigin.DECLARED, ("prices",))
    assert (found.isolation, found.snapshot_timeout_ms) == (Isolation.REPEATABLE_READ, 500)
    assert found.convergence_points == ()


def test_declared_group_overrides_autodetect() -> None:
    """Members of a diamond that a user declares are read as declared; the diamond's other members come along."""
    declared = DeclaredGroup(name="g", members=names("b c"), isolation=Isolation.REPEATABLE_READ)
    (group,) = planned("b: a; c: a; d: b c", declared, slowest="d").groups
    assert group.members == names("b c d")
    assert (group.id, group.origin, group.isolation) == ("declared:g", GroupOrigin.DECLARED, Isolation.REPEATABLE_READ)
    assert (group.policy, group.convergence_points) == (SLOWEST, names("d"))


def test_a_declared_group_holds_together_what_none_lets_go() -> None:
    declared = DeclaredGroup(name="g", members=names("b d"))
    assert shown(planned("b: a; c: a; d: b c", declared, none="d")) == ["c", "b d"]


def test_two_declared_groups_that_a_diamond_joins_are_one_with_the_stricter_isolation() -> None:
    one = DeclaredGroup(name="one", members=names("b x"), snapshot_timeout_ms=900)
    two = DeclaredGroup(name="two", members=names("c y"), isolation=Isolation.REPEATABLE_READ, snapshot_timeout_ms=100)
    (group,) = planned("b: a; c: a; d: b c; x: s; y: t", one, two).groups
    assert (group.id, group.isolation, group.snapshot_timeout_ms) == (
        "declared:one+two",
        Isolation.REPEATABLE_READ,
        100,
    )


def test_a_declared_group_with_one_member_left_is_none() -> None:
    units = planned("b: a; c: a", DeclaredGroup(name="g", members=names("b dropped")))
    assert shown(units) == ["b", "c"]
    assert units.groups == ()


def test_what_lies_between_members_of_a_declared_group_joins_it() -> None:
    units = planned("b: a; m: b; z: m; other: a", DeclaredGroup(name="g", members=names("b z")))
    assert shown(units) == ["b m z", "other"]


def test_two_groups_that_read_each_other_are_one_unit() -> None:
    units = planned("a: x; b: y; c: y a b; d: a b x")
    assert shown(units) == ["a b c d"]
    assert units.groups[0].convergence_points == names("c d")


def test_a_circle_of_stream_tables_is_one_unit_and_a_group_of_its_own() -> None:
    units = planned("p: a q; q: p; r: q")
    assert shown(units) == ["p q", "r"]
    circle, reader = units
    assert circle.circles == (names("p q"),)
    assert circle.group is not None
    assert (circle.group.id, circle.group.origin, circle.group.policy) == ("circle:p", GroupOrigin.CIRCLE, FASTEST)
    assert (reader.group, reader.circles) == (None, ())


def test_a_circle_inside_a_diamond_or_a_declared_group_is_merged_with_it() -> None:
    diamond = only(planned("b: a p; p: b; c: a; d: p c"))
    assert diamond.members == names("b p c d")
    assert diamond.circles == (names("b p"),)
    assert diamond.group is not None
    assert diamond.group.id == "diamond:d"
    declared = planned("p: a q; q: p; r: x", DeclaredGroup(name="g", members=names("q r")))
    assert shown(declared) == ["p q r"]
    assert declared.groups[0].id == "declared:g"
    assert only(declared).circles == (names("p q"),)


def test_units_know_their_levels_and_neighbours_near_and_far() -> None:
    units = planned("b: a; c: a; d: b c; e: d; f: d; solo: x")
    group, e, f, solo = (units.of(name) for name in names("d e f solo"))
    assert [[str(unit) for unit in level] for level in units.levels] == [["b, c, d", "solo"], ["e", "f"]]
    assert units.below(group) == (e, f)
    assert units.above(f) == (group,)
    assert units.above(solo) == units.below(solo) == ()
    assert units.all_above(e) == (group,)
    longer = planned("b: a; c: b; d: c")
    assert [str(unit) for unit in longer.all_below(longer.of(names("b")[0]))] == ["c", "d"]


def test_a_group_is_published_with_all_its_members_or_not_at_all() -> None:
    units = planned("b: a; c: a; d: b c; e: d; q: p; r: p; s: q r")
    assert units.whole(names("b c d e q s")) == ("diamond:d",)
    assert units.whole(names("b c")) == ()


def test_no_stream_tables_are_no_units() -> None:
    assert shown(plan_units({})) == []
    assert plan_units({}).levels == ()


def test_levels_count_the_longest_way_from_base_tables() -> None:
    levels = Dag({n: names(r) for n, r in zip(names("b c d"), ("a", "b", "a c"), strict=True)}).levels()
    assert {str(name): level for name, level in levels.items()} == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_components_are_circles_together_and_all_others_alone() -> None:
    dag = Dag({n: names(r) for n, r in zip(names("p q r"), ("q a", "p", "q"), strict=True)})
    assert dag.components() == (names("a"), names("p q"), names("r"))


def test_a_ladder_with_more_paths_than_could_be_listed_is_planned() -> None:
    steps = "; ".join(f"l{i}: s{i}; r{i}: s{i}; s{i + 1}: l{i} r{i}" for i in range(200))
    (group,) = planned(steps).groups
    assert (len(group.members), len(group.convergence_points)) == (600, 200)
