"""Known ways to get a wrong result from outer joins and subqueries, each a small story: first and last partners, NULLs
that come and go, subqueries that change while the rows around them do not.
"""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from tests.equivalence.test_scenarios import CUST, ORDERS
from tests.support.duck import Kept, Table
from tests.support.stories import kept, then

LINES = Table("l", "oid INTEGER, q INTEGER")
NUMBERS = Table("s", "x INTEGER")
Rows = dict[str, list[tuple[object, ...]]]


def left_join(load: Rows) -> Kept:
    return kept("SELECT c.name, o.id FROM c LEFT JOIN o ON o.cust = c.id", CUST, ORDERS, load=load)


def test_j10_the_first_partner_takes_the_place_of_the_nulls() -> None:
    stream = left_join({"c": [(1, "ann")]})
    assert stream.rows() == {("ann", None): 1}
    then(stream, "INSERT INTO after.o VALUES (7, 1, 5)")
    assert stream.rows() == {("ann", 7.0): 1}
    then(stream, "INSERT INTO after.o VALUES (8, 1, 5)")
    assert stream.rows() == {("ann", 7.0): 1, ("ann", 8.0): 1}


def test_j10_without_its_last_partner_a_row_stands_beside_nulls() -> None:
    stream = left_join({"c": [(1, "ann")], "o": [(7, 1, 5), (8, 1, 5)]})
    then(stream, "DELETE FROM after.o WHERE id = 7")
    assert stream.rows() == {("ann", 8.0): 1}
    then(stream, "DELETE FROM after.o WHERE id = 8")
    assert stream.rows() == {("ann", None): 1}


def test_j10_a_row_and_its_only_partner_go_together() -> None:
    stream = left_join({"c": [(1, "ann")], "o": [(7, 1, 5)]})
    then(stream, "DELETE FROM after.o", "DELETE FROM after.c")
    assert not stream.rows()


def test_j10_a_partner_that_is_exchanged_leaves_no_nulls() -> None:
    stream = left_join({"c": [(1, "ann")], "o": [(7, 1, 5)]})
    then(stream, "DELETE FROM after.o", "INSERT INTO after.o VALUES (8, 1, 5)")
    assert stream.rows() == {("ann", 8.0): 1}


def test_j11_both_sides_of_a_full_join_change_at_once() -> None:
    load: Rows = {"c": [(1, "ann"), (2, "bob")], "o": [(7, 1, 5), (8, 3, 5)]}
    stream = kept("SELECT c.id AS c, o.id AS o FROM c FULL JOIN o ON o.cust = c.id", CUST, ORDERS, load=load)
    assert stream.rows() == {(1.0, 7.0): 1, (2.0, None): 1, (None, 8.0): 1}
    then(stream, "DELETE FROM after.c WHERE id = 1", "UPDATE after.o SET cust = 2 WHERE id = 8")
    assert stream.rows() == {(None, 7.0): 1, (2.0, 8.0): 1}


def test_j11_null_keys_of_a_full_join_never_match() -> None:
    load: Rows = {"c": [(None, "nobody")], "o": [(7, None, 5)]}
    query = "SELECT c.name, o.id FROM c FULL JOIN o ON o.cust = c.id"
    stream = kept(query, CUST, ORDERS, load=load)
    assert stream.rows() == {("nobody", None): 1, (None, 7.0): 1}
    then(stream, "INSERT INTO after.o VALUES (8, NULL, 5)", "DELETE FROM after.c")
    assert stream.rows() == {(None, 7.0): 1, (None, 8.0): 1}


def test_j11_groups_of_the_key_of_a_full_join() -> None:
    tables = (Table("a", "k INTEGER, v INTEGER"), Table("b", "k INTEGER, u INTEGER"))
    query = "SELECT COALESCE(a.k, b.k) AS k, SUM(v) AS v, SUM(u) AS u FROM a FULL JOIN b ON a.k = b.k GROUP BY 1"
    stream = kept(query, *tables, load={"a": [(1, 10), (2, 20)], "b": [(2, 5), (3, 7)]})
    then(stream, "DELETE FROM after.a WHERE k = 2", "INSERT INTO after.b VALUES (1, 1), (NULL, 9)")
    assert stream.rows() == {(1.0, 10.0, 1.0): 1, (2.0, None, 5.0): 1, (3.0, None, 7.0): 1, (None, None, 9.0): 1}


