"""Known ways to get windows, LIMIT, set operations and recursion wrong, each a small story."""

from __future__ import annotations

import pytest
from sqlglot import exp

from spark_trickle.delta.nodes import plan
from spark_trickle.delta.plan import Column
from spark_trickle.sql.build import build
from tests.support.duck import Lake, Table
from tests.support.stories import kept, then

SALES = Table("t", "id INTEGER, g VARCHAR, x INTEGER")
LEFT = Table("l", "k INTEGER, v VARCHAR")
RIGHT = Table("r", "k INTEGER, v VARCHAR")
EDGES = Table("e", "src INTEGER, dst INTEGER")
ROWS: dict[str, list[tuple[object, ...]]] = {
    "t": [(1, "a", 10), (2, "a", 20), (3, "a", 20), (4, "b", 5), (5, "b", None), (6, None, 7)]
}


def test_w1_a_row_that_moves_to_another_partition_changes_both() -> None:
    query = "SELECT id, g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x DESC, id) AS r FROM t"
    stream = then(kept(query, SALES, load=ROWS), "UPDATE after.t SET g = 'b' WHERE id = 2")
    assert stream.rows() == {
        (3.0, "a", 1.0): 1, (1.0, "a", 2.0): 1, (2.0, "b", 1.0): 1, (4.0, "b", 2.0): 1, (5.0, "b", 3.0): 1,
        (6.0, None, 1.0): 1,
    }  # fmt: skip
    then(stream, "UPDATE after.t SET g = NULL WHERE g = 'b'")
    then(stream, "DELETE FROM after.t WHERE g IS NULL")
    assert set(stream.rows()) == {(3.0, "a", 1.0), (1.0, "a", 2.0)}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, RANK() OVER (PARTITION BY g ORDER BY x) AS r, DENSE_RANK() OVER (ORDER BY x DESC) AS d FROM t",
        "SELECT id, LAG(x) OVER (PARTITION BY g ORDER BY id) AS p, LEAD(x, 2) OVER (ORDER BY id) AS n FROM t",
        "SELECT id, SUM(x) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM t",
        "SELECT id, COUNT(x) OVER (ORDER BY x RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS s FROM t",
        "SELECT g, RANK() OVER (ORDER BY SUM(x)) AS r FROM t GROUP BY g",
        "SELECT id, SUM(x) OVER (PARTITION BY g) AS s, COUNT(*) OVER (PARTITION BY x) AS n FROM t",
    ],
)
def test_w2_ties_nulls_neighbours_frames_and_two_partitions(query: str) -> None:
    stream = kept(query, SALES, load=ROWS)
    then(stream, "DELETE FROM after.t WHERE id = 2")
    then(stream, "INSERT INTO after.t VALUES (7, 'a', 10), (8, 'b', NULL), (9, NULL, NULL)")
    then(stream, "UPDATE after.t SET x = 20 WHERE x IS NULL", "DELETE FROM after.t WHERE id = 1")
    then(stream, "DELETE FROM after.t WHERE g = 'b'")


TOP = "SELECT id, x FROM t ORDER BY x DESC, id LIMIT 2"


def test_t1_rows_rise_into_the_top_and_the_next_ones_come_up() -> None:
    stream = then(kept(TOP, SALES, load=ROWS), "UPDATE after.t SET x = 99 WHERE id = 5")
    assert stream.rows() == {(5.0, 99.0): 1, (2.0, 20.0): 1}
    then(stream, "DELETE FROM after.t WHERE id IN (5, 2)")
    assert stream.rows() == {(3.0, 20.0): 1, (1.0, 10.0): 1}
    then(stream, "DELETE FROM after.t WHERE id <> 6")
    assert stream.rows() == {(6.0, 7.0): 1}


def test_t1_a_page_moves_on() -> None:
    stream = kept("SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 2", SALES, load=ROWS)
    then(stream, "DELETE FROM after.t WHERE id = 1")
    assert stream.rows() == {(4.0,): 1, (5.0,): 1}
    then(stream, "INSERT INTO after.t VALUES (0, 'z', 0), (1, 'z', 0)")
    assert stream.rows() == {(2.0,): 1, (3.0,): 1}


def test_t1_what_does_not_reach_the_top_writes_nothing() -> None:
    stream = kept(TOP, SALES, load=ROWS)
    stream.written = 0
    then(stream, "INSERT INTO after.t VALUES (9, 'a', 1)")
    assert stream.written == 0


