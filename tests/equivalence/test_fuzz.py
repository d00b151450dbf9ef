"""Random queries over random tables equal their recomputation after every refresh; a failure comes shrunk.

As many as fit into some seconds; `TRICKLE_FUZZ_CASES` asks for a number, `TRICKLE_FUZZ_SEED` for one that failed.
"""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest

from tests.support.fuzz.cases import Bench, Case, Outcome, Verdict, random_case
from tests.support.fuzz.report import report
from tests.support.fuzz.schema import Kind, Source, SourceColumn
from tests.support.fuzz.shrink import Shrinker
from tests.support.seeds import IN_CI, first_seed

CHUNKS = 8
"""For the workers to share."""
CASES = int(os.environ.get("TRICKLE_FUZZ_CASES", "0"))
SECONDS = 2.5
"""Of each chunk, if no number is asked for."""
FEWEST = 5
IN_CI_CASES = 30
"""At the most, of each chunk: the same ones each time, however fast the machine is."""
SEED = os.environ.get("TRICKLE_FUZZ_SEED")
WITHOUT = tuple(filter(None, os.environ.get("TRICKLE_FUZZ_WITHOUT", "").split(",")))
ALWAYS = tuple(filter(None, os.environ.get("TRICKLE_FUZZ_WITH", "").split(",")))
INVALID_SHARE = 0.05


@pytest.mark.parametrize("part", range(1 if SEED else CHUNKS))
def test_random_queries_equal_their_recomputation_after_every_refresh(part: int) -> None:
    most = 1 if SEED else CASES // CHUNKS or (IN_CI_CASES if IN_CI else 10_000)
    first = int(SEED) if SEED else first_seed("TRICKLE_FUZZ_FIRST") + part * 1_000_000
    bench, verdicts = Bench(), Counter[Verdict]()
    until = time.monotonic() + SECONDS
    for seed in range(first, first + most):
        outcome = bench.run(random_case(seed, WITHOUT, ALWAYS))
        verdicts[outcome.verdict] += 1
        if outcome.verdict is Verdict.FAILED:
            pytest.fail(report(seed, WITHOUT, ALWAYS), pytrace=False)
        if not CASES and verdicts.total() >= FEWEST and time.monotonic() > until:
            break
    wrong = verdicts[Verdict.INVALID] + verdicts[Verdict.AMBIGUOUS]
    assert wrong <= 2 + INVALID_SHARE * verdicts.total(), f"from seed {first}: {verdicts}"


class BrokenDistinct(Bench):
    """As if DISTINCT of 7 were wrong, from the second state on."""

    def run(self, case: Case) -> Outcome:
        outcome = super().run(case)
        bad = "DISTINCT" in case.text and any((7, "a") in state["t0"] for state in case.history[1:])
        return Outcome(Verdict.FAILED, kind="wrong") if outcome.verdict is Verdict.RIGHT and bad else outcome


def test_a_failing_case_shrinks_to_what_makes_it_fail() -> None:
    columns = (SourceColumn("i0", Kind.INT, "INTEGER", False), SourceColumn("s1", Kind.TEXT, "VARCHAR", False))
    sources = (Source("t0", columns), Source("t1", columns))
    text = (
        "WITH w AS (SELECT i0, s1 FROM t1 WHERE i0 > 1) SELECT x.c0 AS c0, w.s1 AS c1 FROM (SELECT DISTINCT "
        "a.i0 + 1 AS c0, UPPER(a.s1) AS c1 FROM t0 AS a JOIN t1 AS b ON a.i0 = b.i0 WHERE a.i0 > 0 OR b.s1 = 'x') AS x "
        "JOIN w ON w.i0 = x.c0"
    )
    empty = {"t0": (), "t1": ((1, "x"),)}
    full = {"t0": ((7, "a"), (8, "b"), (None, None)), "t1": ((1, "x"), (7, "y"))}
    bench = BrokenDistinct()
    small = Shrinker(bench).shrink(
        Case(sources, (empty, empty, full, empty, full), text), Outcome(Verdict.FAILED, kind="wrong")
    )
    assert small.history == ({"t0": ()}, {"t0": ((7, "a"),)})
    assert len(small.text) < len("SELECT DISTINCT a.i0 + 1 AS c0 FROM t0 AS a"), small.text