def test_j11_a_grouped_full_join_of_a_full_join() -> None:
    tables = tuple(Table(name, "k INTEGER, v INTEGER") for name in "abc")
    query = "SELECT k, COUNT(*) AS n, SUM(c.v) AS s FROM a FULL JOIN b USING (k) FULL JOIN c USING (k) GROUP BY k"
    stream = kept(query, *tables, load={"a": [(1, 1)], "b": [(2, 2)], "c": [(1, 5), (2, 6)]})
    then(stream, "DELETE FROM after.a", "INSERT INTO after.b VALUES (1, 1)", "UPDATE after.c SET v = v + 1")
    assert stream.rows() == {(1.0, 1.0, 6.0): 1, (2.0, 1.0, 7.0): 1}


def test_a2_an_aggregate_over_an_outer_join_loses_and_finds_its_partners() -> None:
    query = "SELECT c.name, COUNT(o.id) AS n, SUM(o.amt) AS s FROM c LEFT JOIN o ON o.cust = c.id GROUP BY c.name"
    load: Rows = {"c": [(1, "ann"), (2, "bob")], "o": [(7, 1, 5)]}
    stream = kept(query, CUST, ORDERS, load=load)
    then(stream, "DELETE FROM after.o")
    assert stream.rows() == {("ann", 0.0, None): 1, ("bob", 0.0, None): 1}
    then(stream, "INSERT INTO after.o VALUES (8, 2, 3)")
    assert stream.rows() == {("ann", 0.0, None): 1, ("bob", 1.0, 3.0): 1}


def test_a2_an_aggregate_over_a_full_join_whose_sides_go_in_turn() -> None:
    query = (
        "SELECT COALESCE(c.id, o.cust) AS k, SUM(o.amt) AS s, COUNT(c.name) AS n "
        "FROM c FULL JOIN o ON o.cust = c.id GROUP BY COALESCE(c.id, o.cust)"
    )
    stream = kept(query, CUST, ORDERS, load={"c": [(1, "ann")], "o": [(7, 1, 5)]})
    then(stream, "DELETE FROM after.c")
    assert stream.rows() == {(1.0, 5.0, 0.0): 1}
    then(stream, "DELETE FROM after.o", "INSERT INTO after.c VALUES (1, 'ann')")
    assert stream.rows() == {(1.0, None, 1.0): 1}


def test_a11_customers_by_the_number_of_their_orders() -> None:
    query = (
        "SELECT n, COUNT(*) AS custs FROM (SELECT c.id, COUNT(o.id) AS n FROM c LEFT JOIN o ON o.cust = c.id "
        "AND o.amt > 1 GROUP BY c.id) GROUP BY n"
    )
    stream = kept(query, CUST, ORDERS, load={"c": [(1, "ann"), (2, "bob")], "o": [(7, 1, 5)]})
    then(stream, "INSERT INTO after.o VALUES (8, 2, 3), (9, 2, 1)")
    assert stream.rows() == {(1.0, 2.0): 1}
    then(stream, "UPDATE after.o SET amt = 0 WHERE id = 7")
    assert stream.rows() == {(0.0, 1.0): 1, (1.0, 1.0): 1}
    then(stream, "DELETE FROM after.c WHERE id = 2")
    assert stream.rows() == {(0.0, 1.0): 1}


def test_e1_an_order_and_its_lines_go_together() -> None:
    query = "SELECT o.id FROM o WHERE EXISTS (SELECT 1 FROM l WHERE l.oid = o.id)"
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 1), (2, 1, 1)], "l": [(1, 1), (1, 2), (2, 1)]})
    then(stream, "DELETE FROM after.o WHERE id = 1", "DELETE FROM after.l WHERE oid = 1")
    assert stream.rows() == {(2.0,): 1}


