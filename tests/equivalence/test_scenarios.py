"""Known ways to get a wrong result, each a small story: both sides of a join change, groups vanish, extrema go."""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.support.duck import Table, source
from tests.support.stories import kept, then

ORDERS = Table("o", "id INTEGER, cust INTEGER, amt INTEGER")
LINES = Table("l", "id INTEGER, oid INTEGER, q INTEGER")
CUST = Table("c", "id INTEGER, name VARCHAR")
VALUES = Table("t", "g VARCHAR, h VARCHAR, x INTEGER, d DECIMAL(10,2), f DOUBLE")

CYCLES = 100 if int(os.environ.get("TRICKLE_EXAMPLES", "1")) > 1 else 20

JOIN_SUM = "SELECT l.oid, SUM(l.q * o.amt) AS s FROM o JOIN l ON l.oid = o.id GROUP BY l.oid"


def test_j1_rows_that_appear_on_both_sides_in_one_window_are_counted_once() -> None:
    stream = then(
        kept(JOIN_SUM, ORDERS, LINES), "INSERT INTO after.o VALUES (1, 1, 10)", "INSERT INTO after.l VALUES (1, 1, 3)"
    )
    assert stream.rows() == {(1.0, 30.0): 1}


@pytest.mark.parametrize("length", [3, 4, 6, 8])
def test_j1_a_chain_of_joins_whose_tables_all_change_at_once(length: int) -> None:
    tables = [Table(f"t{i}", "k INTEGER, v INTEGER") for i in range(8)]
    joins = " ".join(f"JOIN t{i} ON t{i}.k = t{i - 1}.k" for i in range(1, length))
    values = " + ".join(f"t{i}.v" for i in range(length))
    stream = kept(f"SELECT t0.k, SUM({values}) AS s, COUNT(*) AS n FROM t0 {joins} GROUP BY t0.k", *tables)
    then(stream, *(f"INSERT INTO after.t{i} VALUES (1, {i}), (2, 1)" for i in range(8)))
    then(stream, *(f"UPDATE after.t{i} SET k = 3 - k" for i in range(8)))
    then(stream, *(f"DELETE FROM after.t{i} WHERE k = 1" for i in range(8)))
    assert len(stream.rows()) == 1


@pytest.mark.parametrize(
    ("outer", "inner", "first", "middle", "last"),
    [
        ("VARCHAR", "BIGINT", "'01'", 1, "1"),
        ("BIGINT", "DOUBLE", 2**53 + 1, float(2**53), 2**53),
        ("DECIMAL(20,0)", "DOUBLE", 2**53 + 1, float(2**53), 2**53),
    ],
)
@pytest.mark.parametrize("large", [(), ("a", "b", "c")])
def test_what_equals_the_same_value_of_another_type_need_not_be_equal(
    outer: str, inner: str, first: object, middle: object, last: object, large: tuple[str, ...]
) -> None:
    tables = [Table(name, f"k {kind}, v INTEGER") for name, kind in (("a", outer), ("b", inner), ("c", outer))]
    query = "SELECT a.v, c.v AS w FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k"
    stream = kept(query, *tables, load={"b": [(middle, 1)], "c": [(last, 3)]})
    stream.large = {source(name): 1 for name in large}
    then(stream, f"INSERT INTO after.a VALUES ({first}, 2)")
    assert stream.rows() == {(2.0, 3.0): 1}
    then(stream, "UPDATE after.c SET v = 4", "UPDATE after.b SET v = 7")
    assert stream.rows() == {(2.0, 4.0): 1}


def test_j2_a_row_and_its_partner_deleted_together_leave_nothing() -> None:
    load: dict[str, list[tuple[object, ...]]] = {"o": [(1, 1, 5), (2, 2, 5)], "c": [(1, "ann"), (2, "bob")]}
    stream = kept("SELECT o.id, c.name FROM o JOIN c ON o.cust = c.id", ORDERS, CUST, load=load)
    then(stream, "DELETE FROM after.o WHERE id = 1", "DELETE FROM after.c WHERE id = 1")
    assert stream.rows() == {(2.0, "bob"): 1}


