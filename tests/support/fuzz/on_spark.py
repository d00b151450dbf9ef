"""Lakes of the fuzzer told to Spark and Iceberg: every query becomes a strict stream table, every refresh is to be
differential, and what the table holds is compared with the query itself, run by Spark on the same tables.

Where Spark has no answer (a sum that is too large), there is nothing to compare; the next state that has one is.
Needs a JVM.
"""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError, UserError
from spark_trickle.model.refresh import Action
from spark_trickle.names import quote
from tests.support.fuzz.cases import Verdict
from tests.support.fuzz.compared import Answer, alone, answers
from tests.support.fuzz.lakes import Lake, Written
from tests.support.fuzz.sources_on_spark import create, put
from tests.support.printed import Printed, difference

THREADS = 2
TOGETHER = 5
"""Queries that are asked in one job: where one of them has no answer, all are asked again."""
WORDS = 400
"""As much as is told of an error: Spark's may be pages."""
OURS = (StreamTableError,)
SPARKS = (PySparkException, Py4JJavaError)
TROUBLE = (
    *OURS,
    *SPARKS,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    AssertionError,
    RecursionError,
)
_RULES = "org.apache.spark.sql.catalyst.optimizer"
UNSHORTENED = {
    "spark.sql.optimizer.excludedRules": ",".join(
        f"{_RULES}.{rule}" for rule in ("ConstantFolding", "BooleanSimplification", "PruneFilters")
    )
}
"""Spark computes all that a query says: of `HAVING sum(v) > 1 AND 1 > 2` the sum, too, which may be too large."""
INCREMENTAL = (Action.DIFFERENTIAL, Action.NO_DATA)


@dataclass
class Told:
    """One stream table, and how it went."""

    number: int
    query: Written
    text: str
    """The query with its names in place."""
    name: str
    verdict: Verdict = Verdict.RIGHT
    kind: str = ""
    why: str = ""
    actions: list[Action] = field(default_factory=list)
    compared: int = 0
    rows: int = 0
    unanswered: int = 0
    """States at which Spark itself has no answer."""
    shortened: int = 0
    """Those of them at which it has one only because it computes less than the query says."""
    published: list[str] = field(default_factory=list)
    """Those of them at which the refresh went well all the same, and why Spark has none."""
    refreshed: bool = True
    """Did the last refresh go well?"""

    def end(self, verdict: Verdict, kind: str, why: str) -> None:
        self.verdict, self.kind, self.why = verdict, kind, why


@dataclass
class Spent:
    """Seconds, by what they went into."""

    seconds: Counter[str] = field(default_factory=Counter)

    def on(self, what: str, since: float) -> float:
        now = time.monotonic()
        self.seconds[what] += now - since  # type: ignore[assignment]
        return now


