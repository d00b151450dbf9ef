"""Known ways to get a wrong aggregate, each a small story: digits that cancel, values counted once, sets of keys."""

from __future__ import annotations

import math
import os
from random import Random

import pytest

from tests.equivalence.test_scenarios import VALUES
from tests.support.duck import Kept, Table
from tests.support.stories import kept, then

Rows = list[tuple[object, ...]]


def the_value(stream: Kept) -> float:
    ((row, _),) = stream.rows().items()
    return float(row[-1])


def test_a4_a_floating_sum_that_cancels_by_inserts_alone_keeps_its_digits() -> None:
    load: Rows = [("a", "", 1, 0, 1.0), ("a", "", 2, 0, 1e16), ("b", "", 3, 0, 2.0)]
    stream = kept("SELECT g, SUM(f) AS s FROM t GROUP BY g", VALUES, load={"t": load})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 3, 0, -1e16)", "INSERT INTO after.t VALUES ('b', '', 3, 0, 1)")
    assert stream.recomputations == 1
    assert stream.rows()[("b", 3.0)] == 1


@pytest.mark.parametrize("call", ["SUM(f)", "AVG(f)"])
def test_a4_infinities_meet_and_part(call: str) -> None:
    stream = kept(f"SELECT {call} AS s FROM t", VALUES, load={"t": [("a", "", 1, 0, math.inf)]})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 2, 0, '-inf'::DOUBLE)")
    assert stream.rows() == {("NaN",): 1}
    then(stream, "INSERT INTO after.t VALUES ('a', '', 3, 0, 5)")
    assert stream.rows() == {("NaN",): 1}
    then(stream, "DELETE FROM after.t WHERE x = 1")
    assert the_value(stream) == -math.inf
    then(stream, "DELETE FROM after.t WHERE x = 2")
    assert the_value(stream) == 5


def test_a4_a_sum_of_zeros_is_zero_whatever_their_signs() -> None:
    stream = kept("SELECT g, SUM(f) AS s FROM t GROUP BY g", VALUES, load={"t": [("a", "", 1, 0, -0.0)]})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 2, 0, '-0.0'::DOUBLE), ('a', '', 3, 0, 0.0)")
    assert stream.rows() == {("a", 0.0): 1}


CYCLES = 1000 if int(os.environ.get("TRICKLE_EXAMPLES", "1")) > 1 else 100


def test_a4_many_cycles_of_doubles_do_not_drift() -> None:
    random = Random(7)
    query = "SELECT g, SUM(f) AS s, AVG(f) AS a, COUNT(*) AS n FROM t GROUP BY g"
    stream = kept(query, VALUES, load={"t": [("a", "", -1, 0, 0.1), ("b", "", -1, 0, 0.1)]})
    for cycle in range(CYCLES):
        value = random.choice((0.1, 0.3, -0.7, 1e12, -1e12, 1e-9))
        statements = [f"INSERT INTO after.t VALUES ('{random.choice('ab')}', '', {cycle}, 0, {value})"]
        if cycle % 3 == 2:
            statements.append(f"DELETE FROM after.t WHERE x = {random.randint(0, cycle)}")
        then(stream, *statements, check=False)
        if cycle % 50 == 49:
            found = {row[0]: row[1:] for row in stream.lake.run('SELECT g, s, a FROM after."internal:public"')}
            values: dict[str, list[float]] = {"a": [], "b": []}
            for group, value in stream.lake.run("SELECT g, f FROM after.t"):
                values[group].append(value)
            for group, all_of_it in values.items():
                exact = math.fsum(all_of_it)
                largest = max(abs(value) for value in all_of_it)
                assert abs(found[group][0] - exact) <= 1e-12 * len(all_of_it) * largest
                assert abs(found[group][1] - exact / len(all_of_it)) <= 1e-12 * largest


@pytest.mark.parametrize("call", ["STDDEV(f)", "VAR_SAMP(f)", "VAR_POP(f)"])
def test_a4_the_variance_of_equal_values_is_zero(call: str) -> None:
    rows: Rows = [("a", "", x, 0, 0.1) for x in range(5)]
    stream = kept(f"SELECT g, {call} AS s FROM t GROUP BY g", VALUES, load={"t": rows})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 9, 0, 1e9)")
    then(stream, "DELETE FROM after.t WHERE x = 9")
    assert abs(the_value(stream)) < 1e-12