def test_j3_a_key_that_moves_while_its_old_partner_goes() -> None:
    load: dict[str, list[tuple[object, ...]]] = {"o": [(1, 3, 5)], "c": [(3, "old"), (5, "new")]}
    stream = kept("SELECT o.id, o.cust, c.name FROM o JOIN c ON o.cust = c.id", ORDERS, CUST, load=load)
    then(stream, "UPDATE after.o SET cust = 5 WHERE cust = 3", "DELETE FROM after.c WHERE id = 3")
    assert stream.rows() == {(1.0, 5.0, "new"): 1}


def test_j4_deletes_on_all_sides_of_three_tables_leave_no_phantom() -> None:
    load: dict[str, list[tuple[object, ...]]] = {
        "o": [(1, 1, 5), (2, 1, 7)],
        "c": [(1, "ann")],
        "l": [(1, 1, 2), (2, 2, 3)],
    }
    query = "SELECT c.name, SUM(l.q * o.amt) AS s FROM c JOIN o ON o.cust = c.id JOIN l ON l.oid = o.id GROUP BY c.name"
    stream = kept(query, ORDERS, CUST, LINES, load=load)
    then(stream, "DELETE FROM after.o WHERE id = 1", "DELETE FROM after.l WHERE oid = 1")
    assert stream.rows() == {("ann", 21.0): 1}
    then(stream, "DELETE FROM after.o", "DELETE FROM after.l", "DELETE FROM after.c")
    assert not stream.rows()


def test_j4_random_deletes_on_all_sides_of_three_tables() -> None:
    random = Random(4)
    query = "SELECT c.name, SUM(l.q * o.amt) AS s FROM c JOIN o ON o.cust = c.id JOIN l ON l.oid = o.id GROUP BY c.name"
    stream = kept(query, ORDERS, CUST, LINES)
    for cycle in range(CYCLES):
        keys = [random.randint(0, 4) for _ in range(6)]
        then(
            stream,
            f"DELETE FROM after.o WHERE id = {keys[0]} OR cust = {keys[1]}",
            f"DELETE FROM after.c WHERE id = {keys[1]}",
            f"DELETE FROM after.l WHERE oid IN ({keys[0]}, {keys[2]})",
            f"INSERT INTO after.o VALUES ({keys[3]}, {keys[4]}, {cycle})",
            f"INSERT INTO after.c VALUES ({keys[4]}, 'name{cycle % 3}')",
            f"INSERT INTO after.l VALUES ({cycle}, {keys[3]}, 1), ({cycle}, {keys[5]}, 2)",
        )


def test_j5_many_cycles_leave_no_ghosts() -> None:
    stream = kept("SELECT o.id, c.name FROM o JOIN c ON o.cust = c.id", ORDERS, CUST)
    for cycle in range(12):
        then(
            stream,
            f"INSERT INTO after.o VALUES ({cycle}, {cycle % 3}, 1)",
            f"DELETE FROM after.c WHERE id = {cycle % 3}",
            f"INSERT INTO after.c VALUES ({cycle % 3}, 'name{cycle}')",
            f"DELETE FROM after.o WHERE id = {cycle - 2}",
        )
    assert sum(stream.rows().values()) == 2


def test_j6_both_sides_of_a_join_come_from_one_table() -> None:
    query = """WITH r AS (SELECT oid, SUM(q) AS s FROM l GROUP BY oid)
               SELECT r.oid, r.s FROM r WHERE r.s = (SELECT MAX(s) FROM r)"""
    stream = kept(query, LINES, load={"l": [(1, 1, 5), (2, 2, 4)]})
    then(stream, "INSERT INTO after.l VALUES (3, 2, 2)")
    assert stream.rows() == {(2.0, 6.0): 1}
    then(stream, "DELETE FROM after.l WHERE oid = 2")
    assert stream.rows() == {(1.0, 5.0): 1}
    then(stream, "DELETE FROM after.l")
    assert not stream.rows()
    assert len(stream.maintenance.nodes) == 3  # `r` is kept once, its maximum, and the result