def tell(spark: SparkSession, lake: Lake, spent: Spent | None = None) -> list[Told]:
    """The whole story of a lake, in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="trickle-fuzz-")
    try:
        settings: dict[str, Any] = {"max_consecutive_errors": 1000, **lake.limits}
        with spark_trickle.connect(folder, spark=spark.newSession(), **settings) as engine:
            return _Telling(engine, lake, spent or Spent()).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class _Telling:
    engine: Engine
    lake: Lake
    spent: Spent

    def run(self) -> list[Told]:
        lake, session = self.lake, self.engine.spark
        since = time.monotonic()
        session.sql("CREATE NAMESPACE lake.elsewhere")
        for source in lake.sources:
            create(session, lake, source)
        put(session, lake, 0)
        told = [self._told(number, query) for number, query in enumerate(lake.queries)]
        for namespace in dict.fromkeys(self._parts(number)[0] for number in range(len(told))):
            session.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{quote(namespace)}")
        since = self.spent.on("tables", since)
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._create, told))
            since = self.spent.on("creating", since)
            for cycle in range(1, len(lake.history)):
                put(session, lake, cycle)
                since = self.spent.on("changing", since)
                going = [each for each in told if each.verdict is Verdict.RIGHT]
                with _set(session, lake.settings.get(cycle, {})):
                    failed = self._refresh(going, cycle)
                stuck = {each.number for each, _ in failed}
                for each in going:
                    each.refreshed = each.number not in stuck
                for each, err in failed:
                    self._judge(each, err, cycle)
                since = self.spent.on("refreshing", since)
                self._look(going, cycle)
                since = self.spent.on("comparing", since)
        return told

    def _parts(self, number: int) -> list[str]:
        """Namespace and name of a stream table."""
        return self.lake.naming.given.get(f"st{number}", f"default\0st{number}").split("\0")

    def _told(self, number: int, query: Written) -> Told:
        return Told(number, query, self.lake.naming.sql(query.text), ".".join(map(quote, self._parts(number))))

    def _create(self, each: Told) -> None:
        try:
            self.engine.create_stream_table(each.name, each.text, refresh_mode="DIFFERENTIAL", strict=True)
        except TROUBLE as err:
            refused = _refused_by_spark(self.engine.spark, each.text)
            if refused is not None:
                each.end(Verdict.INVALID, type(refused).__name__, _said(refused))
            elif isinstance(err, UserError) and "reason" in err.facts:
                each.end(Verdict.REFUSED, str(err.facts["reason"])[:60], _said(err))
            else:
                each.end(Verdict.FAILED, f"creating: {_kind(err)}", _said(err))

    def _judge(self, each: Told, err: Exception, cycle: int) -> None:
        """A refresh that failed is right to fail where Spark itself has no answer."""
        session = self.engine.spark
        if _refused_by_spark(session, each.text) is not None:
            return
        with _set(session, UNSHORTENED, moved=False):
            unshortened = _refused_by_spark(session, each.text)
        if unshortened is None:
            each.end(Verdict.FAILED, f"refreshing: {_kind(err)}", f"{self._when(cycle)}: {_said(err)}")
        else:
            each.shortened += 1

    def _refresh(self, going: Sequence[Told], cycle: int) -> list[tuple[Told, Exception]]:
        """All at one cut; where that fails, all without the one that is blamed for it, which is tried alone."""
        if not going:
            return []
        # Spark had no answer last time, and often has none now.
        stuck = [each for each in going if not each.refreshed]
        if stuck and len(going) > 1:
            well = [each for each in going if each.refreshed]
            alone = [failed for each in stuck for failed in self._refresh([each], cycle)]
            return alone + self._refresh(well, cycle)
        try:
            outcomes = self.engine.refresh_stream_tables([each.name for each in going])
        except TROUBLE as err:
            if len(going) == 1:
                return [(going[0], err)]
            member = err.facts.get("member") if isinstance(err, StreamTableError) else None
            culprits = [each for each in going if str(self.engine.status(each.name).name) == member]
            if not culprits:
                middle = len(going) // 2
                return self._refresh(going[:middle], cycle) + self._refresh(going[middle:], cycle)
            rest = [each for each in going if each not in culprits]
            return self._refresh(culprits, cycle) + self._refresh(rest, cycle)
        for each, outcome in zip(going, outcomes, strict=True):
            each.actions.append(outcome.action)
            if outcome.action not in INCREMENTAL:
                each.end(Verdict.FAILED, f"was {outcome.action}", f"{self._when(cycle)}: {outcome}")
        return []

    def _look(self, going: Sequence[Told], cycle: int) -> None:
        """Compare what is kept with Spark's own answers."""
        going = [each for each in going if each.verdict is Verdict.RIGHT]
        session = self.engine.spark
        right = answers(session, [each.text for each in going], together=TOGETHER, expected=SPARKS)
        kept = [f"SELECT * FROM {each.name}" for each in going]
        found = answers(session, kept, together=len(kept) or 1, expected=TROUBLE)
        for each, kept_rows, right_rows in zip(going, found, right, strict=True):
            self._compare(each, cycle, kept_rows, right_rows)

    def _compare(self, each: Told, cycle: int, found: Answer, right: Answer) -> None:
        roughly = bool(each.query.used & {"deviation", "avg", "median"})
        if isinstance(right, Exception) or not each.refreshed:
            each.unanswered += 1
            if each.refreshed and isinstance(right, Exception):
                each.published.append(f"{self._when(cycle)}: {_kind(right)}")
            return
        if not isinstance(found, Exception) and difference(found, right, roughly=roughly):
            # Spark has bugs with unions: what it says of the query alone counts.
            again = alone(self.engine.spark, each.text, SPARKS)
            right = right if isinstance(again, Exception) else again
        if isinstance(found, Exception):
            each.end(Verdict.FAILED, f"reading: {_kind(found)}", f"{self._when(cycle)}: {_said(found)}")
            return
        each.compared += 1
        each.rows = max(each.rows, right.total())
        kind = difference(found, right, roughly=roughly)
        if kind:
            told = f"kept too many: {_some(found - right)}; missing: {_some(right - found)}"
            each.end(Verdict.FAILED, kind, f"{self._when(cycle)}, {each.actions[-1:]}: {told}")

    def _when(self, cycle: int) -> str:
        settings = f", {self.lake.settings[cycle]}" if cycle in self.lake.settings else ""
        return f"cycle {cycle} ({self.lake.acts[cycle]}{settings})"


@contextmanager
def _set(session: SparkSession, settings: dict[str, str], *, moved: bool = True) -> Iterator[None]:
    """Meanwhile the session means other things, and is elsewhere."""
    moved = moved and bool(settings)
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    if moved:
        session.sql("USE lake.elsewhere")
    try:
        yield
    finally:
        for name, old in before.items():
            session.conf.unset(name) if old is None else session.conf.set(name, old)
        if moved:
            session.sql("USE lake.default")


def _some(rows: Printed) -> str:
    return str(dict(itertools.islice(rows.items(), 4)))[:WORDS]


def _refused_by_spark(session: SparkSession, text: str) -> Exception | None:
    try:
        session.sql(text).collect()
    except SPARKS as err:
        return err
    except (ValueError, OverflowError):
        return None  # an answer that Python cannot hold
    return None


def _kind(err: Exception) -> str:
    cause = f" from {type(err.__cause__).__name__}" if err.__cause__ is not None else ""
    condition = re.search(r"\[[A-Z_.]+\]", str(err))
    return f"{type(err).__name__}{cause} {condition.group(0) if condition else ''}".strip()


def _said(err: Exception) -> str:
    return " ".join(str(err).split())[:WORDS]
