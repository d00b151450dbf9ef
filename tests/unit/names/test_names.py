from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.errors import UserError
from spark_trickle.names import INTERNAL_NAMESPACE, TableName, internal_name, no_stream_table, quote

PARTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda part: part == part.strip())


@pytest.mark.parametrize(
    ("text", "namespace", "name"),
    [
        ("orders", "default", "orders"),
        ("sales.orders", "sales", "orders"),
        ("lake.sales.orders", "sales", "orders"),
        ("LAKE.sales.orders", "sales", "orders"),
        ("lake.orders", "lake", "orders"),
        ("a.b.orders", "a.b", "orders"),
        ("`odd.name`", "default", "odd.name"),
        ("sales.`a``b`", "sales", "a`b"),
        ("  sales . orders ", "sales", "orders"),
    ],
)
def test_names_are_read_as_people_write_them(text: str, namespace: str, name: str) -> None:
    assert TableName.parse(text) == TableName(namespace, name)


@pytest.mark.parametrize("text", ["", " ", "a.", ".a", "a..b", "`a", "a`b`", "`a`b", "``"])
def test_what_is_no_name_is_refused_with_the_text_in_the_message(text: str) -> None:
    with pytest.raises(UserError, match="is not a table name") as caught:
        TableName.parse(text)
    assert f"'{text}'" in str(caught.value)


@given(PARTS)
def test_any_name_survives_being_quoted(name: str) -> None:
    assert TableName.parse(quote(name)) == TableName("default", name)


@given(PARTS.filter(lambda part: "." not in part), PARTS)
def test_the_sql_of_a_name_reads_back_as_the_name(namespace: str, name: str) -> None:
    assert TableName.parse(TableName(namespace, name).sql) == TableName(namespace, name)


@given(st.sampled_from(["default", "sales", "a.b"]), PARTS)
def test_a_name_as_shown_reads_back_as_the_name(namespace: str, name: str) -> None:
    assert TableName.parse(str(TableName(namespace, name))) == TableName(namespace, name)


@given(*(PARTS for _ in range(4)))
def test_no_two_stream_tables_keep_state_at_the_same_place(one: str, its: str, other: str, others: str) -> None:
    pairs = {TableName(one, its), TableName(other, others), TableName(its, one), TableName(f"{one}__{its}", other)}
    found = {internal_name(name, "state_1f") for name in pairs}
    assert len(found) == len(pairs)
    for name in found:
        assert name.namespace == INTERNAL_NAMESPACE
        assert name.name.isascii() and name.name.replace("_", "").isalnum() and len(name.name) < 100


def test_the_names_of_state_tell_apart_what_underscores_and_case_do_not() -> None:
    spelled = [TableName("a", "b__c"), TableName("a__b", "c"), TableName("a", "B__c"), TableName("a.b", "c")]
    assert len({internal_name(name, "x").name.lower() for name in spelled}) == len(spelled)
    assert internal_name(TableName("sales", "daily totals"), "state_1f").name.startswith("daily_totals_")


def test_a_name_that_is_not_found_points_to_one_of_another_case() -> None:
    known = [TableName.parse("orders_t"), TableName.parse("other.Orders_T")]
    assert "There is 'orders_t'" in str(no_stream_table(TableName.parse("ORDERS_T"), known))
    assert "SHOW STREAM TABLES" in str(no_stream_table(TableName.parse("orders"), known))


@given(PARTS, st.lists(PARTS, max_size=3), PARTS)
def test_a_table_of_another_catalog_is_none_of_ours_and_reads_back(catalog: str, levels: list[str], name: str) -> None:
    far = TableName.elsewhere(catalog, levels, name)
    assert (far.catalog, far.levels, far.name, far.is_elsewhere) == (catalog, levels, name, True)
    assert TableName.parse(far.sql, catalogs={catalog}) == far
    assert far != TableName(".".join([catalog, *levels]), name) and not TableName(catalog, name).is_elsewhere


def test_the_first_part_of_a_name_is_a_catalog_where_there_is_one() -> None:
    assert TableName.parse("prod.db.orders", catalogs={"prod"}) == TableName.elsewhere("prod", ["db"], "orders")
    assert TableName.parse("prod.db.orders") == TableName("prod.db", "orders")
    assert TableName.parse("prod", catalogs={"prod"}) == TableName("default", "prod")
    shown = str(TableName.elsewhere("prod", ["a.b", "c"], "o`x"))
    assert shown == "prod.`a.b`.c.`o``x`" and TableName.parse(shown, catalogs={"prod"}).levels == ["a.b", "c"]