def test_j7_the_order_of_the_sides_of_a_condition_does_not_matter() -> None:
    for on in ("o.cust = c.id", "c.id = o.cust"):
        stream = kept(f"SELECT o.id, c.name FROM o JOIN c ON {on}", ORDERS, CUST)
        then(stream, "INSERT INTO after.o VALUES (1, 1, 1)", "INSERT INTO after.c VALUES (1, 'ann')")
        assert stream.rows() == {(1.0, "ann"): 1}


def test_j8_one_updated_row_changes_both_sides_of_a_self_join() -> None:
    load: dict[str, list[tuple[object, ...]]] = {"o": [(1, 1, 5), (2, 1, 7), (3, 2, 9)]}
    stream = kept("SELECT a.id AS x, b.id AS y FROM o a JOIN o b ON a.cust = b.cust", ORDERS, load=load)
    then(stream, "UPDATE after.o SET cust = 2 WHERE id = 2")
    then(stream, "UPDATE after.o SET cust = NULL WHERE id = 2")
    assert stream.rows() == {(1.0, 1.0): 1, (3.0, 3.0): 1}


def test_j9_only_one_side_changes() -> None:
    load: dict[str, list[tuple[object, ...]]] = {"o": [(1, 1, 5)], "c": [(1, "ann")]}
    stream = kept("SELECT o.id, c.name FROM o JOIN c ON o.cust = c.id", ORDERS, CUST, load=load)
    then(stream, "UPDATE after.c SET name = 'eve'")
    assert stream.rows() == {(1.0, "eve"): 1}


def test_j12_a_diamond_written_as_one_query_sees_one_version() -> None:
    query = """SELECT a.oid, a.s, b.n FROM (SELECT oid, SUM(q) AS s FROM l GROUP BY oid) a
               JOIN (SELECT oid, COUNT(*) AS n FROM l GROUP BY oid) b ON a.oid = b.oid"""
    stream = kept(query, LINES, load={"l": [(1, 1, 5), (2, 1, 6)]})
    then(stream, "UPDATE after.l SET q = 7, oid = 2 WHERE id = 1")
    assert stream.rows() == {(1.0, 6.0, 1.0): 1, (2.0, 7.0, 1.0): 1}


def test_a1_null_is_a_group_like_any_other() -> None:
    stream = kept("SELECT g, h, COUNT(*) AS n FROM t GROUP BY g, h", VALUES)
    then(stream, "INSERT INTO after.t VALUES (NULL, 'a', 1, 1, 1), ('a', NULL, 1, 1, 1), (NULL, NULL, 1, 1, 1)")
    assert len(stream.rows()) == 3
    then(stream, "DELETE FROM after.t WHERE g IS NULL")
    assert stream.rows() == {("a", None, 1.0): 1}
    then(stream, "UPDATE after.t SET g = NULL")
    assert stream.rows() == {(None, None, 1.0): 1}


@pytest.mark.parametrize("call", ["SUM(x)", "SUM(d)", "SUM(f)", "AVG(x)", "AVG(d)", "MIN(x)", "MAX(f)"])
def test_a2_an_aggregate_of_nothing_but_nulls_is_null(call: str) -> None:
    stream = kept(f"SELECT g, {call} AS s FROM t GROUP BY g", VALUES)
    then(stream, "INSERT INTO after.t VALUES ('a', NULL, 1, 1.5, 2), ('a', NULL, NULL, NULL, NULL)")
    then(stream, "DELETE FROM after.t WHERE x = 1")
    assert stream.rows() == {("a", None): 1}
    then(stream, "INSERT INTO after.t VALUES ('a', NULL, 4, 4, 4)")
    assert stream.rows() == {("a", 4.0): 1}


