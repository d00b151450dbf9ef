"""Random queries on Spark and Iceberg, through stories of everyday life, with default settings and with limits so low
that every table is a large one. Many stream tables share the tables of a lake.

`TRICKLE_FUZZ_SPARK_SEED` asks for the lake of a failure; `python -m tests.support.fuzz --spark` runs many more.
"""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from tests.support.fuzz.cases import Verdict
from tests.support.fuzz.lakes import Lake, random_lake
from tests.support.fuzz.on_spark import Told, tell
from tests.support.seeds import first_seed

QUERIES = int(os.environ.get("TRICKLE_FUZZ_SPARK_QUERIES", "25"))
CYCLES = 4
LAKES = (*((place, False) for place in range(3)), (3, True), (4, True))
"""Each with default limits, or with tiny ones."""
SEED = first_seed("TRICKLE_FUZZ_SPARK_SEED", in_ci=1001)
FEWEST = 0.7
"""Of all queries as many are kept, at the least: the others Spark or we refuse."""


@pytest.mark.parametrize(("number", "tiny"), LAKES)
def test_random_queries_are_followed_differentially_through_everyday_life(
    spark: SparkSession, number: int, tiny: bool
) -> None:
    lake = random_lake(SEED + number, QUERIES, CYCLES, tiny=tiny)
    told = tell(spark, lake)
    wrong = [each for each in told if each.verdict is Verdict.FAILED]
    if wrong:
        pytest.fail(_again(lake, wrong), pytrace=False)
    kept = [each for each in told if each.verdict is Verdict.RIGHT]
    assert len(kept) >= QUERIES * FEWEST, [each.why for each in told if each not in kept]
    assert sum(each.compared for each in kept) >= len(kept) * CYCLES * FEWEST


def _again(lake: Lake, wrong: list[Told]) -> str:
    told = "\n".join(f"query {each.number}: {each.kind}: {each.why}\n  {each.text}" for each in wrong)
    limits = " --tiny-limits" if lake.limits else ""
    return f"python -m tests.support.fuzz --spark --cases {QUERIES} --seed {lake.seed}{limits}\n{told}"
