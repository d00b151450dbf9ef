"""Key ranges: next to which leaf they are put, and where they would be wrong."""

from __future__ import annotations

import pytest
from sqlglot import exp

from spark_trickle.delta.differentiate import delta
from spark_trickle.sql.leaves import KeyRange, leaf_at
from tests.support.duck import Kept, Lake, Table, source

TABLES = (
    Table("a", "k BIGINT, m BIGINT, v INTEGER, f DOUBLE, s VARCHAR"),
    Table("b", "k INTEGER, j BIGINT, f DOUBLE, s VARCHAR, d DATE"),
    Table("c", "j BIGINT, w INTEGER"),
)


def ranges(query: str, *changed: str) -> list[tuple[str, str, str, str]]:
    """(leaf, its column, source of the bounds, column of the bounds)"""
    found = delta(Kept(Lake(TABLES), query).maintenance.public, frozenset(map(source, changed)))
    assert found is not None
    result = []
    for within in found.query.find_all(KeyRange):
        select = within.find_ancestor(exp.Select)
        at = leaf_at(select.args["from_"].this) if select is not None else None
        assert at is not None
        version, leaf = at
        result.append((f"{version}.{leaf}", within.this.name, str(within.rows), within.column))
    return sorted(result)


def test_the_other_side_is_restricted_to_the_keys_that_changed() -> None:
    assert ranges("SELECT v FROM a JOIN b ON a.k = b.k", "a") == [("after.b", "k", "a", "k")]


def test_each_term_has_its_own_range() -> None:
    found = ranges("SELECT v FROM a JOIN b ON a.k = b.k", "a", "b")
    assert found == [("after.a", "k", "b", "k"), ("before.b", "k", "a", "k")]


def test_equalities_carry_over() -> None:
    query = "SELECT a.v FROM a, b, c WHERE a.m = b.j AND b.j = c.j"
    assert ranges(query, "a") == [("after.b", "j", "a", "m"), ("after.c", "j", "a", "m")]


def test_ranges_reach_leaves_through_renames_filters_and_unions() -> None:
    query = """SELECT a.v FROM a JOIN (SELECT j AS x FROM b WHERE f > 1 UNION ALL SELECT j + 1 FROM c
               UNION ALL SELECT j FROM c WHERE w > 2) u ON a.m = u.x"""
    assert ranges(query, "a") == [("after.b", "j", "a", "m"), ("after.c", "j", "a", "m")]


@pytest.mark.parametrize(
    "condition",
    ["a.f = b.f", "a.s = b.k", "a.k + 1 = b.j", "a.k < b.k", "a.k <=> b.k", "a.k = b.k OR a.v = 1"],
    ids=["floating", "converted", "computed", "inequality", "null-safe", "alternative"],
)
def test_no_range_where_it_could_lose_rows(condition: str) -> None:
    assert ranges(f"SELECT v FROM a JOIN b ON {condition}", "a") == []


def test_no_range_from_an_input_in_which_two_leaves_change() -> None:
    nested = (
        "SELECT t.k, t.z, b.s FROM (SELECT x.k, x.v + y.w AS z FROM a x JOIN c y ON x.m = y.j) t JOIN b ON t.k = b.k"
    )
    assert [leaf for leaf, *_ in ranges(nested, "a", "c") if leaf == "after.b"] == []
    assert ("after.b", "k", "a", "k") in ranges(nested, "a")


EXISTS = "SELECT a.v FROM a JOIN b ON a.m = b.j WHERE EXISTS (SELECT 1 FROM c WHERE c.j = a.m)"


def test_all_that_a_row_is_joined_by_is_within_the_range_of_what_it_is_matched_with() -> None:
    found = ranges(EXISTS, "c")
    assert ("after.a", "m", "c", "j") in found and ("after.b", "j", "c", "j") in found


@pytest.mark.parametrize("kind", ["EXISTS", "NOT EXISTS"])
def test_so_is_what_else_it_is_matched_with(kind: str) -> None:
    query = f"SELECT a.v FROM a WHERE {kind} (SELECT 1 FROM b WHERE b.j = a.m) AND a.m IN (SELECT j FROM c)"
    assert {("after.a", "m", "c", "j"), ("after.b", "j", "c", "j")} <= set(ranges(query, "c"))


def test_and_what_stands_beside_it_if_anything_does() -> None:
    query = "SELECT a.v, b.s FROM a LEFT JOIN b ON a.m = b.j WHERE a.m IN (SELECT j FROM c)"
    assert {("after.a", "m", "c", "j"), ("after.b", "j", "c", "j")} <= set(ranges(query, "c"))


@pytest.mark.parametrize("condition", ["b.j <=> a.m", "b.s = a.m", "b.j = a.m OR b.k = 1", "b.j = a.m + 1"])
def test_but_not_where_that_could_lose_a_match(condition: str) -> None:
    query = f"SELECT a.v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {condition}) AND a.m IN (SELECT j FROM c)"
    assert [leaf for leaf, *_ in ranges(query, "c") if leaf.endswith(".b")] == []
