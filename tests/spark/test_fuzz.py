"""Random queries on Spark and Iceberg: many stream tables over the same tables, refreshed together, stay right.

`TRICKLE_FUZZ_SPARK_QUERIES` asks for more queries, `TRICKLE_FUZZ_SPARK_RUNS` for more lakes, each with a seed of its
own, `TRICKLE_FUZZ_SPARK_SEED` for those of a run that failed.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError, UnsupportedSqlError
from spark_trickle.model.refresh import Action
from tests.support.duck import Row, multiset
from tests.support.fuzz.cases import some_features
from tests.support.fuzz.queries import random_query
from tests.support.fuzz.schema import Source, State, random_history, random_sources
from tests.support.seeds import first_seed

QUERIES = int(os.environ.get("TRICKLE_FUZZ_SPARK_QUERIES", "24"))
SEED = first_seed("TRICKLE_FUZZ_SPARK_SEED", in_ci=1001)
RUNS = int(os.environ.get("TRICKLE_FUZZ_SPARK_RUNS", "1"))
CYCLES = 2
WORDS = 300
"""As much as is told of an error: Spark's may be pages."""
WITHOUT = frozenset({"qualify"})
"""Not in Spark 4.1."""


_TROUBLE = (StreamTableError, PySparkException, Py4JJavaError)


@pytest.mark.parametrize("run", range(RUNS))
def test_random_queries_are_followed_differentially_on_spark(engine: Engine, run: int) -> None:
    random = Random(SEED + run)
    sources = random_sources(random)[:3]
    history = random_history(random, sources, CYCLES)
    for source in sources:
        columns = source.declared().columns.replace("VARCHAR", "STRING")
        engine.sql(f"CREATE TABLE {source.name} ({columns}) TBLPROPERTIES ('format-version' = '3')")
    _put(engine, sources, history[0], {source.name: () for source in sources})
    found = Found()
    queries = _created(engine, sources, random, found)
    for name, text in queries.items():
        found.look(engine, name, text, "at first")
    for last, state in itertools.pairwise(history):
        _put(engine, sources, state, last)
        for name, (action, why) in _refreshed(engine, list(queries), found).items():
            if action not in (Action.DIFFERENTIAL, Action.NO_DATA):
                found.wrong.append(f"{name}: {action}: {why}: {queries[name]}")
            found.look(engine, name, queries[name], f"after {action}")
    found.tell(run)
    assert len(queries) >= QUERIES * 0.6, f"TRICKLE_FUZZ_SPARK_SEED={SEED + run}: " + "\n".join(found.said)


@dataclass
class Found:
    """What was seen on the way: all of it is told at the end, with what is needed to see it again."""

    wrong: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """About queries that could not be stream tables."""
    kept: int = 0

    def look(self, engine: Engine, name: str, text: str, when: str) -> None:
        try:
            right = _is_right(engine, name, text)
        except _TROUBLE as err:
            self.wrong.append(f"{name} {when}, reading: {str(err)[:WORDS]}: {text}")
        else:
            self.wrong += [] if right else [f"{name} {when}: {text}"]

    def tell(self, run: int) -> None:
        sys.stdout.write(f"seed {SEED + run}: {self.kept} kept, {len(self.said)} not\n")
        if self.wrong:
            again = f"TRICKLE_FUZZ_SPARK_SEED={SEED + run} TRICKLE_FUZZ_SPARK_QUERIES={QUERIES}"
            told = f"{again}\n" + "\n".join(self.wrong)
            sys.stdout.write(f"{told}\n")  # with -s at once: a run of many lakes takes long
            pytest.fail(told, pytrace=False)


def _created(engine: Engine, sources: tuple[Source, ...], random: Random, found: Found) -> dict[str, str]:
    """Stream tables."""
    queries = {}
    for place in range(QUERIES):
        query, _ = random_query(random, sources, some_features(random) - WITHOUT)
        name = f"q{place}"
        try:
            engine.spark.sql(query.text).schema  # noqa: B018  what Spark itself refuses is no case
        except (PySparkException, Py4JJavaError) as err:
            found.said.append(f"{str(err)[:WORDS]}: {query.text}")
            continue
        try:
            engine.create_stream_table(name, query.text, refresh_mode="DIFFERENTIAL", strict=True)
        except UnsupportedSqlError as err:
            found.said.append(f"{err}: {query.text}")
        except _TROUBLE as err:
            found.wrong.append(f"{name} at its creation: {str(err)[:WORDS]}: {query.text}")
        else:
            queries[name] = query.text
    found.kept = len(queries)
    return queries


def _refreshed(engine: Engine, names: list[str], found: Found) -> dict[str, tuple[Action, str]]:
    """All at one cut; if that fails, one after the other, to see which it was."""
    try:
        return {done.name: (done.action, str(done)) for done in engine.refresh_stream_tables(names)}
    except _TROUBLE as err:
        found.wrong.append(f"refreshing together: {str(err)[:WORDS]}")
    done = {}
    for name in names:
        try:
            outcome = engine.refresh_stream_table(name)
        except _TROUBLE as err:
            found.wrong.append(f"{name} refreshing: {str(err)[:WORDS]}")
        else:
            done[name] = (outcome.action, str(outcome))
    return done


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
