"""What goes on in the lake of the long runs besides scheduling: somebody writes, somebody reads, somebody mends; how
often each did, and what was wrong.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.engine import Engine
from spark_trickle.holds.gate_report import BootstrapGateStatus
from spark_trickle.model.frontier import Pin, commit_number
from spark_trickle.model.fuse import FuseAction
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import Status
from spark_trickle.names import TableName
from tests.faults import ladder, market
from tests.faults.watch import Watch
from tests.spark.engines import opened


@dataclass(frozen=True)
class Closed:
    """A gate that was closed for a while: whoever read the lake at these generations has seen that it is."""

    gate: BootstrapGateStatus
    head: int
    """The version of the source, read after it was closed."""
    since: int
    """Read after it was closed."""
    until: int
    """Read before it was opened."""


@dataclass
class Run:
    """One lake, and all that happens to it."""

    folder: Path
    catalog: str
    spark: SparkSession
    depth: int
    """So many diamonds one below the other."""
    seed: int = 1
    over: threading.Event = field(default_factory=threading.Event)
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Of whoever writes: Iceberg refuses a DELETE that another one overtook, and that is not the question here."""
    files: threading.Lock = field(default_factory=threading.Lock)
    """Of whoever needs the files of the sources: one of them is away at times."""
    watch: Watch = field(default_factory=Watch)
    gates: list[Closed] = field(default_factory=list)
    """All that were closed and opened again."""
    seen: dict[TableName, tuple[Pin, ...]] = field(default_factory=dict)
    """What was published when somebody looked last."""
    market: market.Market = field(init=False)

    def __post_init__(self) -> None:
        self.market = market.Market(random.Random(self.seed + 10), self.counts)

    @property
    def names(self) -> tuple[str, ...]:
        """All stream tables."""
        return (*ladder.names(self.depth), *market.NAMES)

    def opened(self) -> AbstractContextManager[Engine]:
        """Another engine on the same lake."""
        return opened(self.spark, self.folder, catalog=self.catalog, allow_circular=True)

    def build(self, engine: Engine) -> None:
        ladder.build(engine, self.depth)
        market.build(engine)

    def write(self, more: Callable[[], object] = lambda: None) -> None:
        """Again and again.

        Args:
            more: waits until more should be written; then there are many ticks with a little to do each.
        """
        dice, number = random.Random(self.seed), 10
        with self.opened() as engine:
            while not self.over.wait(2 * dice.random()):
                more()
                number += 1
                with self.turn:
                    if dice.random() < 0.4:
                        ladder.write_once(engine, dice, number)
                    else:
                        self.market.trade(engine)
                self.counts["writes"] += 1

    def read(self) -> None:
        """All at one moment, again and again; every so often whether a table is what its query gives."""
        dice = random.Random(self.seed + 1)
        catalog = Catalog.open(self.catalog)
        with self.opened() as engine:
            # Those who schedule need the machine, too.
            while not self.over.wait(2 * dice.random()):
                self.look(engine, catalog)
                if self.counts["reads"] % 5 == 0:
                    self.verify(engine, dice.choice(self.names))
        catalog.close()

    def look(self, engine: Engine, catalog: Catalog) -> None:
        """Whether all that readers see at a moment belongs together."""
        cut = catalog.cut()
        self.violations += self.watch.wrong(cut)
        if self.seen == (published := {name: table.published for name, table in cut.tables.items()}):
            return
        self.seen = published
        self.totals_agree(engine)
        with self.files:
            self.violations += self.market.wrong(engine, cut)
        self.counts["reads"] += 1

    def totals_agree(self, engine: Engine) -> None:
        read = ladder.totals(self.depth)
        union = " UNION ALL ".join(f"SELECT region_total, product_total FROM {name}" for name in read)
        with engine.snapshot(read) as snap:
            seen = {value for row in snap.sql(union).collect() for value in row}
        if len(seen) != 1:
            self.violations.append(f"totals that differ: {seen}")

    def verify(self, engine: Engine, name: str) -> None:
        if not engine.status(name).populated:
            return
        with self.files:
            found = engine.verify(name)
        if not found.ok and found.diverged is None:
            self.violations.append(f"'{name}' is not its query's answer at its frontier: {found.sample}")
        self.counts["verified"] += 1

    def head(self, source: str) -> int:
        """The version of a source."""
        catalog, name = Catalog.open(self.catalog), TableName.parse(source)
        try:
            return commit_number(catalog.pointers([name])[name].location)
        finally:
            catalog.close()

    def generation(self) -> int:
        catalog = Catalog.open(self.catalog)
        try:
            return catalog.generation()
        finally:
            catalog.close()

    def gates_held(self) -> None:
        """Whether a scheduler refreshed anything at a cut that has a gate which holds it. The moment at which it did
        tells nothing: a unit late in a tick reads what the tick read at its start. But then it has nothing of what was
        written behind the gate."""
        catalog = Catalog.open(self.catalog)
        done = catalog.history(limit=None)
        catalog.close()
        before = 0
        for row in done:
            if row.initiated_by != "SCHEDULER" or row.status is not Outcome.COMPLETED:
                continue
            assert row.generation is not None
            for closed in self.gates:
                if row.name not in closed.gate.affected_stream_tables:
                    continue
                if closed.since <= row.generation <= closed.until:
                    wrong = f"'{row.name}' was refreshed at a cut at which '{closed.gate.source_table}' is gated"
                    self.violations += [wrong] if wrong not in self.violations else []
                if closed.gate.gated_at < row.started_at and row.generation < closed.since:
                    before += 1
                    pin = row.frontier.of(TableName.parse(closed.gate.source_table))
                    if pin is not None and commit_number(pin.location) > closed.head:
                        wrong = f"'{row.name}' has what was written behind the gate of '{closed.gate.source_table}'"
                        self.violations += [wrong] if wrong not in self.violations else []
        self.counts["behind a gate, of a cut before it"] = before

    def mend(self, engine: Engine, action: FuseAction | None = None) -> None:
        """What somebody does who was told that something does not go on; with blown fuses this, or anything."""
        for gate in engine.source_gates():
            if gate.gated:
                engine.ungate_source(gate.source_table)
        if engine.spark.sql(f"SELECT 1 FROM sales WHERE amount = {ladder.POISON} LIMIT 1").collect():
            engine.sql(f"DELETE FROM sales WHERE amount = {ladder.POISON}")
        self.market.reset(engine, action)
        for table in engine.stream_tables():
            if table.status not in (Status.ERROR, Status.SUSPENDED):
                continue
            engine.resume_stream_table(str(table.name))
            if table.diverged is not None:
                engine.refresh_stream_table(str(table.name), mode="FULL")
                self.counts["rebuilt"] += 1