def test_a2_a_null_that_becomes_zero_is_noticed_and_the_other_way_round() -> None:
    query = "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY g"
    stream = kept(query, VALUES, load={"t": [("a", "", None, 0, 0)]})
    then(stream, "UPDATE after.t SET x = 0")
    assert stream.rows() == {("a", 0.0, 1.0): 1}
    then(stream, "UPDATE after.t SET x = NULL")
    assert stream.rows() == {("a", None, 1.0): 1}


def test_a2_a_new_group_whose_values_cancel_while_it_is_computed() -> None:
    load: dict[str, list[tuple[object, ...]]] = {"o": [(1, 1, 5), (2, 2, None)], "c": [(1, "old")]}
    query = "SELECT c.name, SUM(o.amt) AS s, COUNT(*) AS n FROM c JOIN o ON o.cust = c.id GROUP BY c.name"
    stream = kept(query, CUST, ORDERS, load=load)
    # The term of `c` pairs the new name with the order that goes; the term of `o` takes that back.
    then(
        stream,
        "DELETE FROM after.c",
        "INSERT INTO after.c VALUES (1, 'new'), (2, 'new')",
        "DELETE FROM after.o WHERE id = 1",
    )
    assert stream.rows() == {("new", None, 1.0): 1}


def test_a2_an_aggregate_over_an_empty_table_is_one_row_that_never_goes() -> None:
    query = "SELECT COUNT(*) AS n, COUNT(x) AS c, SUM(x) AS s, AVG(d) AS a, MIN(x) AS lo, SUM(f) AS f FROM t"
    stream = kept(query, VALUES)
    empty = (0.0, 0.0, None, None, None, None)
    assert stream.rows() == {empty: 1}
    then(stream, "INSERT INTO after.t VALUES ('a', 'b', 3, 1.5, 0.5)")
    assert stream.rows() == {(1.0, 1.0, 3.0, 1.5, 3.0, 0.5): 1}
    then(stream, "DELETE FROM after.t")
    assert stream.rows() == {empty: 1}


def test_a3_averages_do_not_drift() -> None:
    stream = kept("SELECT g, AVG(d) AS a, AVG(x) AS b FROM t GROUP BY g", VALUES, load={"t": [("a", "", 1, "0.10", 0)]})
    for cycle in range(6):
        then(
            stream,
            f"INSERT INTO after.t VALUES ('a', '', {cycle}, 0.{cycle}1, 0)",
            f"DELETE FROM after.t WHERE x = {cycle - 1}",
        )


def test_a4_floating_sums_forget_what_was_deleted() -> None:
    stream = kept("SELECT g, SUM(f) AS s FROM t GROUP BY g", VALUES, load={"t": [("a", "", 1, 1, 1.0)]})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 2, 1, 1e16)")
    then(stream, "DELETE FROM after.t WHERE x = 2")
    assert stream.rows() == {("a", 1.0): 1}
    assert stream.recomputations == 1


def test_a5_an_extremum_that_goes_is_found_again() -> None:
    rows: list[tuple[object, ...]] = [("a", "", x, 0, 0) for x in (1, 1, 3, 9)]
    stream = kept("SELECT g, MIN(x) AS lo, MAX(x) AS hi FROM t GROUP BY g", VALUES, load={"t": rows})
    then(stream, "DELETE FROM after.t WHERE x = 9")
    assert stream.rows() == {("a", 1.0, 3.0): 1}
    then(stream, "DELETE FROM after.t WHERE rowid = (SELECT MIN(rowid) FROM after.t WHERE x = 1)")
    assert stream.rows() == {("a", 1.0, 3.0): 1}
    then(stream, "UPDATE after.t SET x = 2 WHERE x = 1")
    assert stream.rows() == {("a", 2.0, 3.0): 1}
    then(stream, "DELETE FROM after.t")
    assert not stream.rows()


def test_a5_a_group_of_nothing_but_nulls_goes_with_its_last_row() -> None:
    rows: list[tuple[object, ...]] = [("a", "", None, 0, 0), ("a", "", None, 0, 0)]
    stream = kept("SELECT g, MAX(x) AS hi FROM t GROUP BY g", VALUES, load={"t": rows})
    then(stream, "DELETE FROM after.t WHERE rowid = 0")
    assert stream.rows() == {("a", None): 1}
    then(stream, "DELETE FROM after.t")
    assert not stream.rows()


