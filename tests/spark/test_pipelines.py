"""Stream tables over stream tables and over sources that change in awkward ways, each a known way to a wrong result.
The numbers (D-1 …) are those of the scenarios in the names of other tests.
"""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, columns, values

INCREMENTAL = {Action.DIFFERENTIAL, Action.NO_DATA}


def with_rows(engine: Engine) -> None:
    engine.sql(
        "CREATE TABLE t (id INT, g STRING, x INT) TBLPROPERTIES ('format-version' = '3');"
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3), (4, NULL, 4), (4, NULL, 4)"
    )


def keep(engine: Engine, **queries: str) -> list[str]:
    for name, query in queries.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
    return list(queries)


def refreshed(engine: Engine, names: list[str]) -> dict[str, Action]:
    """Refresh these together; each is right, and none was computed anew."""
    found = {outcome.name: outcome.action for outcome in engine.refresh_stream_tables(names)}
    assert set(found.values()) <= INCREMENTAL, found
    for name in names:
        assert_equals_query(engine, name)
    return found


def test_d1_d3_d5_one_above_another_follows_updates_and_sleeps_when_nothing_changed(engine: Engine) -> None:
    with_rows(engine)
    names = keep(
        engine,
        base="SELECT g, x FROM t WHERE x > 0",
        copy="SELECT x, g FROM base",
        totals="SELECT g, SUM(x) AS s, COUNT(*) AS n FROM base GROUP BY g",
        large="SELECT g, s FROM totals WHERE s > 3",
    )
    # Only inserts first, which are appended: those above must still see a change of what was appended.
    engine.sql("INSERT INTO t VALUES (5, 'b', 5)")
    assert refreshed(engine, names)["copy"] is Action.DIFFERENTIAL
    engine.sql("UPDATE t SET x = 6 WHERE id = 5")
    assert refreshed(engine, names) == dict.fromkeys(names, Action.DIFFERENTIAL)
    assert values(engine, "SELECT x FROM copy WHERE g = 'b'") == [(3,), (6,)]
    engine.sql("DELETE FROM t WHERE id = 4")
    refreshed(engine, names)
    # A column that nobody reads, and a row that nobody lets in: nobody is woken.
    before = {table.name: table.frontier for table in engine.stream_tables()}
    engine.sql("UPDATE t SET id = id + 10; INSERT INTO t VALUES (20, 'z', -1)")
    outcomes = engine.refresh_stream_tables(names)
    assert {outcome.action for outcome in outcomes} == {Action.NO_DATA}
    assert sum(outcome.commits for outcome in outcomes) == 0
    after = {table.name: table.frontier for table in engine.stream_tables()}
    assert {str(name) for name in after if after[name] != before[name]} == {"base"}


def test_d2_one_that_is_always_recomputed_stands_between_two_that_are_not(engine: Engine) -> None:
    with_rows(engine)
    keep(engine, low="SELECT g, SUM(x) AS s FROM t GROUP BY g")
    engine.create_stream_table("middle", "SELECT g, s + 1 AS s FROM low", refresh_mode="FULL")
    keep(engine, high="SELECT COUNT(*) AS n, SUM(s) AS s FROM middle", rows_="SELECT g, s FROM middle WHERE s > 2")
    for statement in ("INSERT INTO t VALUES (5, 'c', 5)", "UPDATE t SET g = 'c' WHERE id = 1", "DELETE FROM t"):
        engine.sql(statement)
        found = {o.name: o.action for o in engine.refresh_stream_tables(["low", "middle", "high", "rows_"])}
        assert found.pop("middle") is Action.FULL
        assert set(found.values()) <= INCREMENTAL, statement
        assert found["rows_"] is Action.DIFFERENTIAL
        for name in ("low", "middle", "high", "rows_"):
            assert_equals_query(engine, name)


