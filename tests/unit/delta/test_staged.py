"""A change meets large tables step by step, and nothing is joined whole that is narrowed to a change afterwards."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.differentiate import delta
from spark_trickle.delta.ranges import KEY_RANGE
from tests.support.duck import Kept, Lake, Table

TABLES = (
    Table("orders", "id BIGINT, cust BIGINT, qty INTEGER"),
    Table("items", "oid BIGINT, sku BIGINT, n INTEGER"),
    Table("cust", "id BIGINT, tier INTEGER"),
    Table("notes", "oid BIGINT, who BIGINT"),
)
LARGE = frozenset({"orders", "items"})
WITH_NOTES = (
    "SELECT o.id, i.n FROM cust c JOIN orders o ON o.cust = c.id JOIN items i ON i.oid = o.id "
    "WHERE EXISTS (SELECT 1 FROM notes WHERE notes.oid = o.id AND notes.who <> o.cust)"
)


def steps(query: str, *changed: str, large: frozenset[str] = LARGE) -> list[set[str]]:
    """The tables that each step reads as they are or were, the last one included."""
    found = delta(Kept(Lake(TABLES), query).maintenance.public, frozenset(changed), large)
    assert found is not None
    queries = [*(step.query for step in found.shared), found.query]
    return [
        {table.name for table in query.find_all(exp.Table) if table.db in ("before", "after")} & LARGE
        for query in queries
    ]


def test_a_change_is_computed_before_it_meets_the_next_large_table() -> None:
    query = "SELECT o.id, i.n FROM cust c JOIN orders o ON o.cust = c.id JOIN items i ON i.oid = o.id"
    assert steps(query, "cust") == [{"orders"}, {"items"}]
    assert steps(query, "cust", large=frozenset()) == [LARGE]


def test_a_join_that_is_narrowed_to_a_change_begins_with_what_is_compared() -> None:
    assert [found for found in steps(WITH_NOTES, "notes") if found] == [{"orders"}, {"items"}]


def test_so_does_one_below_filters_and_other_matches() -> None:
    query = WITH_NOTES + " AND o.qty IN (SELECT tier FROM cust)"
    assert not [found for found in steps(query, "notes") if found == LARGE]


def test_what_a_narrowed_row_is_matched_with_is_narrowed_too() -> None:
    query = WITH_NOTES.replace("WHERE", "WHERE EXISTS (SELECT 1 FROM items j WHERE j.oid = o.id AND j.n > i.n) AND")
    found = delta(Kept(Lake(TABLES), query).maintenance.public, frozenset({"notes"}), LARGE)
    assert found is not None
    unbounded = [
        step
        for step in (*(shared.query for shared in found.shared), found.query)
        for table in step.find_all(exp.Table)
        if table.name in LARGE and table.db in ("before", "after") and not _bounded(table)
    ]
    assert unbounded == []


def _bounded(table: exp.Table) -> bool:
    select = table.find_ancestor(exp.Select)
    where = select.args.get("where") if select is not None else None
    return where is not None and any(call.name == KEY_RANGE for call in where.find_all(exp.Anonymous))