def test_a5_a_better_extremum_needs_no_recomputation() -> None:
    stream = kept(
        "SELECT g, MAX(x) AS hi FROM t GROUP BY g", VALUES, load={"t": [("a", "", 5, 0, 0), ("a", "", 4, 0, 0)]}
    )
    then(stream, "UPDATE after.t SET x = 8 WHERE x = 5")
    then(stream, "DELETE FROM after.t WHERE x = 4", "INSERT INTO after.t VALUES ('a', '', 2, 0, 0)")
    assert stream.recomputations == 0
    assert stream.rows() == {("a", 8.0): 1}


def test_a6_a_group_vanishes_and_revives_and_rows_move_between_groups() -> None:
    stream = kept("SELECT g, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY g", VALUES, load={"t": [("a", "", 1, 0, 0)]})
    then(stream, "DELETE FROM after.t")
    assert not stream.rows()
    then(stream, "INSERT INTO after.t VALUES ('a', '', 7, 0, 0), ('b', '', 1, 0, 0)")
    then(stream, "UPDATE after.t SET g = 'b' WHERE g = 'a'")
    assert stream.rows() == {("b", 8.0, 2.0): 1}


def test_a7_having_lets_groups_in_and_out_with_their_whole_sum() -> None:
    query = "SELECT g, SUM(x) AS s FROM t GROUP BY g HAVING SUM(x) > 20 AND COUNT(*) > 1"
    stream = kept(query, VALUES, load={"t": [(None, "", 10, 0, 0)]})
    assert not stream.rows()
    then(stream, "INSERT INTO after.t VALUES (NULL, '', 15, 0, 0)")
    assert stream.rows() == {(None, 25.0): 1}
    then(stream, "UPDATE after.t SET x = 1 WHERE x = 15")
    assert not stream.rows()
    then(stream, "UPDATE after.t SET x = 15 WHERE x = 1")
    assert stream.rows() == {(None, 25.0): 1}


def test_a8_a_conditional_sum_follows_rows_across_its_condition() -> None:
    query = "SELECT g, SUM(CAST(CASE WHEN x > 5 THEN d ELSE 0 END AS DECIMAL(12,2))) AS s FROM t GROUP BY g"
    stream = kept(query, VALUES, load={"t": [("a", "", 3, "1.50", 0), ("a", "", 7, "2.00", 0)]})
    then(stream, "UPDATE after.t SET x = 9 WHERE x = 3")
    assert stream.rows() == {("a", 3.5): 1}
    then(stream, "UPDATE after.t SET x = 0 WHERE x = 7")
    assert stream.rows() == {("a", 1.5): 1}


def test_a10_a_window_without_changes_for_a_total_changes_nothing() -> None:
    stream = kept("SELECT COUNT(*) AS n, SUM(x) AS s FROM t WHERE x > 100", VALUES)
    then(stream, "INSERT INTO after.t VALUES ('a', '', 1, 0, 0)")
    assert stream.rows() == {(0.0, None): 1}
    assert stream.written == 0


def test_a11_a_count_of_counts() -> None:
    query = "SELECT n, COUNT(*) AS groups FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) GROUP BY n"
    stream = kept(query, VALUES, load={"t": [("a", "", 1, 0, 0), ("b", "", 1, 0, 0), ("b", "", 2, 0, 0)]})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 3, 0, 0)")
    assert stream.rows() == {(2.0, 2.0): 1}
    then(stream, "DELETE FROM after.t WHERE g = 'b'")
    assert stream.rows() == {(2.0, 1.0): 1}


def test_a12_precedence_survives() -> None:
    query = "SELECT g, SUM(x * (1 - d)) AS s, SUM(x) - (SUM(x) - 1) AS one FROM t GROUP BY g"
    stream = kept(query, VALUES, load={"t": [("a", "", 10, "0.10", 0)]})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 20, 0.50, 0)")
    assert stream.rows() == {("a", 19.0, 1.0): 1}


