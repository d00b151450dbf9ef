"""Queries to operator trees, by golden files; and names, which files show badly."""

from __future__ import annotations

import pytest

from spark_trickle.errors import NotFoundError, SqlError, StreamTableError, UnsupportedSqlError, UserError
from spark_trickle.names import TableName
from spark_trickle.sql.build import build, notices
from spark_trickle.sql.operators import Scan, scans
from spark_trickle.sql.show import show
from spark_trickle.sql.sources import SourceTable, SourceView
from tests.support.cases import Case, cases, compare

TABLES = {
    "orders": "id bigint, cust int, region string, amount decimal(12,2), qty int, price double",
    "cust": "id bigint, name string, tier int",
    "items": "oid bigint, sku string, n int",
    "nested": "info struct<a:int,b:struct<c:int>>, o struct<info:int>",
    "odd": "`select` int, `a.b` int, `ä ö` int, `Mixed` int, `x``y` int",
    "labels": "id bigint, tags map<string,int>",
    "bad": "_weight int, x int, _trickle_n int",
}
VIEWS = {
    "big": SourceView("SELECT id, amount * 2 AS twice FROM orders WHERE qty > 1", "default"),
    "turned": SourceView("SELECT qty, id, region FROM orders", "default", ("id", "qty")),
}


class Catalog:
    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def resolve(self, parts: tuple[str, ...]) -> SourceTable | SourceView:
        self.asked.append(parts)
        name = parts[-1].lower()
        if name in VIEWS:
            return VIEWS[name]
        if name not in TABLES:
            raise NotFoundError("table", ".".join(parts))
        columns = tuple(tuple(column.strip().rsplit(" ", 1)) for column in _columns(TABLES[name]))
        return SourceTable(
            TableName("default", name), tuple((column.strip("`").replace("``", "`"), kind) for column, kind in columns)
        )


def _columns(text: str) -> list[str]:
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


@pytest.mark.parametrize("case", cases("sql"), ids=str)
def test_the_tree_or_the_error_is_the_one_in_the_file(case: Case) -> None:
    try:
        compare(case, {"tree": show(build(case.query, Catalog()))})
    except StreamTableError as err:
        compare(case, {type(err).__name__: str(err)})


def outputs(query: str, names: tuple[str, ...] | None = None) -> tuple[str, ...]:
    return build(query, Catalog(), names).columns


def test_outputs_without_an_alias_are_named_like_spark_does() -> None:
    query = "SELECT region, count(*), SUM(qty), max(qty) + 1 FROM orders GROUP BY region"
    assert outputs(query) == ("region", "count(1)", "sum(qty)", "(max(qty) + 1)")


def test_names_can_be_given_by_who_knows_better() -> None:
    assert outputs("SELECT id, qty + 1 FROM orders", ("a", "b")) == ("a", "b")
    with pytest.raises(UserError, match="2 columns, and 1 names"):
        outputs("SELECT id, qty + 1 FROM orders", ("a",))


def test_names_do_not_depend_on_case_and_keep_the_spelling_of_the_query() -> None:
    assert outputs("SELECT O.ID, o.Region AS R FROM Orders o") == ("ID", "R")
    assert outputs("SELECT * FROM odd") == ("select", "a.b", "ä ö", "Mixed", "x`y")


def test_quoted_names_mean_themselves() -> None:
    tree = build("SELECT `select`, `a.b`, `x``y` AS z FROM odd WHERE `ä ö` > 1", Catalog())
    (scan,) = scans(tree)
    assert [item.source for item in scan.items] == ["select", "a.b", "ä ö", "x`y"]


def test_a_table_name_is_tried_before_a_column_name() -> None:
    (scan,) = scans(build("SELECT o.info FROM nested o", Catalog()))
    assert [item.source for item in scan.items] == ["info"]
    (scan,) = scans(build("SELECT o.info FROM nested", Catalog()))
    assert [item.source for item in scan.items] == ["o"]


def test_qualified_table_names_qualify_columns() -> None:
    catalog = Catalog()
    build("SELECT lake.default.orders.id, default.orders.qty FROM lake.default.orders", catalog)
    assert catalog.asked == [("lake", "default", "orders")]


def test_a_view_looks_up_names_in_its_own_namespace() -> None:
    catalog = Catalog()
    build("SELECT id FROM other.big", catalog)
    assert catalog.asked == [("other", "big"), ("default", "orders")]


def test_a_cte_hides_a_table_of_its_name() -> None:
    tree = build("WITH orders AS (SELECT tier AS id FROM cust) SELECT id FROM orders", Catalog())
    assert [str(scan.leaf) for scan in scans(tree)] == ["cust"]


def test_a_lambda_parameter_is_no_column_and_captures_none() -> None:
    tree = show(
        build("SELECT transform(array(qty), id -> id + x) AS t FROM (SELECT id AS x, qty FROM orders)", Catalog())
    )
    assert "id -> id + id_2" in tree


def test_struct_fields_keep_their_names() -> None:
    assert "STRUCT(id_2 AS id)" in show(
        build("SELECT a.id, struct(b.id) AS s FROM orders a JOIN cust b ON a.id = b.id", Catalog())
    )


def test_columns_of_tables_may_have_our_names() -> None:
    """Scenario D-17."""
    tree = build("SELECT x, _weight, _trickle_n AS n FROM bad", Catalog())
    assert "Scan bad [_weight, x, _trickle_n AS trickle_n]" in show(tree)
    with pytest.raises(UnsupportedSqlError, match="a column called _Trickle_N cannot be kept incrementally"):
        build("SELECT x, _Trickle_N FROM bad", Catalog())


def test_places_count_lines_and_columns_from_one() -> None:
    with pytest.raises(UnsupportedSqlError) as caught:
        build("SELECT id\nFROM orders\n  LIMIT 3", Catalog())
    assert (caught.value.line, caught.value.column) == (3, 3)
    with pytest.raises(SqlError) as wrong:
        build("SELECT\n id,\n nope FROM orders", Catalog())
    assert (wrong.value.line, wrong.value.column) == (3, 2)


def test_order_by_is_dropped_with_a_notice() -> None:
    query = "SELECT id FROM orders ORDER BY id"
    assert isinstance(next(scans(build(query, Catalog()))), Scan)
    assert "ORDER BY is not kept" in notices(query)[0]
    assert notices("SELECT id FROM orders") == ()


def test_a_table_may_lie_in_namespaces_within_namespaces() -> None:
    catalog = Catalog()
    query = "SELECT orders.id, o.qty FROM far.sales.eu.`we st`.orders JOIN far.sales.eu.orders o ON orders.id = o.id"
    assert build(query, catalog).columns == ("id", "qty")
    assert catalog.asked == [("far", "sales", "eu", "we st", "orders"), ("far", "sales", "eu", "orders")]
    with pytest.raises(UnsupportedSqlError, match="table function"):
        build("SELECT 1 FROM far.sales.eu.made(3)", catalog)
