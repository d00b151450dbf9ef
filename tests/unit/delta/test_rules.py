"""Completeness of the rules, and what they leave out."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.differentiate import delta
from spark_trickle.delta.rules import RULES, STATEFUL
from spark_trickle.sql.leaves import Version, leaves_of
from spark_trickle.sql.operators import OPERATORS, Again, Once
from tests.support.duck import Kept, Lake, Table, source

A, B = Table("a", "k BIGINT, v INTEGER"), Table("b", "k BIGINT, s VARCHAR")


def change(query: str, *changed: str) -> exp.Query | None:
    found = delta(Kept(Lake((A, B)), query).maintenance.public, frozenset(map(source, changed)))
    return None if found is None else found.query


def leaves(query: exp.Query | None) -> set[tuple[str, str]]:
    assert query is not None
    return {(version.value, str(leaf)) for version, leaf in leaves_of(query)}


def test_every_operator_has_a_rule_or_is_a_node_of_its_own() -> None:
    # A recursion is computed as a whole, what it reads of itself with it; Once is a mark, gone before anything runs.
    assert set(OPERATORS) == set(RULES) | STATEFUL | {Again, Once}
    assert not set(RULES) & STATEFUL


def test_a_join_with_one_changed_side_has_one_term() -> None:
    query = "SELECT a.v, b.s FROM a JOIN b ON a.k = b.k"
    assert leaves(change(query, "a")) == {("changes", "a"), ("after", "b")}
    assert leaves(change(query, "b")) == {("changes", "b"), ("after", "a")}


def test_a_join_with_both_sides_changed_reads_one_before_and_one_after() -> None:
    found = leaves(change("SELECT a.v, b.s FROM a JOIN b ON a.k = b.k", "a", "b"))
    assert found == {("changes", "a"), ("before", "b"), ("changes", "b"), ("after", "a")}


def test_nothing_changes_when_no_source_does() -> None:
    assert change("SELECT a.v, b.s FROM a JOIN b ON a.k = b.k") is None
    assert change("SELECT k FROM a", "b") is None
    assert change("SELECT 1 AS one", "a") is None


def test_an_unchanged_branch_of_a_union_is_left_out() -> None:
    assert leaves(change("SELECT k FROM a UNION ALL SELECT k FROM b", "b")) == {("changes", "b")}


def test_only_the_columns_that_are_needed_are_read() -> None:
    query = change("SELECT a.v FROM a JOIN b ON a.k = b.k", "a")
    assert query is not None
    assert "s" not in {found.name for found in query.find_all(exp.Column)}


def test_leaves_are_versions() -> None:
    query = change("SELECT x.v AS v1, y.v AS v2 FROM a x JOIN a y ON x.k = y.k", "a")
    assert {db for db, _ in leaves(query)} <= {version.value for version in Version}
