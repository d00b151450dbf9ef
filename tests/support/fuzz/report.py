"""What is said about a failing case: how to see it again, what went wrong, and a small one that fails so, too."""

from __future__ import annotations

from collections.abc import Collection

from tests.support.fuzz.cases import Bench, Verdict, random_case
from tests.support.fuzz.shrink import Shrinker


def report(seed: int, without: Collection[str] = (), always: Collection[str] = (), seconds: float = 30.0) -> str:
    case, bench = random_case(seed, without, always), Bench()
    outcome = bench.run(case)
    if outcome.verdict is not Verdict.FAILED:
        return f"seed {seed} does not fail any more: {outcome.verdict}\n"
    small = Shrinker(bench, seconds).shrink(case, outcome)
    again = "".join(
        f" TRICKLE_FUZZ_{name}='{','.join(sorted(given))}'"
        for name, given in (("WITHOUT", without), ("WITH", always))
        if given
    )
    return (
        f"\nTRICKLE_FUZZ_SEED={seed}{again} pytest tests/equivalence/test_fuzz.py\n{bench.run(small).why[:2000]}\n"
        f"{small.script()}\n"
    )
