"""Runs the queries at one scale: full times, cycles of changes, all at once, AUTO. Prints progress; returns values."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import spark_trickle as trickle
from bench.measure import Spent, spent, timed
from bench.tpch import data, queries
from bench.tpch.changes import Amounts, Shop
from bench.tpch.profile import PROFILED, profiled
from bench.tpch.report import Query, Run
from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError, UserError
from spark_trickle.model.refresh import Action, RefreshOutcome
from spark_trickle.refresh.decide import NOTHING_CHANGED

AUTO_CYCLES = 7
"""Some that may measure or go back, which makes others pay for what they shared; the last ones count."""


@dataclass(frozen=True, slots=True)
class Settings:
    queries: tuple[int, ...]
    fraction: float
    changed_rows: int | None
    cycles: int
    full: bool
    """Whether the queries are recomputed, too."""
    together: int
    """Times that all are refreshed in one call."""
    auto: bool
    profile: bool
    driver_memory: str
    again: bool = False
    """Go on with the tables and stream tables as an earlier run left them."""
    verify_last: bool = False
    """Verify after the last cycle only."""


def run(folder: Path, scale: float, settings: Settings) -> Run:
    """Everything at one scale, in a lake of its own inside the folder."""
    here = folder / f"scale-{scale:g}"
    here.mkdir(parents=True, exist_ok=True)
    say(f"scale {scale:g}: generated in {timed(lambda: data.generate(here, scale)) / 1000:.0f} s")
    lake = str(here / "lake")
    kept = PROFILED if settings.profile else {}
    with trickle.connect(lake, spark_driver_memory=settings.driver_memory, spark_conf=kept) as engine:
        _ = engine.spark  # starting it is not loading
        say(f"scale {scale:g}: loaded in {timed(lambda: data.load(engine, here)) / 1000:.0f} s")
        if not settings.again:
            data.restore(engine)
        counts = data.row_counts(engine)
        rows = settings.changed_rows or round(sum(counts.values()) * settings.fraction)
        found = Run(scale, rows, sum(counts.values()), [Query(number) for number in settings.queries])
        bench = Bench(
            engine,
            found,
            settings,
            Shop(lambda sql: engine.spark.sql(sql).collect(), Amounts.of(rows, counts), counts),
            here / "profile",
        )
        bench.create()
        for cycle in range(1, settings.cycles + 1):
            bench.cycle(cycle)
        for _ in range(settings.together):
            bench.all_at_once()
        if settings.auto:
            bench.measure_auto()
    return found


class Bench:
    """One scale's engine and what it has measured so far."""

    def __init__(self, engine: Engine, found: Run, settings: Settings, shop: Shop, plans: Path) -> None:
        self._engine = engine
        self._run = found
        self._settings = settings
        self._shop = shop
        self._plans = plans

    def create(self) -> None:
        """A strict stream table of each query; what the engine refuses is written down, with its reason."""
        there = {str(table.name) for table in self._engine.stream_tables()}
        for query in self._run.queries:
            name, text = queries.stream_table(query.number), queries.text(query.number, self._run.scale)
            if name in there:
                continue

            def make(name: str = name, text: str = text) -> None:
                self._engine.create_stream_table(name, text, strict=True)

            started = time.perf_counter()
            try:
                make()
            except StreamTableError as err:
                query.refused = f"refused: {_short(err)}" if isinstance(err, UserError) else f"FAILED: {_short(err)}"
                say(f"{name}: {query.refused}")
                continue
            query.create_ms = (time.perf_counter() - started) * 1000
            say(f"{name}: created in {query.create_ms:,.0f} ms")
            if self._settings.profile:
                say(self._engine.explain(name).delta_sql)

    def cycle(self, number: int) -> None:
        """Changes once; then each stream table has the same window before it. Each is recomputed right after its
        refresh, so that whatever else the machine does meets both."""
        say(f"cycle {number}: changed in {timed(self._shop.cycle):,.0f} ms")
        for query in self._run.queries:
            if query.refused is None:
                self._refresh(query, profile=self._settings.profile and number == self._settings.cycles)
            if self._settings.full:
                self._recompute(query)
        if number == self._settings.cycles or not self._settings.verify_last:
            self._verify(f"cycle {number}")

    def all_at_once(self) -> None:
        """All of them in one call, at one cut."""
        self._shop.cycle()
        alive = self._alive()
        names = [queries.stream_table(query.number) for query in alive]
        if not names:
            return
        outcomes: list[RefreshOutcome] = []

        def refresh() -> None:
            outcomes.extend(self._engine.refresh_stream_tables(names))

        try:
            took = self._timed(refresh, "together", profile=self._settings.profile)
        except StreamTableError as err:
            self._run.together_wrong.append(f"all at once failed: {_short(err)}")
            say(self._run.together_wrong[-1])
            return
        self._run.together_ms.append(took.ms)
        self._run.together_cpu_s.append(took.cpu_s)
        self._run.together_jobs.append(sum(outcome.jobs for outcome in outcomes))
        say(f"all at once: {took.ms:,.0f} ms, {took.cpu_s:.1f} s CPU, {self._run.together_jobs[-1]} jobs")
        self._run.together_wrong += [
            f"all at once: {said}" for outcome in outcomes if (said := _not_differential(outcome))
        ]
        self._verify("all at once")

    def measure_auto(self) -> None:
        """Without strict the engine may choose. The first refreshes teach it what either way takes."""
        alive = self._alive()
        for query in alive:
            self._engine.alter_stream_table(queries.stream_table(query.number), strict=False)
        for _ in range(AUTO_CYCLES):
            self._shop.cycle()
            for query in alive:
                self._refresh_auto(query)
        self._verify("AUTO")

    def _refresh_auto(self, query: Query) -> None:
        name = queries.stream_table(query.number)
        started = time.perf_counter()
        try:
            outcome = self._engine.refresh_stream_table(name)
        except StreamTableError as err:
            query.wrong.append(f"{name}: AUTO failed: {_short(err)}")
            return
        query.autos_ms.append((time.perf_counter() - started) * 1000)
        query.auto_action = outcome.action.value
        say(f"{name}: AUTO {query.autos_ms[-1]:,.0f} ms, {outcome.action} {outcome.reason or ''}")

    def _refresh(self, query: Query, *, profile: bool) -> None:
        name = queries.stream_table(query.number)
        outcomes: list[RefreshOutcome] = []
        try:
            took = self._timed(lambda: outcomes.append(self._engine.refresh_stream_table(name)), name, profile=profile)
        except StreamTableError as err:
            query.refused = f"FAILED: {_short(err)}"
            query.wrong.append(f"{name}: {query.refused}")
            say(query.wrong[-1])
            return
        (outcome,) = outcomes
        query.cycles_ms.append(took.ms)
        query.cycles_cpu_s.append(took.cpu_s)
        query.jobs, query.commits = max(query.jobs, outcome.jobs), max(query.commits, outcome.commits)
        if said := _not_differential(outcome):
            query.wrong.append(said)
        say(
            f"{name}: {took.ms:,.0f} ms, {took.cpu_s:.1f} s CPU, {outcome.jobs} jobs, {outcome.commits} commits, "
            f"+{outcome.rows_inserted:,} -{outcome.rows_deleted:,} rows"
        )

    def _recompute(self, query: Query) -> None:
        """Spark's own way to the same table, for refused queries too."""
        name, text = queries.stream_table(query.number), queries.text(query.number, self._run.scale)
        statement = f"CREATE OR REPLACE TABLE bench_full_{name} USING iceberg AS {text}"
        took = spent(self._engine, lambda: self._engine.spark.sql(statement))
        query.fulls_ms.append(took.ms)
        query.fulls_cpu_s.append(took.cpu_s)
        say(f"{name}: {took.ms:,.0f} ms, {took.cpu_s:.1f} s CPU in full")

    def _timed(self, work: Callable[[], object], name: str, *, profile: bool) -> Spent:
        if not profile:
            return spent(self._engine, work)
        took: list[Spent] = []
        said = profiled(self._engine.spark, lambda: took.append(spent(self._engine, work)), self._plans / f"{name}.txt")
        say(f"{name}:\n{said}")
        return took[0]

    def _verify(self, when: str) -> None:
        for query in self._alive():
            name = queries.stream_table(query.number)
            verification = self._engine.verify(name)
            if not verification.ok:
                query.wrong.append(
                    f"{name} after {when}: {verification.missing_rows} rows missing, "
                    f"{verification.unexpected_rows} unexpected: {'; '.join(verification.sample[:4])[:400]}"
                )
                say(f"WRONG: {query.wrong[-1]}")
        say(f"{when}: verified {len(self._alive())}")

    def _alive(self) -> list[Query]:
        return [query for query in self._run.queries if query.refused is None]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _not_differential(outcome: RefreshOutcome) -> str | None:
    """What is wrong with an outcome: at small scales a change that was computed may leave the result as it is."""
    if outcome.action is Action.DIFFERENTIAL:
        return None
    if outcome.action is Action.NO_DATA and outcome.reason != NOTHING_CHANGED:
        return None
    return f"{outcome.name} ran {outcome.action}: {outcome.reason}"


def _short(err: Exception) -> str:
    return " ".join(str(err).split())[:300]


def numbers(text: str) -> Sequence[int]:
    """`1,3,5-7` as numbers of queries."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    unknown = set(found) - set(queries.NUMBERS)
    if unknown:
        raise ValueError(f"no query {sorted(unknown)}")
    return sorted(set(found))