def test_a9_distinct_values_are_counted_once_and_only_small_groups_are_read_again() -> None:
    query = "SELECT g, COUNT(DISTINCT x) AS c, SUM(DISTINCT x) AS s, COUNT(*) AS n, SUM(d) AS d FROM t GROUP BY g"
    rows: Rows = [("a", "", x, "1.50", 0) for x in (1, 1, 2, None)]
    stream = kept(query, VALUES, load={"t": rows})
    assert stream.rows() == {("a", 2.0, 3.0, 4.0, 6.0): 1}
    then(stream, "INSERT INTO after.t VALUES ('a', '', 1, NULL, 0), ('b', '', NULL, 2, 0)")
    assert stream.rows() == {("a", 2.0, 3.0, 5.0, 6.0): 1, ("b", 0.0, None, 1.0, 2.0): 1}
    then(stream, "DELETE FROM after.t WHERE rowid = (SELECT MIN(rowid) FROM after.t WHERE x = 1)")
    assert stream.rows() == {("a", 2.0, 3.0, 4.0, 4.5): 1, ("b", 0.0, None, 1.0, 2.0): 1}
    then(stream, "DELETE FROM after.t WHERE x = 1 OR g = 'b'")
    assert stream.rows() == {("a", 1.0, 2.0, 2.0, 3.0): 1}
    assert stream.recomputations == 0


def test_a9_distinct_values_of_everything_over_an_empty_table() -> None:
    query = "SELECT COUNT(DISTINCT x) AS c, SUM(DISTINCT x) AS s, COUNT(*) AS n, SUM(d) AS d, MAX(x) AS m FROM t"
    stream = kept(query, VALUES)
    empty = (0.0, None, 0.0, None, None)
    assert stream.rows() == {empty: 1}
    then(stream, "INSERT INTO after.t VALUES ('a', '', 1, 2, 0), ('a', '', 1, 2, 0)")
    assert stream.rows() == {(1.0, 1.0, 2.0, 4.0, 1.0): 1}
    then(stream, "DELETE FROM after.t")
    assert stream.rows() == {empty: 1}


def test_a9_a_row_enters_and_leaves_a_filter() -> None:
    query = (
        "SELECT g, COUNT(*) FILTER (WHERE x > 5) AS n, COUNT(DISTINCT h) FILTER (WHERE x > 5) AS c, "
        "MEDIAN(x) FILTER (WHERE x > 5) AS m FROM t GROUP BY g"
    )
    stream = kept(query, VALUES, load={"t": [("a", "p", 3, 0, 0), ("a", "q", 7, 0, 0)]})
    then(stream, "UPDATE after.t SET x = 9 WHERE x = 3")
    assert stream.rows() == {("a", 2.0, 2.0, 8.0): 1}
    then(stream, "UPDATE after.t SET x = 1")
    assert stream.rows() == {("a", 0.0, 0.0, None): 1}


def test_a9_a_ratio_of_sums_follows_both() -> None:
    query = "SELECT g, 100 * SUM(x) / NULLIF(SUM(d), 0) AS r FROM t GROUP BY g"
    stream = kept(query, VALUES, load={"t": [("a", "", 1, "2.00", 0)]})
    then(stream, "INSERT INTO after.t VALUES ('a', '', 1, -2, 0)")
    assert stream.rows() == {("a", None): 1}
    then(stream, "DELETE FROM after.t WHERE d < 0")
    assert stream.rows() == {("a", 50.0): 1}


def test_a9_a_list_keeps_the_order_that_it_asks_for() -> None:
    query = "SELECT g, string_agg(h, ',') WITHIN GROUP (ORDER BY x DESC, h) AS l FROM t GROUP BY g"
    stream = kept(query, VALUES, load={"t": [("a", "p", 1, 0, 0), ("a", "q", 2, 0, 0)]})
    then(stream, "INSERT INTO after.t VALUES ('a', 'r', 3, 0, 0), ('a', NULL, 9, 0, 0)")
    assert stream.rows() == {("a", "r,q,p"): 1}
    then(stream, "UPDATE after.t SET x = 0 WHERE h = 'r'")
    assert stream.rows() == {("a", "q,p,r"): 1}
    then(stream, "DELETE FROM after.t WHERE h = 'p'")
    assert stream.rows() == {("a", "q,r"): 1}


