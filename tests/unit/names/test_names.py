from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.errors import UserError
from spark_trickle.names import TableName, quote

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
