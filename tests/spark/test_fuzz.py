"""Random queries on Spark and Iceberg: many stream tables over the same tables, refreshed together, stay right.

`TRICKLE_FUZZ_SPARK_QUERIES` asks for more queries, `TRICKLE_FUZZ_SPARK_SEED` for those of a run that failed.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from random import Random

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_trickle.engine import Engine
from spark_trickle.errors import SqlError, UnsupportedSqlError
from spark_trickle.model.refresh import Action
from tests.support.duck import Row, multiset
from tests.support.fuzz.cases import some_features
from tests.support.fuzz.queries import random_query
from tests.support.fuzz.schema import Source, State, random_history, random_sources
from tests.support.seeds import first_seed

QUERIES = int(os.environ.get("TRICKLE_FUZZ_SPARK_QUERIES", "24"))
SEED = first_seed("TRICKLE_FUZZ_SPARK_SEED", in_ci=1001)
CYCLES = 2
WITHOUT = frozenset({"qualify"})
"""Not in Spark 4.1."""


def test_random_queries_are_followed_differentially_on_spark(engine: Engine) -> None:
    random = Random(SEED)
    sources = random_sources(random)[:3]
    history = random_history(random, sources, CYCLES)
    for source in sources:
        columns = source.declared().columns.replace("VARCHAR", "STRING")
        engine.sql(f"CREATE TABLE {source.name} ({columns}) TBLPROPERTIES ('format-version' = '3')")
    _put(engine, sources, history[0], {source.name: () for source in sources})
    queries, said = _created(engine, sources, random)
    assert len(queries) >= QUERIES * 0.6, f"TRICKLE_FUZZ_SPARK_SEED={SEED}: " + "\n".join(said)
    wrong = [f"{name} at first: {text}" for name, text in queries.items() if not _is_right(engine, name, text)]
    for last, state in itertools.pairwise(history):
        _put(engine, sources, state, last)
        for outcome in engine.refresh_stream_tables(list(queries)):
            text = queries[outcome.name]
            if outcome.action not in (Action.DIFFERENTIAL, Action.NO_DATA) or not _is_right(engine, outcome.name, text):
                wrong.append(f"{outcome}: {text}")
    if wrong:
        pytest.fail(f"TRICKLE_FUZZ_SPARK_SEED={SEED}\n" + "\n".join(wrong), pytrace=False)


def _created(engine: Engine, sources: tuple[Source, ...], random: Random) -> tuple[dict[str, str], list[str]]:
    """Stream tables, and what was said about queries that could not be one."""
    queries, said = {}, []
    for place in range(QUERIES):
        query, _ = random_query(random, sources, some_features(random) - WITHOUT)
        name = f"q{place}"
        try:
            engine.spark.sql(query.text).schema  # noqa: B018  what Spark itself refuses is no case
        except (PySparkException, Py4JJavaError) as err:
            said.append(f"{str(err)[:150]}: {query.text}")
            continue
        try:
            engine.create_stream_table(name, query.text, refresh_mode="DIFFERENTIAL", strict=True)
        except (UnsupportedSqlError, SqlError) as err:
            said.append(f"{err}: {query.text}")
        else:
            queries[name] = query.text
    return queries, said


def _put(engine: Engine, sources: tuple[Source, ...], state: State, last: State) -> None:
    """From one state to the next with one DELETE and one INSERT per table; of equal rows all go, some come again."""
    for source in sources:
        old, new = Counter(last[source.name]), Counter(state[source.name])
        gone = [row for row in old if new[row] < old[row]]
        if gone:
            engine.spark.sql(f"DELETE FROM {source.name} WHERE {' OR '.join(_is(source, row) for row in gone)}")
        rows = [row for row in new for _ in range(new[row] - (0 if row in gone else old[row]))]
        if rows:
            values = ", ".join(f"({', '.join(_literals(source, row))})" for row in rows)
            engine.spark.sql(f"INSERT INTO {source.name} VALUES {values}")


def _literals(source: Source, row: Row) -> list[str]:
    return [
        "NULL" if value is None else f"CAST('{value}' AS {column.type.replace('VARCHAR', 'STRING')})"
        for value, column in zip(row, source.columns, strict=True)
    ]


def _is(source: Source, row: Row) -> str:
    pairs = zip(source.columns, _literals(source, row), strict=True)
    return "(" + " AND ".join(f"{column.name} <=> {literal}" for column, literal in pairs) + ")"


def _is_right(engine: Engine, name: str, text: str) -> bool:
    kept, asked = (
        multiset(tuple(row) for row in engine.spark.sql(query).collect()) for query in (f"SELECT * FROM {name}", text)
    )
    return kept == asked
