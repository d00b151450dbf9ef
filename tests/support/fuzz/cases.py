"""One case of the fuzzer: tables, a history and a query from a seed; kept through the history, with a verdict."""

from __future__ import annotations

import itertools
import re
import threading
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any

import duckdb
from sqlglot.errors import SqlglotError

from spark_trickle.errors import SqlError, StreamTableError, UnsupportedSqlError
from tests.support.duck import Kept, Lake, Row, duck_name
from tests.support.fuzz.queries import FEATURES, NEEDS, random_query
from tests.support.fuzz.schema import History, Source, random_history, random_sources, statements

WINDOWS = (2, 2, 2, 4)
"""Refreshes of a case. Few: other queries find more than longer histories."""
THOROUGH = 2
"""What is made on the way is looked at in this window and in the last one; the answer in each."""
NONE_LARGE, ALL_LARGE, SOME_LARGE = 0, 1, 2
"""Which leaves count as large; from the last number on about half of them, others for each number."""
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
    large: int = 0
    """Which leaves count as large, so that changes are joined with them step by step."""

    def is_large(self, leaf: str) -> bool:
        """None, all, or about half of them: the same ones for the same name, whatever else is left out."""
        if self.large in (NONE_LARGE, ALL_LARGE):
            return self.large == ALL_LARGE
        return zlib.crc32(f"{self.large} {leaf}".encode()) % 2 == 1

    def script(self) -> str:
        """What happens, as statements for DuckDB; a refresh is a comment."""
        lines = ["CREATE SCHEMA after;"]
        lines += [f"CREATE TABLE after.{table.name} ({table.columns});" for table in map(Source.declared, self.sources)]
        last = None
        for state in self.history:
            lines += [f"{statement};" for statement in statements(state, last)]
            lines.append("-- create the stream table" if last is None else "-- refresh")
            last = state
        lines += [f"-- large: {source.name}" for source in self.sources if self.is_large(source.name)]
        return "\n".join((*lines, f"{self.text};"))


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    why: str = ""
    kind: str = ""
    """What failed or was refused, in a word."""
    rows: int = 0
    """Of the answer, at its largest."""
    staged: bool = False
    """Was a change joined step by step?"""


def some_features(random: Random) -> frozenset[str]:
    """Few or many constructs for one query, so that they meet in every way."""
    share = random.choice((0.25, 0.4, 0.6))
    chosen = frozenset(feature for feature in FEATURES if random.random() < share)
    return chosen.union(*(NEEDS[feature] for feature in FEATURES if feature in chosen and feature in NEEDS))


def random_case(seed: int, without: Collection[str] = (), always: Collection[str] = ()) -> Case:
    random = Random(seed)
    features = some_features(random) - frozenset(without)
    sources = random_sources(random)
    query, writer = random_query(random, sources, features, frozenset(always))
    read = tuple(source for source in sources if re.search(rf"\b{source.name}\b", query.text))
    history = random_history(random, read or sources[:1], random.choice(WINDOWS))
    large = random.choice((NONE_LARGE, ALL_LARGE, *(SOME_LARGE + random.randrange(1000) for _ in range(3))))
    return Case(read or sources[:1], history, query.text, frozenset(writer.used), large)


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
        if not sql.startswith('DESCRIBE "after"."'):
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
        kept, last, rows = None, None, 0
        for place, state in enumerate(case.history):
            for statement in statements(state, last):
                lake.run(statement)
            last = state
            try:
                if kept is None:
                    kept = Kept(lake, case.text, thorough=False)
                    large = [leaf for leaf in kept.leaves if case.is_large(str(leaf))]
                    kept.large = {leaf: case.large % (place + 2) for place, leaf in enumerate(large)}
                    kept.check()
                else:
                    kept.thorough = place in (THOROUGH, len(case.history) - 1)
                    kept.step()
            except duckdb.InterruptException:
                raise
            except UnsupportedSqlError as err:
                return Outcome(Verdict.REFUSED, str(err), err.construct)
            except _CRASHES as err:
                if isinstance(err, duckdb.Error) and "INTERRUPT" in str(err):
                    return Outcome(Verdict.SLOW)  # DuckDB has several ways to say so
                if invalid := self._invalid(case, lake):
                    return invalid
                return Outcome(Verdict.FAILED, f"{type(err).__name__}: {err}", type(err).__name__)
            rows = max(rows, lake.run(f"SELECT COUNT(*) FROM {duck_name(kept.maintenance.public.leaf)}")[0][0])
        assert kept is not None
        return Outcome(Verdict.RIGHT, rows=rows, staged=bool(kept.large) and kept.staged)

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