def test_e2_the_last_row_in_the_way_goes() -> None:
    query = "SELECT o.id FROM o WHERE NOT EXISTS (SELECT 1 FROM l WHERE l.oid = o.id)"
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 1)], "l": [(1, 1), (1, 2)]})
    then(stream, "DELETE FROM after.l WHERE q = 1")
    assert not stream.rows()
    then(stream, "DELETE FROM after.l")
    assert stream.rows() == {(1.0,): 1}
    then(stream, "INSERT INTO after.l VALUES (1, 3), (2, 3)", "INSERT INTO after.o VALUES (2, 1, 1), (3, 1, 1)")
    assert stream.rows() == {(3.0,): 1}


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT l.oid FROM l WHERE l.oid = o.id GROUP BY l.oid HAVING SUM(l.q) > 5)",
        "o.id IN (SELECT oid FROM l GROUP BY oid HAVING SUM(q) > 5)",
    ],
)
def test_e3_a_threshold_inside_the_subquery_counts(condition: str) -> None:
    stream = kept(f"SELECT o.id FROM o WHERE {condition}", ORDERS, LINES, load={"o": [(1, 1, 1)], "l": [(1, 5)]})
    assert not stream.rows()
    then(stream, "INSERT INTO after.l VALUES (1, 1)")
    assert stream.rows() == {(1.0,): 1}
    then(stream, "UPDATE after.l SET q = q - 1")
    assert not stream.rows()


@pytest.mark.parametrize(
    ("condition", "before", "after"),
    [
        ("EXISTS (SELECT 1 FROM l WHERE l.oid = o.id) OR o.amt = 9", {2}, {1, 2}),
        ("NOT (EXISTS (SELECT 1 FROM l WHERE l.oid = o.id) AND o.amt = 9)", {1, 2}, {1}),
        ("CASE WHEN EXISTS (SELECT 1 FROM l WHERE l.oid = o.id) THEN 1 ELSE 2 END = 1", set(), {1, 2}),
        ("COALESCE((SELECT MAX(q) FROM l WHERE l.oid = o.id), 0) > 0", set(), {1, 2}),
        ("abs((SELECT -SUM(q) FROM l WHERE l.oid = o.id)) > 0", set(), {1, 2}),
    ],
)
def test_e4_a_subquery_inside_an_expression(condition: str, before: set[int], after: set[int]) -> None:
    stream = kept(f"SELECT o.id FROM o WHERE {condition}", ORDERS, LINES, load={"o": [(1, 1, 1), (2, 1, 9)]})
    assert {row[0] for row in stream.rows()} == before
    then(stream, "INSERT INTO after.l VALUES (1, 4), (2, 4)")
    assert {row[0] for row in stream.rows()} == after


def test_e5_pairs_match_in_both_columns() -> None:
    query = "SELECT o.id FROM o WHERE (o.id, o.amt) IN (SELECT oid, q FROM l)"
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 5)], "l": [(1, 4)]})
    assert not stream.rows()
    then(stream, "INSERT INTO after.l VALUES (1, 5)")
    assert stream.rows() == {(1.0,): 1}


def test_e6_less_than_all_said_with_not_exists() -> None:
    query = "SELECT o.id FROM o WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.x IS NULL OR NOT (o.amt < s.x))"
    stream = kept(query, ORDERS, NUMBERS, load={"o": [(1, 1, 5)]})
    assert stream.rows() == {(1.0,): 1}
    then(stream, "INSERT INTO after.s VALUES (6), (NULL)")
    assert not stream.rows()
    then(stream, "DELETE FROM after.s WHERE x IS NULL")
    assert stream.rows() == {(1.0,): 1}


def test_e7_only_the_subquery_changes() -> None:
    query = "SELECT o.id, (SELECT MAX(x) FROM s) AS m FROM o"
    stream = kept(query, ORDERS, NUMBERS, load={"o": [(1, 1, 5), (2, 1, 5)], "s": [(3,)]})
    then(stream, "INSERT INTO after.s VALUES (4)")
    assert stream.rows() == {(1.0, 4.0): 1, (2.0, 4.0): 1}
    then(stream, "DELETE FROM after.s")
    assert stream.rows() == {(1.0, None): 1, (2.0, None): 1}


