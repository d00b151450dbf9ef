"""A change meets large tables step by step, and nothing is joined whole that is narrowed to a change afterwards."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from spark_trickle.delta.differentiate import delta
from spark_trickle.sql.leaves import KeyRange, Leaf, StepLeaf, Version, leaf_at, leaves_of
from tests.support.duck import Kept, Lake, Table, source

TABLES = (
    Table("orders", "id BIGINT, cust BIGINT, qty INTEGER"),
    Table("items", "oid BIGINT, sku BIGINT, n INTEGER"),
    Table("cust", "id BIGINT, tier INTEGER"),
    Table("notes", "oid BIGINT, who BIGINT"),
)
LARGE: dict[Leaf, int] = {source("orders"): 1_000_000, source("items"): 4_000_000}
WITH_NOTES = (
    "SELECT o.id, i.n FROM cust c JOIN orders o ON o.cust = c.id JOIN items i ON i.oid = o.id "
    "WHERE EXISTS (SELECT 1 FROM notes WHERE notes.oid = o.id AND notes.who <> o.cust)"
)


def steps(query: str, *changed: str, large: Mapping[Leaf, int] = LARGE) -> list[set[str]]:
    """The tables that each step reads as they are or were, the last one included."""
    found = delta(Kept(Lake(TABLES), query).maintenance.public, frozenset(map(source, changed)), large)
    assert found is not None
    queries = [*(step.query for step in found.shared), found.query]
    return [{str(leaf) for leaf in _stored(query) & (large or LARGE).keys()} for query in queries]


def _stored(query: exp.Query) -> set[Leaf]:
    return {
        leaf for version, leaf in leaves_of(query) if version is not Version.CHANGES and not isinstance(leaf, StepLeaf)
    }


def test_a_change_is_computed_before_it_meets_the_next_large_table() -> None:
    query = "SELECT o.id, i.n FROM cust c JOIN orders o ON o.cust = c.id JOIN items i ON i.oid = o.id"
    assert steps(query, "cust") == [{"orders"}, {"items"}]
    assert steps(query, "cust", large={}) == [{"orders", "items"}]


def test_a_join_that_is_narrowed_to_a_change_begins_with_what_is_compared() -> None:
    assert [found for found in steps(WITH_NOTES, "notes") if found] == [{"orders"}, {"items"}]


def test_so_does_one_below_filters_and_other_matches() -> None:
    query = WITH_NOTES + " AND o.qty IN (SELECT tier FROM cust)"
    assert not [found for found in steps(query, "notes") if found == {"orders", "items"}]


def test_of_tables_that_could_be_next_the_smallest_is() -> None:
    query = "SELECT n.who, i.n, c.tier FROM notes n JOIN items i ON i.oid = n.oid JOIN cust c ON c.id = n.who"
    assert steps(query, "notes", large={source("items"): 4_000_000, source("cust"): 60_000}) == [{"cust"}, {"items"}]
    assert steps(query, "notes", large={source("items"): 60_000, source("cust"): 4_000_000}) == [{"items"}, {"cust"}]


def test_one_that_leads_on_waits_however_small_it_is() -> None:
    """A customer's tier has many makers; it is the items that tell which one counts."""
    query = (
        "SELECT o.id, m.who FROM cust c JOIN orders o ON o.cust = c.id JOIN items i ON i.oid = o.id "
        "JOIN notes m ON m.oid = c.tier AND m.who = i.sku"
    )
    sizes = {**LARGE, source("notes"): 60_000}
    assert steps(query, "cust", large=sizes) == [{"orders"}, {"items"}, {"notes"}]


def test_a_join_is_narrowed_where_only_some_of_its_columns_are_asked_for() -> None:
    query = (
        "SELECT id FROM cust WHERE id IN (SELECT o.cust FROM orders o WHERE o.id IN (SELECT oid FROM notes) "
        "AND o.qty > (SELECT 0.5 * sum(n) FROM items i WHERE i.oid = o.id))"
    )
    kept = Kept(Lake(TABLES), query).maintenance
    large = LARGE | {node.leaf: 1_000_000 for node in kept.nodes}
    found = delta(kept.public, frozenset({source("notes")}), large)
    assert found is not None
    read = [_stored(query) & large.keys() for query in (*(step.query for step in found.shared), found.query)]
    assert max(map(len, read)) == 1


def test_what_a_narrowed_row_is_matched_with_is_narrowed_too() -> None:
    query = WITH_NOTES.replace("WHERE", "WHERE EXISTS (SELECT 1 FROM items j WHERE j.oid = o.id AND j.n > i.n) AND")
    found = delta(Kept(Lake(TABLES), query).maintenance.public, frozenset({source("notes")}), LARGE)
    assert found is not None
    stored = {(version, leaf) for version in (Version.BEFORE, Version.AFTER) for leaf in LARGE}
    unbounded = [
        step
        for step in (*(shared.query for shared in found.shared), found.query)
        for table in step.find_all(exp.Table)
        if leaf_at(table) in stored and not _bounded(table)
    ]
    assert unbounded == []


def _bounded(table: exp.Table) -> bool:
    select = table.find_ancestor(exp.Select)
    where = select.args.get("where") if select is not None else None
    return where is not None and where.find(KeyRange) is not None


def test_a_filtered_table_is_met_by_each_term_before_the_largest_one() -> None:
    """Two inputs changed, the third tells which of their rows count: it is small beside them, and read twice."""
    query = "SELECT i.n, o.qty FROM items i JOIN orders o ON o.id = i.oid JOIN cust c ON c.id = i.oid WHERE c.tier = 1"
    sizes = {**LARGE, source("cust"): 60_000}
    assert steps(query, "items", "orders", large=sizes) == [{"cust"}, {"cust"}, {"orders", "items"}]
    assert steps(query.replace("WHERE c.tier = 1", ""), "items", "orders", large=sizes) == [
        {"orders", "items"},
        {"cust"},
    ]
    assert steps(query, "items", "orders", large={**sizes, source("cust"): 900_000}) == [{"orders", "items"}, {"cust"}]