def test_d4_d6_readers_of_one_table_each_go_at_their_own_pace(engine: Engine) -> None:
    with_rows(engine)
    keep(engine, base="SELECT g, x FROM t", often="SELECT g, SUM(x) AS s FROM base GROUP BY g")
    keep(engine, seldom="SELECT g, COUNT(*) AS n FROM base GROUP BY g", other="SELECT DISTINCT g FROM t")
    for step in range(3):
        engine.sql(f"INSERT INTO t VALUES (9, 'r{step}', {step}); DELETE FROM t WHERE id = {step + 1}")
        # It reads the version that was there, not the one of now: the next window starts where this one ended.
        assert engine.refresh_stream_table("often").action in INCREMENTAL
        engine.refresh_stream_table("base")
        engine.sql(f"UPDATE t SET x = x + 1 WHERE g = 'r{step}'")
        assert engine.refresh_stream_table("often").action is Action.DIFFERENTIAL
        assert engine.verify("often").ok
    assert engine.refresh_stream_table("seldom", upstream=True).action is Action.DIFFERENTIAL
    refreshed(engine, ["base", "often", "seldom", "other"])


def test_d8_what_was_written_before_a_refresh_and_committed_after_it_is_not_missed(engine: Engine) -> None:
    with_rows(engine)
    keep(engine, totals="SELECT g, SUM(x) AS s FROM t GROUP BY g")
    engine.sql("CREATE TABLE u (id INT)")
    with engine.transaction() as tx:
        tx.sql("INSERT INTO t VALUES (7, 'late', 7)")
        engine.sql("INSERT INTO u VALUES (1)")
        refreshed(engine, ["totals"])
    assert refreshed(engine, ["totals"]) == {"totals": Action.DIFFERENTIAL}
    assert values(engine, "SELECT s FROM totals WHERE g = 'late'") == [(7,)]


def test_d9_d10_of_many_writes_in_one_window_the_last_one_counts(engine: Engine) -> None:
    with_rows(engine)
    names = keep(engine, rows_="SELECT id, x FROM t", totals="SELECT g, MAX(x) AS m, COUNT(*) AS n FROM t GROUP BY g")
    engine.sql(";".join(f"UPDATE t SET x = {x} WHERE id = 1" for x in (50, 70, 60)))
    refreshed(engine, names)
    assert values(engine, "SELECT x FROM rows_ WHERE id = 1") == [(60,)]
    engine.sql("TRUNCATE TABLE t; INSERT INTO t VALUES (1, 'a', 60), (8, 'new', 8); INSERT INTO t VALUES (8, 'new', 9)")
    assert refreshed(engine, names) == dict.fromkeys(names, Action.DIFFERENTIAL)
    assert values(engine, "SELECT g, n FROM totals") == [("a", 1), ("new", 2)]
    engine.sql("TRUNCATE TABLE t")
    refreshed(engine, names)
    assert values(engine, "SELECT * FROM totals") == []


def test_d11_a_column_that_is_added_may_change_what_a_query_means(engine: Engine) -> None:
    with_rows(engine)
    engine.sql("CREATE TABLE u (g STRING, w INT); INSERT INTO u VALUES ('a', 1), ('b', 3), ('b', 9)")
    engine.create_stream_table("everything", "SELECT * FROM t")
    engine.create_stream_table("both", "SELECT g, w FROM t NATURAL JOIN u")
    engine.create_stream_table("ids", "SELECT DISTINCT t.id FROM t JOIN u ON t.g = u.g")
    engine.sql("ALTER TABLE u ADD COLUMN x INT; INSERT INTO u VALUES ('b', 7, 3)")
    joined = engine.refresh_stream_table("both")
    assert (joined.action, joined.reason) == (Action.REINITIALIZE, "column 'x' of 'u' is new in the query")
    assert_equals_query(engine, "both")
    assert values(engine, "SELECT * FROM both") == [("b", 7)]
    assert engine.refresh_stream_table("ids").action is Action.NO_DATA, "it does not read the new column"
    # Nothing is written, and yet the answer has another column.
    engine.sql("ALTER TABLE t ADD COLUMN note STRING")
    assert engine.refresh_stream_table("everything").action is Action.REINITIALIZE
    engine.sql("INSERT INTO t VALUES (5, 'b', 5, 'new')")
    assert engine.refresh_stream_table("everything").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "everything")
    assert columns(engine, "everything")[-1] == ("note", "string")