def test_e7_the_largest_row_of_a_correlated_subquery_goes() -> None:
    query = "SELECT o.id, (SELECT MAX(q) FROM l WHERE l.oid = o.id) AS m FROM o"
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 5), (2, 1, 5)], "l": [(1, 3), (1, 8)]})
    assert stream.rows() == {(1.0, 8.0): 1, (2.0, None): 1}
    then(stream, "DELETE FROM after.l WHERE q = 8")
    assert stream.rows() == {(1.0, 3.0): 1, (2.0, None): 1}


def test_e8_an_average_that_moves_lets_other_rows_in() -> None:
    query = "SELECT o.id FROM o WHERE o.amt < (SELECT 0.2 * AVG(q) FROM l WHERE l.oid = o.cust)"
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 5), (2, 2, 5)], "l": [(1, 20), (2, 30)]})
    assert stream.rows() == {(2.0,): 1}
    then(stream, "INSERT INTO after.l VALUES (1, 40), (2, 2)")
    assert stream.rows() == {(1.0,): 1}


def test_n1_a_null_in_the_subquery_empties_not_in() -> None:
    query = "SELECT id FROM o WHERE id NOT IN (SELECT x FROM s)"
    stream = kept(query, ORDERS, NUMBERS, load={"o": [(1, 1, 1), (2, 1, 1), (None, 1, 1)], "s": [(1,)]})
    assert stream.rows() == {(2.0,): 1}
    then(stream, "INSERT INTO after.s VALUES (NULL)")
    assert not stream.rows()
    then(stream, "DELETE FROM after.s WHERE x IS NULL")
    assert stream.rows() == {(2.0,): 1}
    then(stream, "DELETE FROM after.s")
    assert stream.rows() == {(1.0,): 1, (2.0,): 1, (None,): 1}


def test_n1_values_that_are_like_others_change_no_row_but_their_count() -> None:
    query = "SELECT id FROM o WHERE id NOT IN (SELECT x FROM s)"
    stream = kept(query, ORDERS, NUMBERS, load={"o": [(1, 1, 1), (2, 1, 1)], "s": [(1,), (5,)]})
    before = stream.written
    then(stream, "INSERT INTO after.s VALUES (6), (7)", "DELETE FROM after.s WHERE x = 5")
    assert stream.written == before + 2  # the old count of values that are not NULL, and the new one


def test_n1_pairs_with_nulls_are_unknown_only_where_the_rest_is_equal() -> None:
    tables = (Table("p", "a INTEGER, b INTEGER"), Table("s", "x INTEGER, y INTEGER"))
    # DuckDB compares pairs as values: a NULL in one of two columns makes it unknown, whatever the other one is.
    answer = "SELECT a, b FROM after.p WHERE NOT EXISTS (SELECT 1 FROM after.s WHERE (a = x AND b = y) IS NOT FALSE)"
    query = "SELECT a, b FROM p WHERE (a, b) NOT IN (SELECT x, y FROM s)"
    load: Rows = {"p": [(1, 1), (1, 2), (2, None), (3, 3)], "s": [(1, 1)]}
    stream = kept(query, *tables, load=load, answer=answer)
    assert stream.rows() == {(1.0, 2.0): 1, (2.0, None): 1, (3.0, 3.0): 1}
    then(stream, "INSERT INTO after.s VALUES (3, NULL), (2, 7)")
    assert stream.rows() == {(1.0, 2.0): 1}
    then(stream, "INSERT INTO after.s VALUES (NULL, NULL)", "INSERT INTO after.p VALUES (5, 5)")
    assert not stream.rows()
    then(stream, "DELETE FROM after.s WHERE y IS NULL")
    assert stream.rows() == {(1.0, 2.0): 1, (3.0, 3.0): 1, (5.0, 5.0): 1}


def test_l1_only_the_inner_table_of_a_lateral_subquery_changes() -> None:
    query = (
        "SELECT o.id, t.m, t.n FROM o LEFT JOIN LATERAL (SELECT MAX(q) AS m, COUNT(*) AS n FROM l WHERE l.oid = o.id) t"
    )
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 5), (2, 1, 5)], "l": [(1, 3)]})
    assert stream.rows() == {(1.0, 3.0, 1.0): 1, (2.0, None, 0.0): 1}
    then(stream, "INSERT INTO after.l VALUES (1, 9), (2, 4)")
    assert stream.rows() == {(1.0, 9.0, 2.0): 1, (2.0, 4.0, 1.0): 1}


