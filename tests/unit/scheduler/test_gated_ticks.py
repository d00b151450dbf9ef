"""Random graphs behind gates: ticks pass by what depends on a gated source, and bring it up to date once it opens. And
a gate that is closed while a tick is under way.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import BootstrapGating, DiamondConsistency
from spark_trickle.names import TableName
from tests.support.scheduling import Yard, names, skipped, yard

T = TableName.parse
BASES = ("x", "y", "z")
MEMORY = Path("/dev/shm")
"""Where there is one, commits need not wait for a disk."""


class Made(NamedTuple):
    """One stream table: what it reads (bases, and earlier ones), and its options."""

    reads: tuple[str, ...]
    consistency: DiamondConsistency
    gating: BootstrapGating


@st.composite
def graphs(draw: st.DrawFn) -> list[Made]:
    made: list[Made] = []
    for i in range(draw(st.integers(1, 10))):
        known = [*BASES, *(f"t{j}" for j in range(i))]
        reads = tuple(draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)))
        gating = draw(st.sampled_from([BootstrapGating.RESPECT] * 4 + [BootstrapGating.IGNORE]))
        made.append(Made(reads, draw(st.sampled_from(DiamondConsistency)), gating))
    return made


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A migrated database, to be copied."""
    path = tmp_path_factory.mktemp("template") / "trickle.db"
    Catalog.open(f"sqlite:///{path}").close()
    yield path


def above(graph: list[Made], name: str) -> set[str]:
    """The base tables that a table depends on."""
    if name in BASES:
        return {name}
    return set().union(*(above(graph, source) for source in graph[int(name[1:])].reads))


def build(y: Yard, graph: list[Made]) -> None:
    y.base(*BASES)
    for i, each in enumerate(graph):
        y.stream(f"t{i}", *each.reads, diamond_consistency=each.consistency, bootstrap_gating=each.gating)


def respecting(graph: list[Made], gates: set[str]) -> set[str]:
    """Those that the gates hold, by the words of the documentation."""
    return {
        f"t{i}"
        for i, each in enumerate(graph)
        if each.gating is BootstrapGating.RESPECT and above(graph, f"t{i}") & gates
    }


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(), st.lists(st.sampled_from(BASES), min_size=1, unique=True), st.booleans(), st.integers(1, 3))
def test_what_depends_on_a_gated_source_waits_and_is_refreshed_once_when_the_last_gate_opens(
    template: Path, graph: list[Made], gated: list[str], loaded: bool, rounds: int
) -> None:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        yard(Path(folder), 2, template) as y,
    ):
        build(y, graph)
        if loaded:
            y.tick()
        for source in gated:
            y.gate(source, True)
        closed = set(gated)
        behind = {name: y.holds(name) for name in respecting(graph, closed)}
        for _ in range(rounds):
            y.write(*BASES)
            report = y.tick(60)
            assert not set(names(report)) & behind.keys()
            assert behind.keys() <= skipped(report).keys()
            assert {name: y.holds(name) for name in behind} == behind
        skips = Counter(row.name for row in y.catalog.history(limit=None) if row.status is Outcome.SKIPPED)
        assert all(skips[name] == 1 for name in behind), "once for each reason, not at each tick"
        for source in gated[:-1]:
            y.gate(source, False)
            closed.discard(source)
            assert not set(names(y.tick(60))) & respecting(graph, closed)
        waited = respecting(graph, closed)
        y.gate(gated[-1], False)
        done = Counter(names(y.tick(60)))
        assert {name: done[name] for name in waited} == dict.fromkeys(waited, 1)
        for i in range(len(graph)):
            expected = {T(base): y.holds(base)[T(base)] for base in above(graph, f"t{i}")}
            assert y.holds(f"t{i}") == expected
        assert y.tick(60).idle


@pytest.mark.parametrize("one_cut", [True, False])
def test_a_refresh_says_of_which_generation_its_cut_was_and_so_which_gates_it_knew(
    tmp_path: Path, one_cut: bool
) -> None:
    """One that comes late in a tick goes by what the tick read, however long ago the gate was closed."""
    with yard(tmp_path, one_cut=one_cut) as y:
        y.base("orders")
        y.stream("a", "orders")
        y.stream("b", "a")
        y.tick()
        y.write("orders")

        def close(name: TableName) -> None:
            if name == T("a"):
                y.gate("orders", True)
                y.write("orders")

        y.lake.before_write = close
        assert names(y.tick(60)) == (["a", "b"] if one_cut else ["a"])
        y.lake.before_write = lambda _name: None
        closed = y.catalog.generation()
        assert all(row.generation == closed - 1 for row in y.catalog.history(limit=2 if one_cut else 1))
        assert names(y.tick(60)) == []
        assert {row.generation for row in y.catalog.history(limit=2)} == {closed}, "that they are held"
        y.gate("orders", False)
        assert names(y.tick(60)) == ["a", "b"]
        assert all(row.generation == closed + 1 for row in y.catalog.history(limit=2))
