"""Random queries over random tables equal their recomputation after every refresh; a failure comes shrunk.

`TRICKLE_FUZZ_CASES` asks for more cases, `TRICKLE_FUZZ_SEED` for one that failed.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter

import pytest

from tests.support.fuzz.cases import Bench, Verdict, random_case
from tests.support.fuzz.report import report

CHUNKS = 8
"""For the workers to share."""
CASES = int(os.environ.get("TRICKLE_FUZZ_CASES", "320"))
SEED = os.environ.get("TRICKLE_FUZZ_SEED")
WITHOUT = tuple(filter(None, os.environ.get("TRICKLE_FUZZ_WITHOUT", "").split(",")))
INVALID_SHARE = 0.05


@pytest.mark.parametrize("part", range(1 if SEED else CHUNKS))
def test_random_queries_equal_their_recomputation_after_every_refresh(part: int) -> None:
    count = 1 if SEED else max(CASES // CHUNKS, 1)
    first = int(SEED) if SEED else secrets.randbelow(1_000_000_000)
    bench, verdicts = Bench(), Counter[Verdict]()
    for seed in range(first, first + count):
        outcome = bench.run(random_case(seed, WITHOUT))
        verdicts[outcome.verdict] += 1
        if outcome.verdict is Verdict.FAILED:
            pytest.fail(report(seed, WITHOUT), pytrace=False)
    wrong = verdicts[Verdict.INVALID] + verdicts[Verdict.AMBIGUOUS]
    assert wrong <= 2 + INVALID_SHARE * count, f"from seed {first}: {verdicts}"
