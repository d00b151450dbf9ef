"""Every setting that changes meaning, each with a query that shows it: made under one value, refreshed by a session
with the other, a stream table holds what its query said where it was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from tests.support.fuzz.settings import FIRST, MEANINGS, SAMPLE, SECOND, Meaning
from tests.support.printed import Printed, printed

THIRD = "DELETE FROM sample WHERE id = 1"
DIRECTIONS = ("usual", "otherwise")
"""How the session is set that makes the stream table; the other one refreshes it."""


def test_a_query_means_what_it_meant_where_it_was_made(engine: Engine) -> None:
    for statement in (SAMPLE, FIRST):
        engine.sql(statement)
    made: dict[str, tuple[Meaning, str]] = {}
    for place, meaning in enumerate(MEANINGS):
        for direction in DIRECTIONS:
            name = f"{direction}_{place}"
            with _speaking(engine.spark, meaning, direction):
                if _answer(engine.spark, meaning.query) is None:
                    continue  # no query at all under that value
                engine.create_stream_table(name, meaning.query)
                made[name] = meaning, direction
    # Whatever Spark makes of a setting: most of these queries exist under both of its values.
    assert len(made) >= 1.5 * len(MEANINGS)
    problems, differing = [], set()
    for statement in (SECOND, THIRD):
        engine.sql(statement)
        for name, (meaning, direction) in made.items():
            with _speaking(engine.spark, meaning, _other(direction)):
                found_there = _answer(engine.spark, meaning.query)
                try:
                    engine.refresh_stream_table(name)
                    verified = engine.verify(name)
                except StreamTableError as err:
                    problems.append(f"{meaning} ({direction}): {err}")
                    continue
            with _speaking(engine.spark, meaning, direction):
                right = _answer(engine.spark, meaning.query)
            found = printed(engine.spark.sql(f"SELECT * FROM {name}"))
            if found_there != right:
                differing.add(meaning.setting)
            if found != right or not verified.ok:
                problems.append(f"{meaning} ({direction}): {found} and not {right}; verify: {verified.ok}")
    assert not problems, "\n".join(problems)
    assert len(differing) >= len({meaning.setting for meaning in MEANINGS}) // 2, differing


def _other(direction: str) -> str:
    return DIRECTIONS[1 - DIRECTIONS.index(direction)]


@contextmanager
def _speaking(session: SparkSession, meaning: Meaning, direction: str) -> Iterator[None]:
    before = session.conf.get(meaning.setting, None)
    if direction == "otherwise":
        session.conf.set(meaning.setting, meaning.value)
    try:
        yield
    finally:
        session.conf.unset(meaning.setting) if before is None else session.conf.set(meaning.setting, before)


def _answer(session: SparkSession, query: str) -> Printed | None:
    try:
        return printed(session.sql(query))
    except PySparkException:
        return None


def test_a_setting_of_reading_counts_where_it_changes_what_is_read(engine: Engine) -> None:
    engine.sql(SAMPLE)
    engine.sql(FIRST)
    settings = {
        "groupByAliases": "false",
        "groupByOrdinal": "false",
        "orderByOrdinal": "false",
        "prioritizeOrdinalResolutionInSort.enabled": "false",
        "ansi.doubleQuotedIdentifiers": "true",
        "ansi.enforceReservedKeywords": "true",
        "legacy.ctePrecedencePolicy": "EXCEPTION",
        "legacy.setopsPrecedence.enabled": "true",
        "crossJoin.enabled": "false",
    }
    for setting, value in settings.items():
        engine.spark.conf.set(f"spark.sql.{setting}", value)
    same = {
        "grouped": "SELECT word, COUNT(*) AS n, MAX(amount) AS m FROM sample GROUP BY word HAVING COUNT(*) > 0",
        "united": "SELECT id FROM sample UNION SELECT id + 1 FROM sample EXCEPT SELECT 7",
        "joined": "WITH s AS (SELECT id, word FROM sample) SELECT a.id, b.word FROM s a JOIN s b ON a.id = b.id "
        "ORDER BY a.id LIMIT 2",
        "numbered": "SELECT id, ROW_NUMBER() OVER (PARTITION BY word ORDER BY id) AS n, 'a\"b\\'c' AS s FROM sample",
        "ordered": "SELECT id, word FROM sample ORDER BY 2, word",
        "outer_values": "SELECT id, (SELECT MAX(b.id) FROM sample b WHERE b.id < a.id) AS m FROM sample a",
    }
    other = {
        "cut": "SELECT id, word FROM sample WHERE id IN (SELECT id FROM sample ORDER BY 1, word LIMIT 2)",
        "by_position": "SELECT COUNT(*) AS n FROM sample GROUP BY 1",
        "quoted": 'SELECT id, "word" AS s FROM sample',
        "later": "SELECT id FROM sample UNION SELECT id + 1 FROM sample INTERSECT SELECT 2",
    }
    for name, query in same.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL")
    for name, query in other.items():
        assert engine.create_stream_table(name, query).effective_mode == "FULL", query
    for change in (SECOND, THIRD, "DELETE FROM sample", FIRST, FIRST):
        engine.sql(change)
        for name in (*same, *other):
            engine.refresh_stream_table(name)
            assert engine.verify(name).ok, name


def test_a_setting_that_only_refuses_what_is_ambiguous_changes_nothing_of_what_it_accepts(engine: Engine) -> None:
    engine.sql(SAMPLE)
    engine.spark.conf.set("spark.sql.legacy.ctePrecedencePolicy", "EXCEPTION")
    recursive = (
        "WITH RECURSIVE r(n) AS (SELECT id FROM sample UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r"
    )
    engine.create_stream_table("recursive", recursive, refresh_mode="DIFFERENTIAL")
    engine.sql(FIRST)
    engine.refresh_stream_table("recursive")
    assert engine.verify("recursive").ok