def test_d13_rows_that_are_chosen_at_will_are_refused_or_always_the_same(engine: Engine) -> None:
    with_rows(engine)
    with pytest.raises(UserError, match="LIMIT without ORDER BY"):
        keep(engine, some="SELECT g FROM t LIMIT 2")
    keep(engine, chosen="SELECT g FROM (SELECT g FROM t LIMIT 2)")
    assert values(engine, "SELECT * FROM chosen") == [(None,), (None,)]
    engine.sql("DELETE FROM t WHERE g IS NULL; INSERT INTO t VALUES (0, '0', 0)")
    assert engine.refresh_stream_table("chosen").action is Action.DIFFERENTIAL
    assert values(engine, "SELECT * FROM chosen") == [("0",), ("a",)]
    assert engine.verify("chosen").ok


def test_d14_d15_d16_texts_names_and_comments_that_look_like_ours_are_only_that(engine: Engine) -> None:
    with_rows(engine)
    engine.sql("CREATE TABLE u (id INT, g STRING, x INT); INSERT INTO u VALUES (1, 'u', 10), (3, 'u', 30)")
    names = keep(
        engine,
        # Two joins that differ in their tables only.
        one="SELECT a.id, b.x FROM t a JOIN t b ON a.id = b.id",
        two="SELECT a.id, b.x FROM u a JOIN t b ON a.id = b.id",
        words="SELECT id, 'before.t {changes} $1 key_range(t) _weight' AS w, '-- no comment' AS c FROM t",
        comments="SELECT id, /* FROM nowhere GROUP BY g LIMIT 1 */ x -- WHERE false UNION\nFROM t /* SELECT */",
        before="SELECT g AS changes, x AS after FROM t",
        steps="SELECT changes AS delta, SUM(after) AS target FROM `before` GROUP BY changes",
    )
    engine.sql("INSERT INTO u VALUES (4, 'u', 40); UPDATE t SET x = 0 WHERE id = 1; DELETE FROM t WHERE id = 3")
    assert refreshed(engine, names) == dict.fromkeys(names, Action.DIFFERENTIAL)


def test_j12_s1_the_tip_of_a_diamond_and_readers_of_set_operations(engine: Engine) -> None:
    with_rows(engine)
    engine.sql("CREATE TABLE u (g STRING, x INT); INSERT INTO u VALUES ('a', 1), ('b', 3), ('q', 9)")
    names = keep(
        engine,
        left_="SELECT id, g, SUM(x) AS s FROM t GROUP BY id, g",
        right_="SELECT id, x, COUNT(*) AS n FROM t GROUP BY id, x",
        tip="SELECT l.id, l.s, r.n FROM left_ l JOIN right_ r ON l.id = r.id",
        tip_left="SELECT l.id, l.s, r.n FROM left_ l LEFT JOIN right_ r ON l.id = r.id AND r.x = l.s",
        tip_full="SELECT l.id, l.g, r.n FROM left_ l FULL JOIN right_ r ON l.id = r.id AND r.x > 2",
        tip_sum="SELECT l.g, SUM(l.s * r.n) AS s, COUNT(*) AS c FROM left_ l JOIN right_ r ON l.id = r.id GROUP BY l.g",
        deep="SELECT a.id, b.n, c.s FROM tip a JOIN tip_left b ON a.id = b.id JOIN tip_sum c ON c.s = a.s",
        minus_all="SELECT g, x FROM t EXCEPT ALL SELECT g, x FROM u",
        common="SELECT g, x FROM t INTERSECT SELECT g, x FROM u",
        over_sets="SELECT m.g, COUNT(*) AS n, COUNT(c.x) AS k FROM minus_all m LEFT JOIN common c ON m.g <=> c.g "
        "GROUP BY m.g",
    )
    for statements in (
        "UPDATE t SET x = 7 WHERE id = 1",
        "UPDATE t SET g = 'q', x = 9 WHERE id = 3; INSERT INTO u VALUES (NULL, 4)",
        "DELETE FROM t WHERE id = 4; DELETE FROM u WHERE g = 'a'; INSERT INTO t VALUES (1, 'a', 7), (1, 'a', 1)",
    ):
        engine.sql(statements)
        refreshed(engine, names)
