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
NEWS = 500
COLLECT = 10
"""Cases between two collections of garbage."""


@dataclass
class Totals:
    verdicts: Counter[str] = field(default_factory=Counter)
    contained: Counter[str] = field(default_factory=Counter)
    """Queries by construct."""
    kept: Counter[str] = field(default_factory=Counter)
    """Those of them that were kept, and right."""
    refused: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    """Queries that were kept and had a row at some time."""
    staged: int = 0
    """Queries that were kept with a change joined step by step."""
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)
    invalid: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Totals) -> None:
        self.verdicts += other.verdicts
        self.contained += other.contained
        self.kept += other.kept
        self.refused += other.refused
        self.rows += other.rows
        self.staged += other.staged
        self.kinds += other.kinds
        self.failures += other.failures
        self.invalid += other.invalid


def chunk(first: int, without: frozenset[str], always: frozenset[str]) -> Totals:
    totals, bench = Totals(), Bench()
    # Trees are full of cycles: looking for them after every few thousand objects takes a tenth of the time.
    gc.disable()
    for seed in range(first, first + CHUNK):
        case = random_case(seed, without, always)
        outcome = bench.run(case)
        totals.verdicts[outcome.verdict] += 1
        totals.contained.update(case.used)
        if outcome.verdict is Verdict.RIGHT:
            totals.kept.update(case.used)
            totals.rows += outcome.rows > 0
            totals.staged += outcome.staged
        elif outcome.verdict is Verdict.FAILED:
            totals.failures.append((seed, outcome))
        else:
            totals.kinds[f"{outcome.verdict}: {outcome.kind}"] += 1
            if outcome.verdict is Verdict.REFUSED:
                totals.refused.update(case.used)
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
        if totals.verdicts.total() % NEWS == 0:
            sys.stderr.write(f"so far: {dict(totals.verdicts)}\n")
        if time.monotonic() > until:
            break
    return totals


def _on_spark(asked: argparse.Namespace) -> int:
    from tests.support.fuzz.many_on_spark import many

    first: int = secrets.randbelow(1_000_000_000) if asked.seed is None else asked.seed
    return many(
        asked.cases,
        first,
        asked.seconds,
        asked.shrink,
        tiny=asked.tiny_limits,
        names=not asked.plain_names,
        values=not asked.plain_values,
        settings=not asked.plain_settings,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None, help="of the first case")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more cases after these")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--without", default="", help=f"constructs to leave out, separated by commas: {', '.join(FEATURES)}"
    )
    parser.add_argument("--with", dest="always", default="", help="constructs that every query shall have, if it can")
    parser.add_argument("--only", default="", help="leave out all other constructs")
    parser.add_argument("--shrink", type=int, default=3, help="how many failures to shrink and show")
    parser.add_argument("--spark", action="store_true", help="on Spark and Iceberg, many stream tables of one lake")
    parser.add_argument("--tiny-limits", action="store_true", help="with --spark: as if all tables were large")
    parser.add_argument("--plain-names", action="store_true", help="with --spark: no hostile names")
    parser.add_argument("--plain-values", action="store_true", help="with --spark: no extreme values")
    parser.add_argument("--plain-settings", action="store_true", help="with --spark: the session stays as it is")
    asked = parser.parse_args()
    if asked.spark:
        return _on_spark(asked)
    without = frozenset(filter(None, asked.without.split(",")))
    if asked.only:
        without |= frozenset(FEATURES) - frozenset(asked.only.split(","))
    always = frozenset(filter(None, asked.always.split(",")))
    first: int = secrets.randbelow(1_000_000_000) if asked.seed is None else asked.seed
    begun = time.monotonic()
    starts = range(first, first + asked.cases, CHUNK)
    with ProcessPoolExecutor(asked.processes) as pool:
        totals = _totals(pool.map(partial(chunk, without=without, always=always), starts), asked.seconds)
        pool.shutdown(cancel_futures=True)
    took = time.monotonic() - begun
    count = totals.verdicts.total()
    say = sys.stdout.write
    say(f"{count} cases from seed {first} in {took:.0f} s, {count / took:.0f} per second\n")
    say("".join(f"{number:8d} {name}\n" for name, number in totals.verdicts.most_common()))
    say(f"{totals.rows:8d} right with rows\n{totals.staged:8d} right and joined step by step\n")
    say("\n   cases   right refused\n")
    for name, number in totals.contained.most_common():
        say(f"{number:8d}{totals.kept[name]:8d}{totals.refused[name]:8d} {name}\n")
    say("\n" + "".join(f"{number:8d} {name}\n" for name, number in totals.kinds.most_common()))
    for seed, why in totals.invalid[:10]:
        say(f"invalid or ambiguous: seed {seed}: {why}\n")
    for seed, outcome in totals.failures:
        say(f"failed: seed {seed}: {outcome.why[:150]}\n")
    for seed, _ in totals.failures[: asked.shrink]:
        say(report(seed, without, always))
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
