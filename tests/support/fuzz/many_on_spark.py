"""`python -m tests.support.fuzz --spark`: many lakes in one JVM, with what they contained and what became of them."""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

import spark_trickle
from tests.support.fuzz.cases import Verdict
from tests.support.fuzz.lakes import Lake, random_lake
from tests.support.fuzz.on_spark import SPARKS, Spent, Told, tell
from tests.support.fuzz.shrink_on_spark import shrunk

QUERIES = 20
"""Of one lake."""
CYCLES = 4
CHEAP = {
    "spark.sql.shuffle.partitions": "1",
    # Tiny tables: compiling takes longer than it saves.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    " -Xms1500m -Xmn1g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass
class Totals:
    verdicts: Counter[str] = field(default_factory=Counter)
    contained: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    unanswered: int = 0
    shortened: int = 0
    published: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    failures: list[tuple[Lake, Told]] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)

    def add(self, lake: Lake, told: list[Told]) -> None:
        for each in told:
            self.verdicts[each.verdict] += 1
            self.actions.update(str(action) for action in each.actions)
            self.compared += each.compared
            self.unanswered += each.unanswered
            self.shortened += each.shortened
            self.published.update(why.rpartition("): ")[2] for why in each.published)
            if each.verdict is Verdict.RIGHT:
                self.rows += each.rows > 0
                self.contained.update(each.query.used)
            else:
                self.kinds[f"{each.verdict}: {each.kind}"] += 1
            if each.verdict is Verdict.FAILED:
                self.failures.append((lake, each))

    def text(self) -> str:
        parts = [
            *(f"{number:8d} {name}" for name, number in self.verdicts.most_common()),
            f"{self.rows:8d} right with rows",
            f"{self.compared:8d} comparisons, {self.unanswered} states without an answer of Spark's",
            f"{self.shortened:8d} of them with one only because Spark computes less than the query says",
            *(
                f"{number:8d} of them were published all the same: {why}"
                for why, number in self.published.most_common()
            ),
            *(f"{number:8d} refreshes were {name}" for name, number in self.actions.most_common()),
            "seconds: " + ", ".join(f"{what} {seconds:.0f}" for what, seconds in self.spent.seconds.items()),
            "",
            *(f"{number:8d} right with {name}" for name, number in self.contained.most_common()),
            "",
            *(f"{number:8d} {name}" for name, number in self.kinds.most_common()),
        ]
        return "\n".join(parts)


def _remember_packages(spark: SparkSession) -> None:
    """PySpark asks the JVM whether `org` is a class, `org.apache` is one …, each time it needs one: the JVM looks into
    all jars for that.
    """
    for path in ("org.apache.spark.sql.classic", "org.apache.spark.api.python", "py4j.reflection", "PythonSQLUtils"):
        place: Any = spark._jvm
        for name in path.split("."):
            found = getattr(place, name)
            setattr(place, name, found)
            place = found


def many(
    cases: int, first: int, seconds: float, shrink: int, *, tiny: bool, names: bool, values: bool, settings: bool
) -> int:
    """Run about so many cases."""
    totals, begun, say = Totals(), time.monotonic(), sys.stdout.write
    # What Spark refuses is no case: it need not fill pages.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    with spark_trickle.connect(
        tempfile.mkdtemp(prefix="trickle-fuzz-"), spark_master="local[2]", spark_conf=CHEAP
    ) as engine:
        _remember_packages(engine.spark)
        for seed in range(first, first + -(-cases // QUERIES)):
            lake = random_lake(seed, QUERIES, CYCLES, tiny=tiny, names=names, values=values, settings=settings)
            since, before = time.monotonic(), len(totals.failures)
            told: list[Told] = []
            try:
                told = tell(engine.spark, lake, totals.spent)
                totals.add(lake, told)
            except SPARKS as err:
                say(f"lake {seed}: its own statements fail: {str(err)[:300]}\n")
            say(f"lake {seed}: {time.monotonic() - since:.0f} s; so far {dict(totals.verdicts)}\n")
            for _, failed in totals.failures[before:]:
                say(f"  failed: query {failed.number}: {failed.kind}: {failed.why}\n    {failed.text}\n")
            for each in told:
                for why in each.published:
                    say(f"  published without an answer: query {each.number}: {why}\n    {each.text}\n")
            sys.stdout.flush()
            if time.monotonic() - begun > seconds:
                break
        count, took = totals.verdicts.total(), time.monotonic() - begun
        profile = "tiny limits" if tiny else "default limits"
        say(f"{count} cases on Spark from seed {first} in {took:.0f} s, {profile}\n{totals.text()}\n")
        for lake, failed in totals.failures[:shrink]:
            say(f"\n{shrunk(engine.spark, lake, failed, 120.0)}")
            sys.stdout.flush()
    return 1 if totals.failures else 0