def test_l1_the_first_row_of_each() -> None:
    query = (
        "SELECT o.id, t.q FROM o LEFT JOIN LATERAL (SELECT l.q FROM l WHERE l.oid = o.id ORDER BY l.q DESC LIMIT 1) t "
        "ON TRUE"
    )
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 5), (2, 1, 5)], "l": [(1, 3), (1, 2)]})
    assert stream.rows() == {(1.0, 3.0): 1, (2.0, None): 1}
    then(stream, "DELETE FROM after.l WHERE q = 3", "INSERT INTO after.l VALUES (2, 4), (2, 6)")
    assert stream.rows() == {(1.0, 2.0): 1, (2.0, 6.0): 1}


def test_l1_a_lateral_subquery_over_the_same_table() -> None:
    query = "SELECT o.id, t.id AS other FROM o LEFT JOIN LATERAL (SELECT p.id FROM o p WHERE p.amt > o.amt) t ON TRUE"
    stream = kept(query, ORDERS, load={"o": [(1, 1, 5), (2, 1, 7)]})
    assert stream.rows() == {(1.0, 2.0): 1, (2.0, None): 1}
    then(stream, "UPDATE after.o SET amt = 9 WHERE id = 1")
    assert stream.rows() == {(2.0, 1.0): 1, (1.0, None): 1}


def test_a_scalar_subquery_has_one_row_or_none_and_more_are_an_error() -> None:
    query = "SELECT o.id, (SELECT q FROM l WHERE l.oid = o.id) AS q FROM o"
    stream = kept(query, ORDERS, LINES, load={"o": [(1, 1, 1), (2, 1, 1)], "l": [(1, 5), (9, 1), (9, 2)]})
    then(stream, "DELETE FROM after.l WHERE oid = 1", "INSERT INTO after.l VALUES (2, 7)")
    assert stream.rows() == {(1.0, None): 1, (2.0, 7.0): 1}
    with pytest.raises(duckdb.Error, match="More than one row"):
        then(stream, "INSERT INTO after.l VALUES (2, 8)")


@pytest.mark.parametrize(
    ("mine", "its", "value", "one", "other"),
    [("BIGINT", "VARCHAR", 1, "'1'", "'01'"), ("DOUBLE", "BIGINT", float(2**53), str(2**53), str(2**53 + 1))],
)
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", [(1.0,)]),
        ("SELECT v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", []),
        ("SELECT v, EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS e FROM a", [(1.0, True)]),
        ("SELECT a.v, b.v AS w FROM a LEFT JOIN b ON b.k = a.k", [(1.0, 2.0)]),
        ("SELECT a.v, b.v AS w FROM a FULL JOIN b ON b.k = a.k", [(1.0, 2.0)]),
        ("SELECT v, (SELECT SUM(b.v) FROM b WHERE b.k = a.k) AS s FROM a", [(1.0, 2.0)]),
        ("SELECT a.v, s.w FROM a, LATERAL (SELECT SUM(b.v) AS w FROM b WHERE b.k = a.k) s", [(1.0, 2.0)]),
        (
            "SELECT a.v, s.w FROM a, LATERAL (SELECT b.v AS w FROM b WHERE b.k = a.k ORDER BY b.v DESC LIMIT 1) s",
            [(1.0, 2.0)],
        ),
    ],
)
def test_several_values_of_another_type_may_equal_one_value(
    mine: str, its: str, value: object, one: str, other: str, query: str, rows: list[tuple[object, ...]]
) -> None:
    tables = Table("a", f"k {mine}, v INTEGER"), Table("b", f"k {its}, v INTEGER")
    stream = then(kept(query, *tables, load={"a": [(value, 1)]}), f"INSERT INTO after.b VALUES ({one}, 1)")
    then(stream, f"INSERT INTO after.b VALUES ({other}, 2)")
    then(stream, "DELETE FROM after.b WHERE v = 1")
    assert stream.rows() == Counter(rows)
