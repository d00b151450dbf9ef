"""Writers, gates, failures, two schedulers that are killed and started again: no reader ever sees a split version.

Four diamonds one below the other over a toy lake. All along, somebody writes to the sources and somebody reads cuts: in
each, every stream table is what its query gives at its frontier, and where paths meet there is one version of each
base table. Beside them a report over two summaries is held back by a watermark group: it is of one moment, always; and
three that read each other always hold the same.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import timedelta
from pathlib import Path

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.model.frontier import commit_number
from spark_trickle.model.gate import GateChange
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import Options
from spark_trickle.model.watermark import Advance, WatermarkGroup, WatermarkMode
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON
from tests.support.toy_lake import ToyLake, contents_of, merged, new_version

T = TableName.parse
ROOT = Path(__file__).parents[2]
LENGTH = int(os.environ.get("TRICKLE_STORM_LENGTH", "1"))
DEPTH = 4
SIDES = ("left", "right")
RING = ("ring0", "ring1", "ring2")


@pytest.fixture
def url(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return f"sqlite:///{tmp_path}/trickle.db" if database == "sqlite" else str(request.getfixturevalue("postgres_url"))


def build(lake: ToyLake) -> None:
    for base in ("orders", "lines"):
        lake.write(T(base))
    known: set[TableName] = set()
    above = "orders"
    for i in range(DEPTH):
        for name, reads in (
            (f"region{i}", [above]),
            (f"product{i}", [above, "lines"]),
            (f"total{i}", [f"region{i}", f"product{i}", "orders"]),
        ):
            known.add(T(name))
            lake.create(T(name), [T(each) for each in reads], Options(schedule="1s"), known)
        above = f"total{i}"
    # One that nothing holds together with the others.
    lake.create(T("alone"), [T("lines")], Options(schedule="1s"), known)
    # Three that read each other, below a diamond; none of them is ever ahead of the others.
    known |= {T(name) for name in RING}
    for i, name in enumerate(RING):
        lake.create(T(name), [T(RING[i - 1]), T(("total0", "lines", "orders")[i])], Options(schedule="1s"), known)
    known |= {T("left_sum"), T("right_sum")}
    for base in SIDES:
        lake.write(T(base))
        lake.create(T(f"{base}_sum"), [T(base)], Options(schedule="1s"), known)
    lake.create(T("both"), [T("left_sum"), T("right_sum")], Options(schedule="1s"), known)
    sides = tuple(T(base) for base in SIDES)
    group = WatermarkGroup(name="g", sources=sides, mode=WatermarkMode.HOLD_BACK, created_at=NOON)
    lake.catalog.add_watermark_group(group)


def check(cut: Cut) -> None:
    for name, table in cut.tables.items():
        if not table.populated:
            continue
        contents = contents_of(cut.pointers[name].location)
        assert contents == merged(contents_of(pin.location) for pin in table.frontier.pins), name
        assert all(len(versions) == 1 for versions in contents.values()), (name, contents)
    round_it = [contents_of(cut.pointers[T(name)].location) for name in RING]
    assert round_it[0] == round_it[1] == round_it[2], "a round of a circle was seen"


class Storm:
    """Everything that goes on besides scheduling."""

    def __init__(self, url: str, seed: int) -> None:
        self.url = url
        self.dice = random.Random(seed)
        self.over = threading.Event()
        self.checks = self.writes = self.kills = 0
        self.loads: list[tuple[TableName, int]] = []
        self.complete: dict[int, int] = {}
        """Up to when a version of a side is complete."""
        self.moments: set[int] = set()
        """That readers saw in the report."""
        self.schedulers: list[subprocess.Popen[bytes]] = []

    def write(self) -> None:
        catalog = Catalog.open(self.url)
        lake, dice = ToyLake(catalog), random.Random(1)
        while not self.over.wait(dice.random() * 0.05):
            lake.write(T(dice.choice(["orders", "lines"])), no_rows=dice.random() < 0.2)
            self.writes += 1
            self.advance(catalog, T(dice.choice(SIDES)))
            if dice.random() < 0.1:
                gate = GateChange(source=T("lines"), gated=dice.random() < 0.5, at=NOON, by="storm")
                catalog.change_gates([gate])
        catalog.close()

    def advance(self, catalog: Catalog, side: TableName) -> None:
        """Load the next hour, with its watermark in the same commit; then something of the hour after, without."""
        before = catalog.pointers([side])[side].location
        hour = 1 + sum(1 for at, _ in self.loads if at == side)
        loaded, begun = new_version(side), new_version(side)
        self.complete[commit_number(loaded.location)] = hour
        self.loads.append((side, commit_number(loaded.location)))
        mark = Advance(source=side, watermark=NOON + timedelta(hours=hour), at=NOON, by="storm")
        catalog.publish(Publication(swaps=(Swap(side, before, loaded.location),), watermarks=(mark,)))
        catalog.swap([Swap(side, loaded.location, begun.location)])

    def read(self) -> None:
        catalog = Catalog.open(self.url)
        while not self.over.is_set():
            cut = catalog.cut()
            check(cut)
            self.of_one_moment(cut)
            self.checks += 1
        catalog.close()

    def of_one_moment(self, cut: Cut) -> None:
        if cut.tables[T("both")].populated:
            seen = contents_of(cut.pointers[T("both")].location)
            (left,), (right,) = (seen[T(side)] for side in SIDES)
            assert self.complete[left] == self.complete[right], "rows of an hour that is not complete on both sides"
            self.moments.add(self.complete[left])

    def kill_and_start(self) -> None:
        while not self.over.wait(2 + 2 * self.dice.random()):
            self.schedulers = [each for each in self.schedulers if each.poll() is None]
            if len(self.schedulers) == 2:
                victim = self.dice.choice(self.schedulers)
                victim.kill()
                victim.wait()
                self.kills += 1
            self.start()

    def enough(self, catalog: Catalog) -> bool:
        """Whether so much went on that a mistake would have shown."""
        statuses = [row.status for row in catalog.history(limit=None)]
        completed, failed = statuses.count(Outcome.COMPLETED), statuses.count(Outcome.FAILED)
        return completed >= 60 * LENGTH and failed >= LENGTH and self.kills >= 2 * LENGTH

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.support.toy_scheduler", self.url, str(self.dice.random())]
        self.schedulers.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL))

    def end(self) -> list[int]:
        """Ask the living ones to stop; gives how they ended."""
        living = [each for each in self.schedulers if each.poll() is None]
        for each in living:
            each.send_signal(signal.SIGTERM)
        return [each.wait(60) for each in living]


def test_no_reader_ever_sees_a_split_version(url: str) -> None:
    catalog = Catalog.open(url)
    lake = ToyLake(catalog)
    build(lake)
    storm = Storm(url, seed=7)
    storm.start()
    storm.start()
    try:
        with ThreadPoolExecutor(3) as pool:
            at_work = [pool.submit(work) for work in (storm.write, storm.read, storm.kill_and_start)]
            while not storm.enough(catalog) and not wait(at_work, 0.5, FIRST_EXCEPTION).done:
                pass
            storm.over.set()
        for work in at_work:
            work.result()
        catalog.change_gates([GateChange(source=T("lines"), gated=False, at=NOON, by="storm")])
        assert _caught_up(catalog, 120), "a scheduler that lives on brings everything up to date"
        # One that was started a moment ago does not hear it yet, and ends as any process would.
        assert 0 in (ended := storm.end()) and set(ended) <= {0, -signal.SIGTERM}
    finally:
        for each in storm.schedulers:
            each.kill()
            each.wait()
    check(catalog.cut())
    assert storm.checks > 20
    assert len(storm.moments) > 1
    assert catalog.lease().holder is None
    catalog.close()


def _caught_up(catalog: Catalog, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        cut = catalog.cut()
        newest = {base: contents_of(cut.pointers[T(base)].location)[T(base)] for base in ("orders", "lines")}
        last = contents_of(cut.pointers[T(f"total{DEPTH - 1}")].location)
        if {str(base): versions for base, versions in last.items()} == newest:
            return True
        time.sleep(0.1)
    return False