def test_d0_distinct_counts_how_often_a_row_is_there() -> None:
    stream = kept("SELECT DISTINCT g, x FROM t", VALUES, load={"t": [("a", "", 1, 0, 0), ("a", "z", 1, 0, 0)]})
    then(stream, "DELETE FROM after.t WHERE h = ''")
    assert stream.rows() == {("a", 1.0): 1}
    then(stream, "DELETE FROM after.t")
    assert not stream.rows()
    then(stream, "INSERT INTO after.t VALUES ('b', '', NULL, 0, 0), ('b', 'q', NULL, 0, 0)")
    assert stream.rows() == {("b", None): 1}


def test_d0_an_update_that_changes_nothing_writes_nothing() -> None:
    stream = kept("SELECT g, x FROM t", VALUES, load={"t": [("a", "old", 1, 0, 0)]})
    then(stream, "UPDATE after.t SET h = 'new'")
    assert stream.written == 0


def test_k0_equal_rows_are_counted_not_merged() -> None:
    stream = kept("SELECT g, x FROM t", VALUES, load={"t": [("a", "", 1, 0, 0)] * 2})
    then(stream, "DELETE FROM after.t WHERE rowid = 0")
    assert stream.rows() == {("a", 1.0): 1}
    then(stream, "INSERT INTO after.t VALUES ('a', '', 1, 0, 0), ('a', '', 1, 0, 0)")
    then(
        stream,
        "DELETE FROM after.t WHERE rowid = (SELECT MIN(rowid) FROM after.t)",
        "INSERT INTO after.t VALUES ('a', '', 2, 0, 0)",
    )
    assert stream.rows() == {("a", 1.0): 2, ("a", 2.0): 1}
    then(stream, "DELETE FROM after.t")
    then(stream, "INSERT INTO after.t VALUES ('a', '', 1, 0, 0)")
    assert stream.rows() == {("a", 1.0): 1}


def test_r1_negative_zero_is_another_row_than_zero() -> None:
    rows: list[tuple[object, ...]] = [("", "", 1, 0, 0.0), ("", "", 1, 0, -0.0), ("", "", 1, 0, float("nan"))]
    stream = kept("SELECT x, f FROM t", VALUES, load={"t": rows})
    then(stream, "DELETE FROM after.t WHERE f::TEXT = '0.0'")
    assert sorted(stream.lake.run('SELECT f::TEXT FROM after."internal:public"')) == [("-0.0",), ("nan",)]
    # DuckDB's UPDATE takes the two for equal and writes nothing.
    then(stream, "DELETE FROM after.t WHERE f::TEXT = '-0.0'", "INSERT INTO after.t VALUES ('', '', 1, 0, 0.0)")
    assert sorted(stream.lake.run('SELECT f::TEXT FROM after."internal:public"')) == [("0.0",), ("nan",)]


def test_a_change_of_one_branch_of_a_union_has_the_type_of_the_union() -> None:
    query = "SELECT CAST(v AS STRING) AS s FROM (SELECT x AS v FROM t UNION ALL SELECT f AS v FROM t)"
    stream = kept(query, VALUES)
    then(stream, "INSERT INTO after.t VALUES ('', '', 1, 0, 2)")
    assert stream.rows() == {("1.0",): 1, ("2.0",): 1}


def test_a_union_of_a_union_converts_step_by_step() -> None:
    query = "SELECT v FROM (SELECT x AS v FROM t UNION ALL SELECT f FROM t) UNION ALL SELECT g FROM t"
    stream = kept(query, VALUES)
    then(stream, "INSERT INTO after.t VALUES ('g', '', 1, 0, 2)")
    assert stream.rows() == {("1.0",): 1, ("2.0",): 1, ("g",): 1}
    filtered = kept(f"SELECT v FROM ({query}) WHERE v = '1'", VALUES)
    then(filtered, "INSERT INTO after.t VALUES ('1', '', 1, 0, 2)")
    assert filtered.rows() == {("1",): 1}
