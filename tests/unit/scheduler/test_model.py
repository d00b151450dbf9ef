"""Random graphs, schedules, policies, declared groups, gates and failures, against a small model of the rules.

The model is `tests/support/scheduler_model.py`; here are the graphs, the moves that both worlds make, and what is
compared after each tick.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.graph.units import plan_units
from spark_trickle.model.groups import Isolation
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy, Options, Status
from spark_trickle.model.tick import TickReport
from spark_trickle.names import TableName
from tests.support.scheduler_model import BASES, SCHEDULES, Model
from tests.support.scheduling import Yard, failed, names, skipped, yard
from tests.support.toy_lake import Contents, contents_of, merged

T = TableName.parse
MEMORY = Path("/dev/shm")
"""Where there is one, commits need not wait for a disk."""


@dataclass(frozen=True)
class Drawn:
    """One stream table of a random graph; `reads` are numbers of base tables (negative) and of earlier ones."""

    reads: tuple[int, ...]
    schedule: str
    consistency: DiamondConsistency
    policy: DiamondSchedulePolicy


@dataclass(frozen=True)
class Drawing:
    """A random graph, and groups that are declared in it at times; no stream table is in two."""

    tables: tuple[Drawn, ...]
    groups: tuple[tuple[int, ...], ...]


@st.composite
def graphs(draw: st.DrawFn) -> Drawing:
    found: list[Drawn] = []
    for i in range(draw(st.integers(1, 30))):
        reads = draw(st.sets(st.integers(-len(BASES), i - 1), min_size=1, max_size=3))
        found.append(
            Drawn(
                tuple(sorted(reads)),
                draw(st.sampled_from(SCHEDULES)),
                draw(st.sampled_from(DiamondConsistency)),
                draw(st.sampled_from(DiamondSchedulePolicy)),
            )
        )
    shuffled = draw(st.permutations(range(len(found))))
    sizes = draw(st.lists(st.integers(2, 4), max_size=3))
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    groups = [tuple(shuffled[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    return Drawing(tuple(found), tuple(group for group in groups if len(group) > 1))


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(BASES)),
        st.tuples(st.just("rewrite"), st.sampled_from(BASES)),
        st.tuples(st.just("gate"), st.sampled_from(BASES)),
        st.tuples(st.just("ungate"), st.sampled_from(BASES)),
        st.tuples(st.sampled_from(["transient", "permanent", "mend", "suspend", "resume"]), st.integers(0, 29)),
        st.tuples(st.just("tick"), st.sampled_from([0, 1, 2, 5, 60])),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.sampled_from(["declare", "dissolve"]), st.integers(0, 2)),
    ),
    min_size=5,
    max_size=25,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A migrated database, to be copied."""
    path = tmp_path_factory.mktemp("template") / "trickle.db"
    Catalog.open(f"sqlite:///{path}").close()
    yield path


def name_of(number: int) -> str:
    return f"t{number}" if number >= 0 else BASES[-number - 1]


def build(y: Yard, drawing: Drawing) -> Model:
    y.base(*BASES)
    for i, each in enumerate(drawing.tables):
        options = Options(
            schedule=each.schedule, diamond_consistency=each.consistency, diamond_schedule_policy=each.policy
        )
        y.known.add(T(name_of(i)))
        y.lake.create(T(name_of(i)), [T(name_of(n)) for n in each.reads], options, y.known)
    model = Model(dict(y.catalog.cut().tables))
    regroup(y, model)
    return model


def regroup(y: Yard, model: Model) -> None:
    cut = y.catalog.cut()
    model.plan(plan_units(cut.tables, cut.groups))


def group(y: Yard, model: Model, drawing: Drawing, what: str, number: int) -> None:
    """Declare a group, or dissolve it; the first of them or no other is `repeatable_read`."""
    if number >= len(drawing.groups):
        return
    declared = {each.name for each in y.catalog.refresh_groups()}
    name = f"g{number}"
    if what == "declare" and name not in declared:
        isolation = Isolation.REPEATABLE_READ if number == 0 else Isolation.READ_COMMITTED
        y.group(name, *(name_of(n) for n in drawing.groups[number]), isolation=isolation)
    elif what == "dissolve" and name in declared:
        y.catalog.drop_refresh_group(name)
    regroup(y, model)


