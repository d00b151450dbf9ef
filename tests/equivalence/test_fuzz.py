"""Random queries over random tables equal their recomputation after every refresh; a failure comes shrunk.

As many as fit into some seconds; `TRICKLE_FUZZ_CASES` asks for a number, `TRICKLE_FUZZ_SEED` for one that failed.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter

import pytest

from tests.support.fuzz.cases import Bench, Verdict, random_case
from tests.support.fuzz.report import report

CHUNKS = 8
"""For the workers to share."""
CASES = int(os.environ.get("TRICKLE_FUZZ_CASES", "0"))
SECONDS = 2.5
"""Of each chunk, if no number is asked for."""
FEWEST = 5
SEED = os.environ.get("TRICKLE_FUZZ_SEED")
WITHOUT = tuple(filter(None, os.environ.get("TRICKLE_FUZZ_WITHOUT", "").split(",")))
INVALID_SHARE = 0.05


@pytest.mark.parametrize("part", range(1 if SEED else CHUNKS))
def test_random_queries_equal_their_recomputation_after_every_refresh(part: int) -> None:
    most = 1 if SEED else CASES // CHUNKS or 10_000
    first = int(SEED) if SEED else secrets.randbelow(1_000_000_000)
    bench, verdicts = Bench(), Counter[Verdict]()
    until = time.monotonic() + SECONDS
    for seed in range(first, first + most):
        outcome = bench.run(random_case(seed, WITHOUT))
        verdicts[outcome.verdict] += 1
        if outcome.verdict is Verdict.FAILED:
            pytest.fail(report(seed, WITHOUT), pytrace=False)
        if not CASES and verdicts.total() >= FEWEST and time.monotonic() > until:
            break
    wrong = verdicts[Verdict.INVALID] + verdicts[Verdict.AMBIGUOUS]
    assert wrong <= 2 + INVALID_SHARE * verdicts.total(), f"from seed {first}: {verdicts}"