@pytest.mark.parametrize("word", ["EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL", "MINUS"])
def test_s1_reading_a_set_operation_shows_exactly_its_rows(word: str) -> None:
    load: dict[str, list[tuple[object, ...]]] = {
        "l": [(1, "a"), (1, "a"), (1, "a"), (2, None), (2, None)],
        "r": [(1, "a"), (2, None), (3, "c")],
    }
    stream = kept(f"SELECT k, v FROM l {word} SELECT k, v FROM r", LEFT, RIGHT, load=load)
    then(stream, "INSERT INTO after.r VALUES (1, 'a'), (2, NULL)")
    then(stream, "DELETE FROM after.r WHERE k = 2", "INSERT INTO after.l VALUES (3, 'c')")
    then(stream, "DELETE FROM after.l", "DELETE FROM after.r WHERE k = 1")
    assert not stream.rows()


def test_s2_a_value_that_comes_to_both_sides_and_then_leaves_the_right_one() -> None:
    stream = kept("SELECT k + 1 AS k FROM (SELECT k FROM l EXCEPT SELECT k FROM r)", LEFT, RIGHT)
    then(stream, "INSERT INTO after.l VALUES (1, 'x')", "INSERT INTO after.r VALUES (1, 'y')")
    assert not stream.rows()
    then(stream, "DELETE FROM after.r")
    assert stream.rows() == {(2.0,): 1}


def test_s2_chains_of_set_operations() -> None:
    query = "SELECT k FROM l UNION SELECT k FROM r EXCEPT SELECT k FROM l INTERSECT SELECT k FROM r"
    stream = kept(query, LEFT, RIGHT, load={"l": [(1, "a"), (2, "b")], "r": [(2, "b"), (None, "n")]})
    assert stream.rows() == {(1.0,): 1, (None,): 1}
    then(stream, "INSERT INTO after.l VALUES (NULL, 'x')", "DELETE FROM after.r WHERE k = 2")
    assert stream.rows() == {(1.0,): 1, (2.0,): 1}


REACHED = (
    "WITH RECURSIVE p(n, d) AS (SELECT src, 0 FROM e WHERE src = 1 UNION ALL "
    "SELECT e.dst, p.d + 1 FROM p JOIN e ON e.src = p.n WHERE p.d < 6) SELECT DISTINCT n, d FROM p"
)


def test_c1_a_deleted_inner_node_takes_what_only_it_reached() -> None:
    stream = kept(REACHED, EDGES, load={"e": [(1, 2), (2, 3), (3, 4)]})
    then(stream, "DELETE FROM after.e WHERE src = 2")
    assert stream.rows() == {(1.0, 0.0): 1, (2.0, 1.0): 1}


def test_c1_of_two_ways_to_a_node_one_is_enough() -> None:
    stream = kept(REACHED, EDGES, load={"e": [(1, 2), (1, 3), (2, 4), (3, 4)]})
    then(stream, "DELETE FROM after.e WHERE src = 2")
    assert (4.0, 2.0) in stream.rows()


def test_c1_a_subtree_that_hangs_elsewhere_has_other_depths() -> None:
    stream = kept(REACHED, EDGES, load={"e": [(1, 2), (2, 3), (3, 4)]})
    then(stream, "UPDATE after.e SET src = 1 WHERE dst = 3")
    assert stream.rows() == {(1.0, 0.0): 1, (2.0, 1.0): 1, (3.0, 1.0): 1, (4.0, 2.0): 1}


def test_c1_a_cycle_and_changes_both_ways_in_one_window() -> None:
    stream = kept(REACHED, EDGES, load={"e": [(1, 2), (2, 1)]})
    then(stream, "DELETE FROM after.e WHERE src = 2", "INSERT INTO after.e VALUES (2, 3), (3, 2)")
    assert (3.0, 6.0) in stream.rows()


def test_a_recursion_below_two_nodes_is_described_once() -> None:
    query = (
        "SELECT s FROM e WHERE s NOT IN (SELECT COUNT(*) FROM (WITH RECURSIVE r(a, n) AS (SELECT s, 0 FROM e UNION ALL "
        "SELECT e.t, r.n + 1 FROM r JOIN e ON r.a = e.s WHERE r.n < 2) SELECT a, n FROM r) AS x GROUP BY x.a)"
    )
    described: list[exp.Query] = []

    class Listening(Lake):
        def describe(self, query: exp.Query) -> tuple[Column, ...]:
            described.append(query)
            return super().describe(query)

    lake = Listening([Table("e", "s INTEGER, t INTEGER")])
    plan(build(query, lake), lake)
    assert any(asked.find(exp.CTE) for asked in described)
    for asked in described:
        assert len(list(asked.find_all(exp.CTE))) <= 1, asked.sql(dialect="spark")