def move(y: Yard, model: Model, what: str, which: str | int) -> None:
    """The same move in both worlds."""
    if isinstance(which, str):
        _move_base(y, model, what, which)
        return
    name = name_of(which % len(model.state))
    state = model.state[name]
    match what:
        case "restart":
            y.restart()
            model.restart()
        case "mend":
            y.failing.pop(name, None)
        case "suspend":
            y.definitions.suspend(T(name))
            state.stopped = "suspended by hand"
        case "resume":
            y.definitions.resume(T(name))
            state.stopped, state.errors = None, 0
        case _:
            y.failing[name] = what
    model.failing = y.failing


def _move_base(y: Yard, model: Model, what: str, base: str) -> None:
    match what:
        case "gate" | "ungate":
            y.gate(base, what == "gate")
            (model.gates.add if what == "gate" else model.gates.discard)(base)
        case _:
            y.lake.write(T(base), no_rows=what == "rewrite")
            model.base[base] += 1
            if what == "write":
                model.rows[base] = model.base[base]


def compare(y: Yard, model: Model, report: TickReport, before: str) -> None:
    ran, broken, held = model.tick(y.now)
    assert Counter(names(report)) == Counter(ran)
    assert sorted(failed(report)) == sorted(broken)
    assert {name: set(codes) for name, codes in skipped(report).items()} == held
    assert report.cut == before
    _in_order(model, names(report))
    tables = y.catalog.cut().tables
    history = y.catalog.history(limit=None)
    for name, state in model.state.items():
        table = tables[T(name)]
        assert table.consecutive_errors == state.errors, name
        stopped = table.status.value.lower() if table.status in (Status.SUSPENDED, Status.ERROR) else None
        assert stopped == (state.stopped.split()[0] if state.stopped else None), name
        assert sum(r.name == name and r.status is Outcome.SKIPPED for r in history) == state.skips, name
    assert {row.cut for row in history[: len(report.refreshed)]} <= {report.cut} or report.failed or report.skipped


def _in_order(model: Model, done: list[str]) -> None:
    place = {name: i for i, name in enumerate(done)}
    for name in done:
        assert all(place[each] < place[name] for each in model.state[name].reads if each in place)


def consistent(y: Yard) -> None:
    """Each holds what its query gives at its frontier, and an atomic one splits no base table that came to it whole.

    What reads a split version from one that is not atomic has it, too: that one's user asked for it.
    """
    for name, table in y.catalog.cut().tables.items():
        if not table.populated:
            continue
        read = [contents_of(pin.location) for pin in table.frontier.pins]
        contents = y.lake.holds(name)
        assert contents == merged(read), name
        if table.options.diamond_consistency is DiamondConsistency.ATOMIC and not any(map(_split, read)):
            assert not _split(contents), (name, contents)


def _split(contents: Contents) -> bool:
    return any(len(versions) > 1 for versions in contents.values())


@settings(
    deadline=None,
    max_examples=int(os.environ.get("TRICKLE_MODEL_EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(graphs(), MOVES, st.sampled_from([1, 2]))
def test_a_random_graph_does_what_the_rules_say(
    template: Path, drawing: Drawing, moves: list[tuple[str, str | int]], workers: int
) -> None:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        # However slow the machine is, no refresh takes longer than its schedule.
        yard(Path(folder), workers, template, stopwatch=lambda: 0.0) as y,
    ):
        model = build(y, drawing)
        for what, which in [("tick", 0), *moves, ("tick", 60)]:
            if what == "tick":
                before = y.catalog.cut().id
                report = y.tick(float(which))
                compare(y, model, report, before)
                consistent(y)
            elif what in ("declare", "dissolve"):
                group(y, model, drawing, what, int(which))
            else:
                move(y, model, what, which)