def test_a11_groups_by_an_alias_of_an_expression() -> None:
    events = Table("e", "day DATE, n INTEGER")
    query = "SELECT EXTRACT(YEAR FROM day) AS y, SUM(n) AS s FROM e GROUP BY y"
    stream = kept(query, events, load={"e": [("2024-01-01", 1), ("2023-01-01", 2)]})
    then(stream, "UPDATE after.e SET day = DATE '2023-06-01' WHERE n = 1")
    assert stream.rows() == {(2023.0, 3.0): 1}


def test_d0_distinct_over_rows_that_come_from_two_places_at_once() -> None:
    query = "SELECT DISTINCT g FROM t UNION SELECT h FROM t"
    stream = kept(query, VALUES)
    then(stream, "INSERT INTO after.t VALUES ('a', 'a', 1, 0, 0), ('b', 'a', 1, 0, 0)")
    assert stream.rows() == {("a",): 1, ("b",): 1}
    then(stream, "DELETE FROM after.t WHERE g = 'a'")
    assert stream.rows() == {("a",): 1, ("b",): 1}
    then(stream, "DELETE FROM after.t")
    assert not stream.rows()


def test_r1_rows_whose_text_is_equal_stay_different() -> None:
    rows: Rows = [("a|b", "c", 1, "1.00", 1.0), ("a", "b|c", 1, "1.0", 1.0), ("1", None, 1, 1, 1), (None, "1", 1, 1, 1)]
    stream = kept("SELECT DISTINCT g, h FROM t", VALUES, load={"t": rows})
    counts = kept("SELECT g, h, COUNT(*) AS n FROM t GROUP BY g, h", VALUES, load={"t": rows})
    for found in (stream, counts):
        assert len(found.rows()) == 4
        then(found, "DELETE FROM after.t WHERE g = 'a|b' OR g IS NULL")
        assert {row[:2] for row in found.rows()} == {("a", "b|c"), ("1", None)}


def test_r2_zero_nothing_and_null_are_three_keys() -> None:
    rows: Rows = [("", "", 0, 0, 0), (None, "", None, 0, 0), ("0", "", 0, 0, 0)]
    stream = kept("SELECT x, g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY x, g", VALUES, load={"t": rows})
    then(stream, "INSERT INTO after.t VALUES ('', '', NULL, 0, 0), (NULL, '', 0, 0, 0)")
    assert len(stream.rows()) == 5
    then(stream, "DELETE FROM after.t WHERE x = 0")
    assert stream.rows() == {(None, None, 1.0, None): 1, (None, "", 1.0, None): 1}


def test_k0_an_aggregate_over_equal_rows_counts_each() -> None:
    query = "SELECT g, x, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g, x"
    stream = kept(query, VALUES, load={"t": [("a", "", 1, 0, 0)] * 3})
    then(stream, "DELETE FROM after.t WHERE rowid = 0")
    assert stream.rows() == {("a", 1.0, 2.0, 2.0): 1}
    then(stream, "DELETE FROM after.t")
    assert not stream.rows()
    then(stream, "INSERT INTO after.t VALUES ('a', '', 1, 0, 0), ('a', '', 1, 0, 0)")
    assert stream.rows() == {("a", 1.0, 2.0, 2.0): 1}


def test_r3_nulls_in_every_column_are_rows_like_others() -> None:
    stream = kept("SELECT * FROM t", VALUES)
    then(stream, "INSERT INTO after.t VALUES (NULL, NULL, NULL, NULL, NULL), (NULL, NULL, NULL, NULL, NULL)")
    assert stream.rows() == {(None, None, None, None, None): 2}
    then(stream, "DELETE FROM after.t WHERE rowid = 0")
    assert stream.rows() == {(None, None, None, None, None): 1}


def test_a_key_that_is_null_is_not_the_null_of_a_set_without_the_key() -> None:
    query = "SELECT g, GROUPING(g) AS o, COUNT(*) AS n FROM t GROUP BY ROLLUP (g) HAVING COUNT(*) > 0"
    stream = kept(query, VALUES, load={"t": [(None, "", 1, 0, 0), ("a", "", 1, 0, 0)]})
    assert stream.rows() == {(None, 0.0, 1.0): 1, ("a", 0.0, 1.0): 1, (None, 1.0, 2.0): 1}
    then(stream, "DELETE FROM after.t WHERE g IS NULL")
    assert stream.rows() == {("a", 0.0, 1.0): 1, (None, 1.0, 1.0): 1}
    then(stream, "DELETE FROM after.t")
    assert not stream.rows()
