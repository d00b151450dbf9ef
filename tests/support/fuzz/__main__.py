"""`python -m tests.support.fuzz`: many cases in several processes, with what they contained and what became of them."""

from __future__ import annotations

import argparse
import gc
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from tests.support.fuzz.cases import Bench, Outcome, Verdict, random_case
from tests.support.fuzz.queries import FEATURES
from tests.support.fuzz.report import report

CHUNK = 50
COLLECT = 10
"""Cases between two collections of garbage."""


@dataclass
class Totals:
    verdicts: Counter[str] = field(default_factory=Counter)
    contained: Counter[str] = field(default_factory=Counter)
    """Queries that were kept, by construct."""
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)
    invalid: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Totals) -> None:
        self.verdicts += other.verdicts
        self.contained += other.contained
        self.kinds += other.kinds
        self.failures += other.failures
        self.invalid += other.invalid


def chunk(first: int, without: frozenset[str]) -> Totals:
    totals, bench = Totals(), Bench()
    # Trees are full of cycles: looking for them after every few thousand objects takes a tenth of the time.
    gc.disable()
    for seed in range(first, first + CHUNK):
        case = random_case(seed, without)
        outcome = bench.run(case)
        totals.verdicts[outcome.verdict] += 1
        if outcome.verdict is Verdict.RIGHT:
            totals.contained.update(case.used)
        elif outcome.verdict is Verdict.FAILED:
            totals.failures.append((seed, outcome))
        else:
            totals.kinds[f"{outcome.verdict}: {outcome.kind}"] += 1
            if outcome.verdict is not Verdict.REFUSED:
                totals.invalid.append((seed, outcome.why.split("\n")[0][:150]))
        if seed % COLLECT == 0:
            gc.collect()
    return totals


def _totals(found: Iterator[Totals], seconds: float) -> Totals:
    totals, until = Totals(), time.monotonic() + seconds
    for each in found:
        totals.add(each)
        for seed, outcome in each.failures:
            sys.stderr.write(f"failed: seed {seed}: {outcome.why[:150]}\n")
        if time.monotonic() > until:
            break
    return totals


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None, help="of the first case")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more cases after these")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--without", default="", help=f"constructs to leave out, separated by commas: {', '.join(FEATURES)}"
    )
    parser.add_argument("--only", default="", help="leave out all other constructs")
    parser.add_argument("--shrink", type=int, default=3, help="how many failures to shrink and show")
    asked = parser.parse_args()
    without = frozenset(filter(None, asked.without.split(",")))
    if asked.only:
        without |= frozenset(FEATURES) - frozenset(asked.only.split(","))
    first: int = secrets.randbelow(1_000_000_000) if asked.seed is None else asked.seed
    begun = time.monotonic()
    starts = range(first, first + asked.cases, CHUNK)
    with ProcessPoolExecutor(asked.processes) as pool:
        totals = _totals(pool.map(partial(chunk, without=without), starts), asked.seconds)
        pool.shutdown(cancel_futures=True)
    took = time.monotonic() - begun
    count = totals.verdicts.total()
    say = sys.stdout.write
    say(f"{count} cases from seed {first} in {took:.0f} s, {count / took:.0f} per second\n")
    for title, counted in (("", totals.verdicts), ("kept, with", totals.contained), ("", totals.kinds)):
        say(f"{title}\n" + "".join(f"  {number:7d} {name}\n" for name, number in counted.most_common()))
    for seed, why in totals.invalid[:10]:
        say(f"invalid or ambiguous: seed {seed}: {why}\n")
    for seed, outcome in totals.failures:
        say(f"failed: seed {seed}: {outcome.why[:150]}\n")
    for seed, _ in totals.failures[: asked.shrink]:
        say(report(seed, without))
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
