"""Members of one unit computed side by side, each in a session of its own over the same private version of the lake."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import ComputeError
from spark_trickle.events import Event, Observer, Step, StepReached
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome
from tests.spark.engines import assert_equals_query, rows, values

QUERIES = {
    "sums": "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY g",
    "picks": "SELECT id, g, x FROM t WHERE x > 2",
    "kinds": "SELECT DISTINCT kind FROM u",
    "pairs": "SELECT t.id, u.kind FROM t JOIN u ON t.g = u.g",
    "joined": "SELECT p.id, p.x, s.s, s.n FROM picks p JOIN sums s ON p.g = s.g",
    "best": "SELECT g, MAX(s) AS s FROM sums WHERE n > 1 GROUP BY g",
    "counted": "SELECT (SELECT COUNT(*) FROM joined) AS j, (SELECT COUNT(*) FROM kinds) AS k",
}
NAMES = list(QUERIES)


@contextmanager
def connected(
    spark: SparkSession,
    folder: Path,
    *observers: Observer,
    at_once: int = 3,
    names: Sequence[str] = NAMES,
    local_query_rows: int = 250_000,
) -> Iterator[Engine]:
    with spark_trickle.connect(
        str(folder),
        spark=spark.newSession(),
        observers=observers,
        max_concurrent_refreshes=at_once,
        local_query_rows=local_query_rows,
    ) as engine:
        engine.sql(
            "CREATE TABLE t (id INT, g STRING, x INT) TBLPROPERTIES ('format-version' = '3');"
            "INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3), (4, 'c', 4), (4, 'c', 4);"
            "CREATE TABLE u (g STRING, kind STRING); INSERT INTO u VALUES ('a', 'one'), ('b', 'two')"
        )
        for name in names:
            engine.create_stream_table(name, QUERIES[name], refresh_mode="DIFFERENTIAL", strict=True)
        yield engine


def write(engine: Engine, dice: random.Random) -> None:
    for _ in range(dice.randint(1, 3)):
        number, group = dice.randint(1, 9), dice.choice("abcd")
        engine.sql(
            dice.choice(
                [
                    f"INSERT INTO t VALUES ({number}, '{group}', {number}), ({number + 1}, '{group}', 1)",
                    f"UPDATE t SET x = x + {number} WHERE g = '{group}'",
                    f"DELETE FROM t WHERE id = {number}",
                    f"INSERT INTO u VALUES ('{group}', 'k{number}')",
                    f"DELETE FROM u WHERE g = '{group}'",
                ]
            )
        )


def by_name(outcomes: list[RefreshOutcome]) -> dict[str, RefreshOutcome]:
    return {outcome.name: outcome for outcome in outcomes}


@pytest.mark.parametrize("jobs", [True, False], ids=["as jobs", "without jobs"])
def test_whatever_is_written_all_members_follow_and_jobs_are_those_of_one_after_the_other(
    jobs: bool, spark: SparkSession, tmp_path: Path
) -> None:
    here, there, few = tmp_path / "many", tmp_path / "one", 0 if jobs else 250_000
    with (
        connected(spark, here, local_query_rows=few) as many,
        connected(spark, there, at_once=1, local_query_rows=few) as one,
    ):
        for seed in range(4):
            write(many, random.Random(seed))
            write(one, random.Random(seed))
            found, expected = (by_name(e.refresh_stream_tables(NAMES)) for e in (many, one))
            assert list(found) == list(expected)
            told: list[Any] = [
                {o.name: (o.action, o.rows_inserted, o.rows_deleted, o.commits) for o in each.values()}
                for each in (found, expected)
            ]
            assert told[0] == told[1]
            # What several members read is brought once, by whichever of them came first.
            assert sum(o.jobs for o in found.values()) == sum(o.jobs for o in expected.values())
            assert all((o.jobs > 0) is jobs for o in found.values() if o.commits)
            for name, query in QUERIES.items():
                assert rows(many, f"SELECT * FROM {name}") == rows(many, query), (seed, name)
        assert {o.action for o in many.refresh_stream_tables(NAMES)} == {Action.NO_DATA}


def test_two_members_meet_and_their_reader_takes_their_changes_from_both_sessions(
    spark: SparkSession, tmp_path: Path
) -> None:
    together, pools = threading.Barrier(2, timeout=60), set[str | None]()

    def meet(event: Event) -> None:
        if isinstance(event, StepReached) and event.step is Step.STAGED and event.table in armed:
            pools.add(spark.sparkContext.getLocalProperty("spark.scheduler.pool"))
            together.wait()

    armed: set[str] = set()
    with connected(spark, tmp_path, meet, names=("sums", "picks", "joined")) as engine:
        for statement in ("INSERT INTO t VALUES (7, 'b', 7)", "UPDATE t SET x = x + 1", "DELETE FROM t WHERE id = 7"):
            engine.sql(statement)
            armed |= {"sums", "picks"}
            found = by_name(engine.refresh_stream_tables(["sums", "picks", "joined"]))
            armed.clear()
            assert {o.action for o in found.values()} == {Action.DIFFERENTIAL}
            for name in ("sums", "picks", "joined"):
                assert_equals_query(engine, name)
        assert len(pools) >= 2 and None not in pools


def test_members_without_changes_do_nothing_beside_those_that_have_some(spark: SparkSession, tmp_path: Path) -> None:
    with connected(spark, tmp_path) as engine:
        engine.sql("INSERT INTO u VALUES ('z', 'one')")  # a kind that is known, of a group that nobody has
        found = by_name(engine.refresh_stream_tables(NAMES))
        assert {o.action for o in found.values()} == {Action.NO_DATA}
        assert sum(o.commits for o in found.values()) <= 1  # `kinds` counts how often it has each
        for name in NAMES:
            assert_equals_query(engine, name)


def test_an_error_in_one_member_publishes_nothing_and_the_next_refresh_has_everything(
    spark: SparkSession, tmp_path: Path
) -> None:
    def fail(event: Event) -> None:
        if isinstance(event, StepReached) and event.step is Step.STAGED and event.table in failing:
            raise ComputeError(f"{event.table} failed")

    failing: set[str] = set()
    with connected(spark, tmp_path, fail) as engine:
        before = {name: rows(engine, f"SELECT * FROM {name}") for name in NAMES}
        engine.sql("INSERT INTO t VALUES (8, 'a', 8); UPDATE t SET x = 9 WHERE id = 2; INSERT INTO u VALUES ('c', 'k')")
        for broken in ("sums", "picks", "joined"):
            failing.add(broken)
            with pytest.raises(ComputeError, match=f"{broken} failed"):
                engine.refresh_stream_tables(NAMES)
            failing.clear()
            assert {name: rows(engine, f"SELECT * FROM {name}") for name in NAMES} == before
            assert engine.history(limit=1)[0].status is Outcome.FAILED
        assert by_name(engine.refresh_stream_tables(NAMES))["joined"].action is Action.DIFFERENTIAL
        for name in NAMES:
            assert_equals_query(engine, name)


def test_many_members_commit_to_one_private_catalog_at_the_same_time(spark: SparkSession, tmp_path: Path) -> None:
    with connected(spark, tmp_path, at_once=8, names=()) as engine:
        names = [f"m{number}" for number in range(12)]
        for number, name in enumerate(names):
            engine.create_stream_table(name, f"SELECT g, SUM(x + {number}) AS s FROM t GROUP BY g", initialize=False)
        union = " UNION ALL ".join(f"SELECT g, s FROM {name}" for name in names)
        engine.create_stream_table("all_", union, initialize=False)
        for step in range(3):
            engine.sql(f"INSERT INTO t VALUES ({step}, 'a', {step}); DELETE FROM t WHERE id = {step + 1}")
            found = by_name(engine.refresh_stream_tables([*names, "all_"]))
            assert len(found) == len(names) + 1
            assert values(engine, "SELECT COUNT(*) FROM all_") == values(engine, "SELECT 12 * COUNT(DISTINCT g) FROM t")
            for name in ("m0", "m11", "all_"):
                assert_equals_query(engine, name)
        for name in names:
            # Each session marks what it writes, and no other's.
            marks = values(engine, f"SELECT DISTINCT summary['trickle.stream-table'] FROM default.{name}.snapshots")
            assert marks == [(name,)]


def test_a_user_s_function_is_known_in_every_session(spark: SparkSession, tmp_path: Path) -> None:
    with connected(spark, tmp_path, names=()) as engine:
        engine.spark.udf.register("twice", lambda x: 2 * x, "int")
        for name in ("one", "two"):
            engine.create_stream_table(name, f"SELECT id, twice(x) AS x, '{name}' AS n FROM t")
        engine.sql("INSERT INTO t VALUES (5, 'd', 5)")
        assert len(engine.refresh_stream_tables(["one", "two"])) == 2
        for name in ("one", "two"):
            assert (10,) in values(engine, f"SELECT x FROM {name}")


def test_over_a_redefined_view_members_run_one_by_one_for_it_may_read_another_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    def watch(event: Event) -> None:
        if isinstance(event, StepReached) and event.step is Step.COMPUTING:
            threads.add(threading.current_thread())

    threads: set[threading.Thread] = set()
    with connected(spark, tmp_path, watch, names=("sums", "picks")) as engine:
        engine.sql("CREATE VIEW seen AS SELECT g, x FROM t")
        engine.create_stream_table("above", "SELECT g, SUM(x) AS x FROM seen GROUP BY g")
        names = ["above", "sums", "picks"]
        for number, view in enumerate(("SELECT g, s AS x FROM sums", None)):
            if view is not None:
                engine.sql(f"CREATE OR REPLACE VIEW seen AS {view}")
            engine.sql(f"INSERT INTO t VALUES (6, 'b', {number})")
            threads.clear()
            engine.refresh_stream_tables(names)
            assert (threads == {threading.current_thread()}) is (view is not None)
        for name in names:
            assert_equals_query(engine, name)
