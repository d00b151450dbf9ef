"""A failing case of Spark made small: alone in its lake, with plain names and default limits if it still fails, then
with fewer states, rows and parts of its query. Coarse: each try is a lake of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from tests.support.fuzz.cases import Case, Outcome, Verdict
from tests.support.fuzz.lakes import Lake, Written
from tests.support.fuzz.names import PLAIN
from tests.support.fuzz.on_spark import Told, tell
from tests.support.fuzz.shrink import Shrinker
from tests.support.fuzz.sources_on_spark import script


@dataclass
class SparkBench:
    """Runs one case alone, as the lake says."""

    spark: SparkSession
    lake: Lake

    def run(self, case: Case) -> Outcome:
        told = tell(self.spark, placed(self.lake, case))[0]
        return Outcome(told.verdict, told.why, told.kind, rows=told.rows)


def placed(lake: Lake, case: Case) -> Lake:
    acts = lake.acts if len(case.history) == len(lake.acts) else ("",) * len(case.history)
    query = Written(case.text, case.used)
    return replace(lake, sources=case.sources, history=case.history, acts=acts, queries=(query,))


def shrunk(spark: SparkSession, lake: Lake, failed: Told, seconds: float) -> str:
    """What to run to see it again, as statements."""
    case = Case(lake.sources, lake.history, failed.query.text, failed.query.used)
    bench = SparkBench(spark, lake.alone(failed.query))
    if not _fails(bench.run(case), failed):
        return f"seed {lake.seed}, query {failed.number}: does not fail alone\n{failed.why}\n{failed.text}\n"
    for simpler in _simpler(bench.lake):
        if _fails(SparkBench(spark, simpler).run(case), failed):
            bench = SparkBench(spark, simpler)
            break
    small = Shrinker(bench, seconds).shrink(case, Outcome(Verdict.FAILED, failed.why, failed.kind))
    lake = placed(bench.lake, small)
    return (
        f"seed {bench.lake.seed}, query {failed.number}: {failed.kind}\n{bench.run(small).why}\n"
        f"limits: {lake.limits}\n{script(lake)}\n"
    )


def _simpler(lake: Lake) -> Iterator[Lake]:
    """With plain names, default limits and no other settings: all at once, or one of them."""
    tried = [
        replace(lake, naming=PLAIN, limits={}, settings={}),
        replace(lake, naming=PLAIN, settings={}),
        replace(lake, limits={}, settings={}),
        replace(lake, naming=PLAIN, limits={}),
    ]
    yield from (each for each in tried if each != lake)


def _fails(outcome: Outcome, like: Told) -> bool:
    return outcome.verdict is Verdict.FAILED and outcome.kind == like.kind
