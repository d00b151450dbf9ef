"""One case of the fuzzer: tables, a history and a query from a seed; kept through the history, with a verdict."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any

import duckdb
from sqlglot.errors import SqlglotError

from spark_trickle.errors import SqlError, StreamTableError, UnsupportedSqlError
from tests.support.duck import Kept, Lake, Row
from tests.support.fuzz.queries import FEATURES, random_query
from tests.support.fuzz.schema import History, Source, random_history, random_sources, statements

WINDOWS = (2, 2, 2, 4)
"""Refreshes of a case. Few: other queries find more than longer histories."""
THOROUGH = 2
"""What is made on the way is looked at in this window and in the last one; the answer in each."""
SECONDS = 10.0
"""Products of products may take for ever: such a case is given up."""

_OPTIMIZERS = frozenset(
    ("filter_pullup", "filter_pushdown", "cte_inlining", "empty_result_pullup", "unused_columns", "deliminator")
)


class Verdict(StrEnum):
    RIGHT = "right"
    REFUSED = "refused"
    INVALID = "invalid"
    """DuckDB refuses the text: the grammar is wrong."""
    AMBIGUOUS = "ambiguous"
    """The text has several right answers: the grammar is wrong."""
    SLOW = "slow"
    FAILED = "failed"


@dataclass(frozen=True)
class Case:
    sources: tuple[Source, ...]
    history: History
    text: str
    used: frozenset[str] = frozenset()

    def script(self) -> str:
        """What happens, as statements for DuckDB; a refresh is a comment."""
        lines = ["CREATE SCHEMA after;"]
        lines += [f"CREATE TABLE after.{table.name} ({table.columns});" for table in map(Source.declared, self.sources)]
        last = None
        for state in self.history:
            lines += [f"{statement};" for statement in statements(state, last)]
            lines.append("-- create the stream table" if last is None else "-- refresh")
            last = state
        return "\n".join((*lines, f"{self.text};"))


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    why: str = ""
    kind: str = ""
    """What failed or was refused, in a word."""


def some_features(random: Random) -> frozenset[str]:
    """Few or many constructs for one query, so that they meet in every way."""
    share = random.choice((0.25, 0.4, 0.6))
    return frozenset(feature for feature in FEATURES if random.random() < share)


def random_case(seed: int, without: Collection[str] = ()) -> Case:
    random = Random(seed)
    features = some_features(random) - frozenset(without)
    sources = random_sources(random)
    query, writer = random_query(random, sources, features)
    read = tuple(source for source in sources if re.search(rf"\b{source.name}\b", query.text))
    history = random_history(random, read or sources[:1], random.choice(WINDOWS))
    return Case(read or sources[:1], history, query.text, frozenset(writer.used))


_CRASHES = (
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    SqlglotError,
    StreamTableError,
    TypeError,
    ValueError,
    duckdb.Error,
)


class QuickLake(Lake):
    """Asks for the columns of a table once: they stay."""

    def run(self, sql: str) -> list[Row]:
        if not sql.startswith('DESCRIBE after."'):
            return super().run(sql)
        if sql not in self._known:
            self._known[sql] = super().run(sql)
        return self._known[sql]

    def __post_init__(self) -> None:
        self._known: dict[str, list[Row]] = {}
        super().__post_init__()


def _connected() -> Any:
    """DuckDB that plans little: most tables have less than ten rows."""
    connection = duckdb.connect(config={"threads": 1})
    known = {name for (name,) in connection.execute("FROM duckdb_optimizers()").fetchall()}
    connection.execute(f"SET disabled_optimizers = '{','.join(sorted(known - _OPTIMIZERS))}'")
    return connection


@dataclass
class Bench:
    """Runs cases in one DuckDB, each in a database of its own: attaching one is much quicker than connecting."""

    connection: Any = field(default_factory=_connected)
    numbers: Any = field(default_factory=itertools.count)

    def run(self, case: Case) -> Outcome:
        outcome = self._isolated(case, self._kept)
        if outcome.verdict is Verdict.FAILED and self._isolated(case, self._ambiguous).verdict is Verdict.AMBIGUOUS:
            return Outcome(Verdict.AMBIGUOUS, outcome.why)
        return outcome

    def _isolated(self, case: Case, run: Any) -> Outcome:
        name = f"case{next(self.numbers)}"
        self.connection.execute(f"ATTACH ':memory:' AS {name}")
        self.connection.execute(f"USE {name}")
        watch = threading.Timer(SECONDS, self.connection.interrupt)
        watch.start()
        try:
            lake = QuickLake([source.declared() for source in case.sources], connection=self.connection)
            found: Outcome = run(case, lake)
            return found
        except duckdb.InterruptException:
            return Outcome(Verdict.SLOW)
        finally:
            watch.cancel()
            self.connection.execute("USE memory")
            self.connection.execute(f"DETACH {name}")

    def _kept(self, case: Case, lake: Lake) -> Outcome:
        kept, last = None, None
        for place, state in enumerate(case.history):
            for statement in statements(state, last):
                lake.run(statement)
            last = state
            try:
                if kept is None:
                    kept = Kept(lake, case.text, thorough=False)
                    kept.check()
                else:
                    kept.thorough = place in (THOROUGH, len(case.history) - 1)
                    kept.step()
            except duckdb.InterruptException:
                raise
            except UnsupportedSqlError as err:
                return Outcome(Verdict.REFUSED, str(err), err.construct)
            except _CRASHES as err:
                if invalid := self._invalid(case, lake):
                    return invalid
                return Outcome(Verdict.FAILED, f"{type(err).__name__}: {err}", type(err).__name__)
        return Outcome(Verdict.RIGHT)

    def _invalid(self, case: Case, lake: Lake) -> Outcome | None:
        try:
            lake.answer(case.text)
        except (duckdb.Error, SqlError) as err:
            return Outcome(Verdict.INVALID, str(err), type(err).__name__)
        return None

    def _ambiguous(self, case: Case, lake: Lake) -> Outcome:
        """Does the order of rows matter?"""
        last = None
        for state in case.history:
            answers = []
            for turned in (state, {name: rows[::-1] for name, rows in state.items()}):
                for statement in statements(turned, last):
                    lake.run(statement)
                last = turned
                answers.append(lake.answer(case.text))
            if answers[0] != answers[1]:
                return Outcome(Verdict.AMBIGUOUS)
        return Outcome(Verdict.RIGHT)
