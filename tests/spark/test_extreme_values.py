"""Values at the ends of their types, in queries that are fine with them: no arithmetic of ours may be less so.

Python has no value for far dates, so tables are compared where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import ComputeError
from spark_trickle.model.refresh import Action
from tests.spark.engines import opened

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def followed(engine: Engine, queries: Mapping[str, str]) -> None:
    """All are kept differentially and hold what their queries give."""
    for outcome in engine.refresh_stream_tables(list(queries)):
        assert outcome.action in (Action.DIFFERENTIAL, Action.NO_DATA), outcome
    for name in queries:
        verification = engine.verify(name)
        assert verification.ok, verification


def created(engine: Engine, queries: Mapping[str, str]) -> None:
    for name, query in queries.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)


SUMS = {
    "totals": "SELECT g, SUM(x) AS s, SUM(w) AS w FROM n GROUP BY g",
    "counted": "SELECT g, SUM(x) AS s, AVG(f) AS a, COUNT(x) AS c, COUNT(*) AS r FROM n GROUP BY g",
    "one": "SELECT SUM(x) AS s, SUM(w) AS w, SUM(f) AS f, AVG(f) AS a FROM n WHERE g <> 2",
    "different": "SELECT SUM(DISTINCT x) AS x, SUM(DISTINCT w) AS w FROM n WHERE g <> 2",
}


@pytest.mark.parametrize("limits", [{}, {"small_change_rows": 0, "held_table_rows": 0, "rewrite_table_rows": 0}])
def test_the_sum_of_a_change_need_not_fit(spark: SparkSession, tmp_path: Path, limits: dict[str, int]) -> None:
    top = "9" * 38
    with opened(spark, tmp_path, **limits) as engine:
        engine.sql("CREATE TABLE n (g INT, x BIGINT, w DECIMAL(38, 0), f DECIMAL(18, 8))")
        engine.sql(f"INSERT INTO n VALUES (1, {HIGHEST}, {top}, 0.12345678), (1, -5, 0, 1), (2, {LOWEST}, -{top}, 2)")
        engine.sql("INSERT INTO n VALUES (2, 5, 5, 0.00000001), (3, NULL, NULL, NULL)")
        created(engine, SUMS)
        for statement in (
            f"UPDATE n SET x = {LOWEST + 5}, w = -{top}, f = -f WHERE x = {HIGHEST}; DELETE FROM n WHERE x = {LOWEST}",
            f"UPDATE n SET x = {HIGHEST}, w = {top}, f = f + 0.00000003 WHERE x = {LOWEST + 5}; "
            f"INSERT INTO n VALUES (2, {LOWEST}, -{top}, 7.00000001), (3, -7, 0, 7.7)",
            "DELETE FROM n WHERE TRUE",
            f"INSERT INTO n VALUES (2, {LOWEST}, -{top}, 7.00000001), (2, {HIGHEST}, {top}, 7.00000001)",
        ):
            engine.sql(statement)
            followed(engine, SUMS)


def test_a_sum_that_does_not_fit_fails_as_the_query_does(engine: Engine) -> None:
    engine.sql(f"CREATE TABLE n (g INT, x BIGINT); INSERT INTO n VALUES (1, {HIGHEST}), (2, 1)")
    engine.create_stream_table("totals", "SELECT g, SUM(x) AS s FROM n GROUP BY g", strict=True)
    engine.sql("INSERT INTO n VALUES (1, 1)")
    with pytest.raises(ComputeError, match="OVERFLOW"):
        engine.refresh_stream_table("totals")
    engine.sql("DELETE FROM n WHERE x = 1 AND g = 1; INSERT INTO n VALUES (2, 3)")
    followed(engine, {"totals": "SELECT g, SUM(x) AS s FROM n GROUP BY g"})


DAYS = {
    "rows_of_it": "SELECT id, d, at, shown, ARRAY(d) AS days FROM e",
    "by_day": "SELECT d, COUNT(*) AS n, MAX(at) AS last FROM e GROUP BY d",
    "by_moment": "SELECT DISTINCT at, shown FROM e WHERE d IN (SELECT d FROM o)",
    "joined": "SELECT e.id, o.id AS other, o.d FROM e JOIN o ON e.d = o.d AND e.at = o.at",
    "outer": "SELECT e.id, o.at, ROW_NUMBER() OVER (PARTITION BY o.at ORDER BY e.shown, e.id) AS n "
    "FROM e LEFT JOIN o ON e.at = o.at",
}
FAR = [
    ("+99999-12-31", "+99999-12-31 23:59:59.999999Z", "+99999-12-31 23:59:59.999999"),
    ("-4712-01-01", "-4712-01-01 00:00:00Z", "-4712-01-01 00:00:00"),
    ("+5881580-07-11", "+294247-01-10 04:00:54.775807Z", "+294247-01-10 04:00:54.775807"),
    ("-5877641-06-23", "-290308-12-21 19:59:05.224192Z", "-290308-12-21 19:59:05.224192"),
    ("0001-01-01", "0001-01-01 00:00:00Z", "0001-01-01 00:00:00"),
    ("9999-12-31", "9999-12-31 23:59:59.999999+14:00", "9999-12-31 23:59:59.999999"),
]


@pytest.mark.parametrize("limits", [{}, {"held_table_rows": 0, "rewrite_table_rows": 0, "lookup_table_rows": 0}])
def test_dates_of_all_years_are_keys_and_rows(spark: SparkSession, tmp_path: Path, limits: dict[str, int]) -> None:
    def values(first: int) -> str:
        rows = (
            f"({first + i}, CAST('{d}' AS DATE), CAST('{at}' AS TIMESTAMP), CAST('{ntz}' AS TIMESTAMP_NTZ))"
            for i, (d, at, ntz) in enumerate(FAR)
        )
        return ", ".join(rows)

    with opened(spark, tmp_path, **limits) as engine:
        for name in ("e", "o"):
            engine.sql(f"CREATE TABLE {name} (id INT, d DATE, at TIMESTAMP, shown TIMESTAMP_NTZ)")
            engine.sql(f"INSERT INTO {name} VALUES {values(0)}, (-1, NULL, NULL, NULL)")
        created(engine, DAYS)
        for statement in (
            f"INSERT INTO e VALUES {values(10)}; INSERT INTO o VALUES {values(20)}",
            "DELETE FROM e WHERE id < 10; UPDATE o SET id = id + 100 WHERE id > 22",
            "DELETE FROM e WHERE TRUE; DELETE FROM o WHERE TRUE",
            f"INSERT INTO e VALUES {values(0)}; INSERT INTO o VALUES {values(0)}",
        ):
            engine.sql(statement)
            followed(engine, DAYS)


def test_an_inner_row_is_a_change_to_what_reads_it(engine: Engine) -> None:
    queries = {
        "pair": "SELECT a.s, b.c FROM (SELECT SUM(x) AS s FROM t) a CROSS JOIN (SELECT COUNT(*) AS c FROM u) b "
        "ORDER BY s LIMIT 1",
        "ranked": "SELECT s, RANK() OVER (ORDER BY s, c) AS r FROM (SELECT SUM(x) AS s FROM t) "
        "CROSS JOIN (SELECT COUNT(*) AS c FROM u)",
        "none": "SELECT s FROM (SELECT SUM(x) AS s FROM t) WHERE s > 4 ORDER BY s LIMIT 3",
    }
    engine.sql("CREATE TABLE t (x INT); CREATE TABLE u (y INT); INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)")
    created(engine, queries)
    for statement in (
        "INSERT INTO t VALUES (4)",
        "INSERT INTO u VALUES (4)",
        "DELETE FROM t WHERE TRUE",
        "INSERT INTO t VALUES (4); DELETE FROM u WHERE TRUE",
        "INSERT INTO t VALUES (4); INSERT INTO u VALUES (4)",
    ):
        engine.sql(statement)
        followed(engine, queries)


TEXTS = {
    "nul_written": r"SELECT k, CONCAT(k, '\u000012') AS t, COUNT(*) AS c FROM w WHERE k <> '\u000033' GROUP BY k",
    "newline_written": r"SELECT k, CONCAT(k, '\012') AS t, COUNT(*) AS c FROM w WHERE k <> '\033' GROUP BY k",
    "looked_up": "SELECT w.k, w.n, v.n AS m FROM w JOIN v ON v.k = w.k",
}


@pytest.mark.parametrize("limits", [{}, {"small_change_rows": 0, "held_table_rows": 0, "rewrite_table_rows": 0}])
def test_a_nul_before_digits_is_no_octal_number(spark: SparkSession, tmp_path: Path, limits: dict[str, int]) -> None:
    with opened(spark, tmp_path, **limits) as engine:
        engine.sql("CREATE TABLE w (k STRING, n INT); CREATE TABLE v (k STRING, n INT)")
        load = r"('\u000012', {n}), ('\012', {n}), ('\u000033', {n}), ('\033', {n}), ('\u0000', {n})"
        engine.sql(f"INSERT INTO w VALUES {load.format(n=1)}; INSERT INTO v VALUES {load.format(n=2)}")
        created(engine, TEXTS)
        for statement in (
            r"UPDATE w SET n = 5 WHERE k = '\u000012'; DELETE FROM v WHERE k = '\012'",
            r"DELETE FROM w WHERE k = '\u000012'; INSERT INTO v VALUES ('\u000012', 7), ('\012', 8)",
            rf"DELETE FROM w WHERE TRUE; INSERT INTO w VALUES {load.format(n=3)}",
        ):
            engine.sql(statement)
            followed(engine, TEXTS)
        kept = {tuple(row) for row in engine.spark.sql("SELECT k, t FROM nul_written").collect()}
        assert kept == {(k, f"{k}\x0012") for k in ("\x0012", "\n", "\x1b", "\0")}
