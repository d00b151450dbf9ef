"""Random graphs, writes, advances, groups and ticks, against a small model of the rules of watermark groups."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.graph.units import plan_units
from spark_trickle.model.watermark import WatermarkMode
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON
from tests.support.scheduling import Yard, names, skipped, yard
from tests.support.watermark_model import Group, Model

T = TableName.parse
BASES = ("x", "y", "z")
MEMORY = Path("/dev/shm")


@dataclass
class Worlds:
    """The scheduler on the toy lake, and the model; the same moves in both."""

    y: Yard
    model: Model
    versions: dict[tuple[str, int], int]
    """The model's number of each version of a base table."""

    def move(self, what: str, *args: Any) -> None:
        match what, args:
            case "write", (base,):
                self.y.write(base)
                self.model.base[base] += 1
                (written,) = self.y.holds(base)[T(base)]
                self.versions[base, written] = self.model.base[base]
            case "advance", (base, hours):
                # The first one is at the beginning, so that there always is a version that all groups can go back to.
                log = self.model.log[base]
                watermark = log[-1][0] + hours if log else 0
                self.y.advance(base, NOON + timedelta(hours=watermark))
                self.model.advance(base, watermark)
            case "group", (name, sources, tolerance, hold_back):
                if name in self.model.groups:
                    self.y.catalog.drop_watermark_group(name)
                    del self.model.groups[name]
                else:
                    mode = WatermarkMode.HOLD_BACK if hold_back else WatermarkMode.GATE
                    self.y.watermark_group(name, *sources, tolerance=tolerance * 3600, mode=mode)
                    self.model.groups[name] = Group(sources, tolerance, hold_back)
            case "hand", (number,):
                self.by_hand(f"t{number % len(self.model.tables)}")
            case "restart", _:
                self.y.restart()
            case "tick", _:
                self.tick()

    def by_hand(self, name: str) -> None:
        """With all above it, at what is newest: watermarks do not hold what users ask for."""
        wanted = {T(name), *(T(each) for each in self.model.above(name) & self.model.tables.keys())}
        self.y.refresher.refresh([T(name)], None, upstream=True)
        for unit in self.model.units:
            for each in unit:
                if T(each) in wanted:
                    self.model._refresh(each, {})

    def tick(self) -> None:
        report = self.y.tick(1)
        ran, held = self.model.tick()
        assert sorted(names(report)) == sorted(ran)
        assert set(skipped(report)) == held
        assert all(codes == ("watermark",) for codes in skipped(report).values())
        for name, table in self.model.tables.items():
            found = self.y.holds(name)
            seen = {(str(base), self.versions[str(base), v]) for base, all_ in found.items() for v in all_}
            assert seen == table.contents, name


@st.composite
def readings(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for i in range(draw(st.integers(1, 10))):
        known = [*BASES, *found]
        found[f"t{i}"] = tuple(draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)))
    return found


SOURCES = st.sampled_from([("x", "y"), ("y", "z"), ("x", "z"), BASES])
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(BASES)),
        st.tuples(st.just("advance"), st.sampled_from(BASES), st.integers(0, 3)),
        st.tuples(st.just("group"), st.sampled_from(["a", "b", "c"]), SOURCES, st.integers(0, 2), st.booleans()),
        st.tuples(st.just("hand"), st.integers(0, 9)),
        st.tuples(st.just("restart")),
        st.tuples(st.just("tick")),
        st.tuples(st.just("tick")),
    ),
    min_size=5,
    max_size=40,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("template") / "trickle.db"
    Catalog.open(f"sqlite:///{path}").close()
    yield path


@settings(
    deadline=None,
    max_examples=int(os.environ.get("TRICKLE_MODEL_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(readings(), MOVES)
def test_random_advances_writes_groups_and_ticks_do_what_the_rules_say(
    template: Path, reads: dict[str, tuple[str, ...]], moves: list[tuple[Any, ...]]
) -> None:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        yard(Path(folder), 1, template, stopwatch=lambda: 0.0) as y,
    ):
        y.base(*BASES)
        for name, each in reads.items():
            y.stream(name, *each)
        worlds = Worlds(y, Model(reads, BASES), {(b, v): 1 for b in BASES for v in y.holds(b)[T(b)]})
        cut = y.catalog.cut()
        worlds.model.units = [[str(name) for name in unit.members] for unit in plan_units(cut.tables, cut.groups)]
        for move in [("tick",), *moves, ("tick",)]:
            worlds.move(*move)
