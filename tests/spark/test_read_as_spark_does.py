"""What Spark reads in a text, we read in it: stream tables over constructs that can be read in more than one way, kept
over several cycles and compared with their queries.
"""

from __future__ import annotations

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import rows, values

CHANGES = (
    (
        "INSERT INTO t VALUES (5, 'x', 7, named_struct('a', 3, 'b', 'q')), (6, NULL, NULL, NULL)",
        "DELETE FROM u WHERE w = 1",
    ),
    ("DELETE FROM t", "INSERT INTO u VALUES ('x', 4), ('y', NULL)"),
    (
        "INSERT INTO t VALUES (1, 'y', 2, named_struct('a', 1, 'b', 'p')), (2, 'x', 9, named_struct('a', 2, 'b', 'p'))",
        "UPDATE u SET w = w + 1 WHERE k = 'x'",
    ),
)


def load(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (id BIGINT, k STRING, v INT, s STRUCT<a: INT, b: STRING>)")
    engine.sql("CREATE TABLE u (k STRING, w INT)")
    engine.sql(
        "INSERT INTO t VALUES (1, 'x', 1, named_struct('a', 1, 'b', 'p')), (2, 'x', 5, named_struct('a', 2, 'b', 'p')),"
        "(3, 'y', 3, NULL), (4, 'z', NULL, named_struct('a', NULL, 'b', 'r'))"
    )
    engine.sql("INSERT INTO u VALUES ('x', 1), ('y', 2), ('y', 3), (NULL, 9)")


def keep(engine: Engine, queries: list[str]) -> None:
    """Stream tables of all queries, through all changes; each must have been kept by its change."""
    for number, query in enumerate(queries):
        engine.create_stream_table(f"s{number}", query, refresh_mode="DIFFERENTIAL")
    for changes in CHANGES:
        for change in changes:
            engine.sql(change)
        for number, query in enumerate(queries):
            action = engine.refresh_stream_table(f"s{number}").action
            assert action in (Action.DIFFERENTIAL, Action.NO_DATA), query
            assert rows(engine, f"SELECT * FROM s{number}") == rows(engine, query), query


def test_the_columns_of_a_view_have_the_names_that_the_view_gives_them(engine: Engine) -> None:
    load(engine)
    engine.sql("CREATE VIEW turned (v, id) AS SELECT id, v FROM t")
    engine.sql("CREATE VIEW constants (p, q) AS VALUES (1, 'x'), (2, 'y')")
    engine.sql("CREATE TABLE grown (k STRING, w INT)")
    engine.sql("CREATE VIEW everything AS SELECT * FROM grown")
    engine.sql("ALTER TABLE grown ADD COLUMN later INT")
    engine.sql("INSERT INTO grown VALUES ('x', 5, 6)")
    keep(
        engine,
        [
            "SELECT v, id FROM turned",
            "SELECT id, SUM(v) AS s FROM turned GROUP BY id",
            "SELECT c.p, t.id FROM constants c JOIN t ON c.q = t.k",
            "SELECT * FROM everything",
            "SELECT e.b, t.id FROM everything AS e (a, b) JOIN t ON e.a = t.k",
        ],
    )
    assert values(engine, "SELECT v, id FROM s0 WHERE v = 2") == [(2, 9)]


def test_short_and_unusual_ways_of_writing_are_read_as_spark_reads_them(engine: Engine) -> None:
    load(engine)
    keep(
        engine,
        [
            "SELECT DISTINCT (k) FROM t r WHERE v > 0 AND (SELECT COUNT(*) FROM u WHERE (u.k = r.k AND (w = 2 OR w > "
            "3)) OR (u.k = r.k AND w < 2)) > 0 ORDER BY k LIMIT 3",
            "SELECT k, grouping__id AS g, SUM(v) AS s FROM t GROUP BY CUBE (k, v) HAVING grouping__id > 0",
            "SELECT k, SUM(v) AS v, SUM(id) + 1 AS i FROM t GROUP BY k HAVING v > 4 OR MAX(v) IS NULL",
            "SELECT 2 AS k FROM t GROUP BY ALL HAVING k > 1",
            "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) - 1",
            "SELECT id, SUM(v) OVER a AS s, n FROM (SELECT *, COUNT(*) OVER c AS n FROM t) WINDOW a AS b, b AS "
            "(PARTITION BY k), c AS (PARTITION BY v)",
            "SELECT id, struct(s.*, v) AS w, concat(k, s.b) AS c, s.* FROM t",
            "SELECT k, COUNT(t.*, t.*) AS n, COUNT(DISTINCT s.*) AS m FROM t GROUP BY k",
            "SELECT IDENTIFIER('v') AS i, r.id AS j FROM IDENTIFIER('t'), LATERAL range(2) AS r",
            "SELECT z.w, x.id FROM t x LEFT JOIN u y ON x.k = y.k NATURAL JOIN u z",
            "TABLE u",
            "SELECT t.id, x.e FROM t, LATERAL (SELECT * FROM explode(array(id, v)) l(e) JOIN u ON u.w = e) x",
            "SELECT id, m FROM t, LATERAL (SELECT MAX(e) AS m FROM explode(array(id, 3)) l(e) WHERE e < t.v)",
        ],
    )


def test_windows_of_time_make_rows_and_sessions_are_no_values_of_rows(engine: Engine) -> None:
    load(engine)
    engine.sql("CREATE VIEW clocked AS SELECT id, k, timestamp_seconds(v * 180) AS at FROM t")
    keep(
        engine,
        [
            "SELECT k FROM (SELECT k, window(at, '10 minutes', '5 minutes') AS w FROM clocked)",
            "SELECT COUNT(*) AS n FROM (SELECT window(at, '5 minutes') AS w FROM clocked)",
            "SELECT k, window.start, window.end AS e, COUNT(*) AS n FROM clocked GROUP BY window(at, '5 minutes'), k",
            "SELECT window(at, '9 minutes').start AS s, COUNT(*) AS n FROM clocked GROUP BY window(at, '9 minutes') "
            "HAVING COUNT(*) > 1 OR window.start IS NULL ORDER BY s LIMIT 2",
            "SELECT k, window AS w, SUM(id) AS n FROM clocked GROUP BY ROLLUP (k, window(at, '1 hour', '20 minutes'))",
            "SELECT id FROM t WHERE id IN (SELECT id FROM (SELECT id, window(at, '5 minutes') AS w FROM clocked))",
            "SELECT id, ROW_NUMBER() OVER (PARTITION BY window(at, '5 minutes') ORDER BY id) AS n FROM clocked",
        ],
    )
    sessions = "SELECT k, COUNT(*) AS n FROM clocked GROUP BY k, session_window(at, '5 minutes')"
    assert engine.explain_query("SELECT *, window(at, '5 minutes') AS w FROM clocked").mode == "FULL"
    engine.create_stream_table("sessions", sessions)
    engine.sql("INSERT INTO t VALUES (7, 'x', 3, NULL)")
    assert engine.refresh_stream_table("sessions").action is Action.FULL
    assert rows(engine, "SELECT * FROM sessions") == rows(engine, sessions)


def test_steps_after_pipes_are_taken_one_after_the_other(engine: Engine) -> None:
    load(engine)
    keep(
        engine,
        [
            "FROM t |> ORDER BY v DESC, id |> LIMIT 2 |> WHERE v < 9 |> SELECT id, v",
            "TABLE t |> WHERE t.v > 1 |> JOIN u ON t.k = u.k |> EXTEND t.v + u.w AS both |> SELECT id, both",
            "TABLE t |> AGGREGATE SUM(v) AS n, COUNT(*) AS c GROUP BY k, id % 2 AS half |> AS g |> WHERE g.n > 1",
            "SELECT id, v FROM t |> SET v = v + 1, id = v * 2 |> EXTEND id - v AS d |> DROP v",
            "SELECT k FROM t UNION ALL SELECT k FROM u |> AGGREGATE COUNT(*) AS n GROUP BY k |> INTERSECT (SELECT k, w "
            "FROM u)",
            "FROM (TABLE t |> SELECT k, v) |> PIVOT (SUM(v) AS s FOR k IN ('x', 'y'))",
            "TABLE t |> LEFT JOIN LATERAL (SELECT MAX(w) AS m FROM u WHERE u.k = t.k) |> SELECT id, m",
            "TABLE t |> SELECT id, SUM(v) OVER w AS n WINDOW w AS (PARTITION BY k) |> WHERE EXISTS (TABLE u |> WHERE "
            "w = n)",
        ],
    )


def test_outer_joins_of_united_rows_are_kept_though_spark_cannot_plan_exists_over_a_union(engine: Engine) -> None:
    load(engine)
    united = "(SELECT id, k FROM t UNION ALL SELECT w, k FROM u UNION ALL SELECT 9, 'x')"
    keep(
        engine,
        [
            f"SELECT a.id, b.w FROM {united} a LEFT JOIN u b ON a.k = b.k",
            f"SELECT b.k, COUNT(*) AS n, MAX(a.id) AS m FROM {united} a FULL JOIN u b ON a.k = b.k GROUP BY b.k",
            "SELECT c.a, u.w FROM (VALUES (3, 'x'), (2, 'y')) AS c(a, k) LEFT JOIN u ON u.k = c.k WHERE c.a = -c.a",
            "SELECT MAX(u.w) AS m, COUNT(*) AS n FROM (VALUES (3, 'x'), (2, 'y')) AS c(a, k) LEFT JOIN u ON u.k = c.k "
            "WHERE c.a < 3",
        ],
    )


def test_signs_parts_and_names_mean_what_they_mean_to_spark(engine: Engine) -> None:
    load(engine)
    engine.sql("CREATE VIEW odd AS SELECT id AS current_date, v AS current_timestamp, k AS localtimestamp FROM t")
    moment = "timestamp_seconds(v * 3600)"
    keep(
        engine,
        [
            f"SELECT id, {moment} - INTERVAL 1 DAY 2 HOURS AS a, DATE '2024-03-01' - INTERVAL '1' YEAR '2' MONTH AS b "
            "FROM t",
            f"SELECT id FROM t WHERE {moment} - INTERVAL 1 HOUR 30 MINUTES > timestamp_seconds(3600)",
            f"SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY {moment} RANGE BETWEEN INTERVAL 1 HOUR 1 MINUTE "
            "PRECEDING AND INTERVAL 1 HOUR 0 MINUTES FOLLOWING) AS s FROM t",
            "SELECT current_date AS d, MAX(current_timestamp) AS m FROM odd WHERE localtimestamp <> 'z' GROUP BY "
            "current_date",
            "SELECT id, +k AS p FROM (SELECT id, CAST(v AS STRING) AS k FROM t)",
            "SELECT id, concat(+k, '!') AS p FROM (SELECT id, CAST(v AS STRING) AS k FROM t)",
            "SELECT id, concat(array(k, 'q')[0], '!') AS e FROM t WHERE array(v, 7)[0] > 1",
            "SELECT * EXCEPT (u.k, v, s) FROM t JOIN u ON t.k = u.k",
            "SELECT COUNT(*) AS n, MAX(k) AS m FROM (SELECT DISTINCT * EXCEPT (t.k, id, v, s) FROM t JOIN u ON t.k = "
            "u.k)",
            "SELECT id, nth_value(v, 2) IGNORE NULLS OVER (PARTITION BY k ORDER BY id RANGE BETWEEN 3 PRECEDING AND 1 "
            "FOLLOWING) AS n FROM t",
            "SELECT id, collect_set(v) OVER (PARTITION BY k ORDER BY id) AS c FROM t WHERE v IS NOT NULL",
            "SELECT id, (SELECT SUM(w) FROM u WHERE u.k = t.k OFFSET 1) AS s FROM t",
        ],
    )


def test_what_a_limit_inside_leaves_open_is_chosen_always_the_same(engine: Engine) -> None:
    load(engine)
    queries = {
        "SELECT id, (SELECT w FROM u LIMIT 1) AS c FROM t": "SELECT id, (SELECT MIN(w) FROM u) AS c FROM t",
        "SELECT id, x.w FROM t, LATERAL (SELECT w FROM u WHERE u.k = t.k LIMIT 1) x": "SELECT t.id, MIN(w) AS w FROM t "
        "JOIN u ON u.k = t.k GROUP BY t.id",
        "SELECT k, COUNT(*) AS n FROM (SELECT k FROM t OFFSET 1) GROUP BY k": "SELECT k, COUNT(*) AS n FROM (SELECT k "
        "FROM t ORDER BY k OFFSET 1) GROUP BY k",
        "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k LIMIT 1)": "SELECT id FROM t WHERE k IN "
        "(SELECT k FROM u)",
    }
    for number, query in enumerate(queries):
        made = engine.create_stream_table(f"s{number}", query, refresh_mode="DIFFERENTIAL")
        assert "EXISTS" in query or any("leaves open which rows stay" in notice for notice in made.notices)
    for changes in CHANGES:
        for change in changes:
            engine.sql(change.replace("('y', NULL)", "('y', 6)"))
        for number, chosen in enumerate(queries.values()):
            assert engine.refresh_stream_table(f"s{number}").action in (Action.DIFFERENTIAL, Action.NO_DATA)
            assert engine.verify(f"s{number}").ok
            assert rows(engine, f"SELECT * FROM s{number}") == rows(engine, chosen), chosen
    engine.create_stream_table("whole", "SELECT id FROM t LIMIT 1")
    assert engine.explain("whole").mode == "FULL"
    ordered = "SELECT id FROM (SELECT id FROM (SELECT id FROM t ORDER BY v DESC) LIMIT 1)"
    assert engine.explain_query(ordered).mode == "FULL", "Spark cuts in the order below, and nobody has to"


def test_a_column_called_all_comes_before_the_word_and_so_does_one_called_distinct(engine: Engine) -> None:
    load(engine)
    engine.sql("CREATE VIEW quantified AS SELECT k AS all, v AS distinct, id FROM t")
    keep(
        engine,
        [
            "SELECT COUNT(*) AS n FROM quantified GROUP BY all",
            "SELECT id % 2 AS h, COUNT(*) AS n FROM t GROUP BY `all`",
            "SELECT id, COUNT(*) AS n FROM quantified GROUP BY all, id",
            "SELECT all, MAX(id) AS m FROM quantified GROUP BY all",
            "SELECT distinct, id FROM quantified",
            "SELECT id, all FROM quantified ORDER BY all, id DESC LIMIT 2",
            "SELECT id FROM quantified ORDER BY all DESC LIMIT 2",
            "SELECT id, v FROM t ORDER BY ALL DESC LIMIT 2",
            "SELECT id, ROW_NUMBER() OVER (PARTITION BY id % 2 ORDER BY all, id) AS n FROM quantified",
        ],
    )


def test_the_columns_of_a_table_without_an_alias_go_by_its_whole_name(engine: Engine) -> None:
    load(engine)
    engine.sql("CREATE NAMESPACE other; CREATE TABLE other.t (id BIGINT, k STRING)")
    engine.sql("INSERT INTO other.t VALUES (1, 'x'), (2, 'q')")
    keep(
        engine,
        [
            "SELECT default.t.id, lake.default.t.k, default.t.s.a AS a FROM t",
            "SELECT default.t.id AS a, other.t.* FROM t, other.t",
            "SELECT lake.default.t.s.b AS x, default.t.s.* FROM t",
            "SELECT x.id, default.t.k FROM t JOIN t x ON x.id = default.t.id + 1",
            "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM other.t WHERE other.t.id = default.t.id)",
        ],
    )


def test_stars_stand_for_columns_around_a_lateral_in_lists_and_in_parentheses(engine: Engine) -> None:
    load(engine)
    keep(
        engine,
        [
            "SELECT x.* FROM t, LATERAL (SELECT t.*) AS x(a, b, c, d)",
            "SELECT id, q.a, q.b FROM t, LATERAL (SELECT s.*) q",
            "SELECT x.i FROM (SELECT id, v FROM t) AS y, LATERAL (SELECT COALESCE(y.*) AS i) AS x",
            "SELECT x.* FROM (SELECT id, v FROM t) y, LATERAL (SELECT z.* FROM LATERAL (SELECT y.*) z) x",
            "TABLE u |> JOIN LATERAL (SELECT *)",
            "SELECT (*) FROM u",
            "SELECT id, id + 1 IN (*) AS i FROM (SELECT id, v FROM t)",
            "SELECT id FROM (SELECT id, v FROM t) AS y WHERE 3 NOT IN (y.*, 4)",
        ],
    )


def test_the_columns_of_a_view_have_the_types_that_it_was_made_with(engine: Engine) -> None:
    load(engine)
    engine.sql("CREATE VIEW collated AS SELECT id, k COLLATE UNICODE_CI AS c FROM t")
    engine.sql(
        "CREATE VIEW above AS SELECT c || '1' AS d, id, v FROM collated JOIN (SELECT id AS i, v FROM t) ON i = id"
    )
    engine.sql("CREATE VIEW nested AS SELECT id, s FROM t; ALTER TABLE t RENAME COLUMN s.a TO later")
    keep(
        engine,
        [
            "SELECT COUNT(*) AS n FROM collated WHERE c = 'X'",
            "SELECT c, COLLATION(c) AS k, MAX(id) AS m FROM collated GROUP BY c",
            "SELECT d, SUM(v) AS s FROM above GROUP BY d",
            "SELECT u.w, c.id FROM u JOIN collated c ON u.k COLLATE UTF8_LCASE = c.c",
            "SELECT id, s, s.a AS a FROM nested",
            "SELECT id, CAST(k AS STRING COLLATE UTF8_LCASE) = 'X' AS b FROM t",
            "SELECT id FROM t WHERE CAST(k AS STRING COLLATE SR_AI) <> 'q'",
        ],
    )


def test_what_is_grouped_by_is_known_again_the_other_way_round_and_by_the_name_that_spark_gives_it(
    engine: Engine,
) -> None:
    load(engine)
    keep(
        engine,
        [
            "SELECT SUM(v) AS s FROM t GROUP BY id + 1, k HAVING 1 + id > 2",
            "SELECT 2 * (v + id) AS j, 3 > v AS i, COUNT(*) AS n FROM t GROUP BY v < 3, (id + v) * 2",
            "SELECT k = 'x' AND v IS NULL AS j, COUNT(*) AS n FROM t GROUP BY v IS NULL AND 'x' = k",
            "SELECT 1 + id AS i, 1 + SUM(v) AS j FROM t GROUP BY GROUPING SETS ((id + 1), ())",
            "SELECT 'col1', COUNT(*) AS n FROM t GROUP BY ALL HAVING col1 > 'banana'",
            "SELECT concat_ws(' ', k, 'z') FROM t GROUP BY `concat_ws( , k, z)`",
        ],
    )


def test_names_are_put_together_and_structs_turned_as_spark_does(engine: Engine) -> None:
    load(engine)
    filled = "SELECT v, s FROM t WHERE s IS NOT NULL"  # Spark fails on one that is NULL
    keep(
        engine,
        [
            "SELECT IDENTIFIER(concat('i', ('d'))) AS i FROM IDENTIFIER('d' || 'efault' || '.t')",
            f"SELECT * FROM ({filled}) PIVOT (SUM(v) FOR s IN ((1, 'p'), (2, 'p') AS two))",
            f"SELECT * FROM ({filled}) PIVOT (SUM(v) AS a, COUNT(*) AS n FOR s IN ((1L, 'p'), ('2', 'p')))",
        ],
    )


def test_a_star_leaves_fields_of_structs_out(engine: Engine) -> None:
    load(engine)
    engine.sql("CREATE TABLE n (id BIGINT, d STRUCT<f1: INT, s2: STRUCT<f2: INT, f3: STRING>>)")
    engine.sql("INSERT INTO n VALUES (1, named_struct('f1', 1, 's2', named_struct('f2', 2, 'f3', 'a'))), (2, NULL)")
    engine.sql("INSERT INTO n VALUES (3, named_struct('f1', 1, 's2', NULL))")
    keep(
        engine,
        [
            "SELECT * EXCEPT (d.s2.f2, d.f1) FROM n JOIN t USING (id)",
            "SELECT d.* EXCEPT (s2.f2) FROM n WHERE id IN (SELECT id FROM t)",
            "SELECT n.* EXCEPT (n.d.s2) FROM n JOIN u ON id = w",
            "SELECT COUNT(DISTINCT struct(* EXCEPT (id, d.f1))) AS c, MAX(struct(d.* EXCEPT (s2.f2))) AS m FROM n JOIN "
            "t USING (id)",
            "SELECT struct(s.* EXCEPT (b)) AS x, to_json(struct(* EXCEPT (s.a, id))) AS j FROM t",
            "SELECT x.* FROM t, LATERAL (SELECT t.* EXCEPT (t.id, k)) AS x(b, c)",
        ],
    )
