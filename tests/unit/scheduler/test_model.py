"""Random graphs, schedules, policies, gates and failures, against a small model of the rules.

The model knows nothing of cuts, pointers, catalogs or pools: it goes through the units in order, once per tick, and
asks of each the questions of the documentation. Units come from the graph, which has its own tests.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.graph.units import Units, plan_units
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy, Options, Status, StreamTable
from spark_trickle.model.tick import TickReport
from spark_trickle.names import TableName
from tests.support.scheduling import Yard, failed, names, skipped, yard
from tests.support.toy_lake import Contents, contents_of, merged

T = TableName.parse
SECONDS = {"calculated": None, "1s": 1, "3s": 3, "10s": 10}
BASES = ("x", "y", "z")
MEMORY = Path("/dev/shm")
"""Where there is one, commits need not wait for a disk."""


@dataclass(frozen=True)
class Drawn:
    """One stream table of a random graph; `reads` are numbers of base tables (negative) and of earlier ones."""

    reads: tuple[int, ...]
    schedule: str
    consistency: DiamondConsistency
    policy: DiamondSchedulePolicy


@dataclass
class State:
    """One stream table, as the model knows it."""

    reads: tuple[str, ...]
    seen: dict[str, int] = field(default_factory=dict)
    version: int = 0
    contents: frozenset[tuple[str, int]] = frozenset()
    last: datetime | None = None
    errors: int = 0
    retry_at: datetime | None = None
    stopped: str | None = None
    told: frozenset[tuple[str, str]] | None = None
    skips: int = 0


class Model:
    """The rules, plainly."""

    def __init__(self, drawn: list[Drawn], tables: dict[TableName, StreamTable], units: Units) -> None:
        self.units = [[str(name) for name in unit.members] for unit in units]
        self.policy = [unit.group.policy if unit.group is not None else DiamondSchedulePolicy.FASTEST for unit in units]
        self.state = {str(n): State(tuple(str(s.table) for s in t.sources)) for n, t in tables.items()}
        self.schedule = {str(n): SECONDS[t.options.schedule] for n, t in tables.items()}
        self.base = dict.fromkeys(BASES, 1)
        self.rows = dict.fromkeys(BASES, 1)
        self.gates: set[str] = set()
        self.failing: dict[str, str] = {}

    def version(self, name: str) -> int:
        return self.state[name].version if name in self.state else self.base[name]

    def contents(self, name: str) -> frozenset[tuple[str, int]]:
        return self.state[name].contents if name in self.state else frozenset({(name, self.rows[name])})

    def interval(self, name: str) -> int:
        own = self.schedule[name]
        if own is not None:
            return own
        return min((self.interval(each) for each, state in self.state.items() if name in state.reads), default=1)

    def sources(self, name: str) -> set[str]:
        if name not in self.state:
            return {name}
        return {name}.union(*(self.sources(each) for each in self.state[name].reads))

    def reasons(self, unit: list[str], now: datetime) -> set[tuple[str, str]]:
        found = set()
        for name in unit:
            state = self.state[name]
            if state.stopped:
                found.add((name, state.stopped))
            elif state.retry_at is not None and state.errors and state.retry_at > now:
                found.add((name, "backing_off"))
            found |= {(name, f"gated {gate}") for gate in self.gates & self.sources(name)}
        return found

    def due(self, number: int, now: datetime) -> bool:
        moments = []
        for name in self.units[number]:
            last = self.state[name].last
            if last is None:
                return True
            moments.append(last + timedelta(seconds=self.interval(name)) <= now)
        return any(moments) if self.policy[number] is DiamondSchedulePolicy.FASTEST else all(moments)

    def work(self, name: str) -> bool:
        state = self.state[name]
        return state.last is None or any(state.seen.get(each) != self.version(each) for each in state.reads)

    def tick(self, now: datetime) -> tuple[list[str], list[str], dict[str, set[str]]]:
        ran: list[str] = []
        broken: list[str] = []
        held: dict[str, set[str]] = {}
        for number, unit in enumerate(self.units):
            reasons = self.reasons(unit, now)
            self._tell(unit, frozenset(each for each in reasons if each[1] != "backing_off"))
            if reasons:
                held |= {name: {code.split()[0] for _, code in reasons} for name in unit}
            elif self.due(number, now) and any(self.work(name) for name in unit):
                self._run(unit, now, ran, broken)
        return ran, broken, held

    def _tell(self, unit: list[str], reasons: frozenset[tuple[str, str]]) -> None:
        for name in unit:
            state = self.state[name]
            if reasons and state.told != reasons:
                state.skips += 1
            state.told = reasons or None

    def _run(self, unit: list[str], now: datetime, ran: list[str], broken: list[str]) -> None:
        before = {name: (s.version, s.contents, dict(s.seen), s.last) for name, s in self.state.items()}
        done = []
        for name in unit:
            state = self.state[name]
            if not self.work(name):
                state.last = now
                continue
            if name in self.failing:
                for each, (version, contents, seen, last) in before.items():
                    other = self.state[each]
                    other.version, other.contents, other.seen, other.last = version, contents, seen, last
                self._fail(unit, name, now)
                broken.append(name)
                return
            contents = frozenset[tuple[str, int]]().union(*(self.contents(each) for each in state.reads))
            if contents != state.contents:
                state.version += 1
            state.contents, state.last, state.errors, state.retry_at = contents, now, 0, None
            state.seen = {each: self.version(each) for each in state.reads}
            done.append(name)
        ran += done

    def _fail(self, unit: list[str], name: str, now: datetime) -> None:
        state = self.state[name]
        state.errors += 1
        for each in unit:
            self.state[each].skips += each != name
        if self.failing[name] == "permanent":
            state.stopped, state.retry_at = "error", None
        else:
            state.retry_at = now + timedelta(seconds=min(60, 2 ** (state.errors - 1)))
            if state.errors >= 3:
                state.stopped = "suspended"


@st.composite
def graphs(draw: st.DrawFn) -> list[Drawn]:
    found: list[Drawn] = []
    for i in range(draw(st.integers(1, 30))):
        reads = draw(st.sets(st.integers(-len(BASES), i - 1), min_size=1, max_size=3))
        found.append(
            Drawn(
                tuple(sorted(reads)),
                draw(st.sampled_from(sorted(SECONDS))),
                draw(st.sampled_from(DiamondConsistency)),
                draw(st.sampled_from(DiamondSchedulePolicy)),
            )
        )
    return found


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(BASES)),
        st.tuples(st.just("rewrite"), st.sampled_from(BASES)),
        st.tuples(st.just("gate"), st.sampled_from(BASES)),
        st.tuples(st.just("ungate"), st.sampled_from(BASES)),
        st.tuples(st.sampled_from(["transient", "permanent", "mend", "suspend", "resume"]), st.integers(0, 29)),
        st.tuples(st.just("tick"), st.sampled_from([0, 1, 2, 5, 60])),
        st.tuples(st.just("restart"), st.just(0)),
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


def build(y: Yard, drawn: list[Drawn]) -> Model:
    y.base(*BASES)
    for i, each in enumerate(drawn):
        options = Options(
            schedule=each.schedule, diamond_consistency=each.consistency, diamond_schedule_policy=each.policy
        )
        y.known.add(T(name_of(i)))
        y.lake.create(T(name_of(i)), [T(name_of(n)) for n in each.reads], options, y.known)
    tables = y.catalog.cut().tables
    return Model(drawn, tables, plan_units(tables))


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
        case "mend":
            y.failing.pop(name, None)
        case "suspend":
            y.definitions.suspend(T(name))
            state.stopped = "suspended"
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
        assert (table.status.value.lower() if table.status in (Status.SUSPENDED, Status.ERROR) else None) == (
            state.stopped
        ), name
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
    template: Path, drawn: list[Drawn], moves: list[tuple[str, str | int]], workers: int
) -> None:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        yard(Path(folder), workers, template) as y,
    ):
        model = build(y, drawn)
        for what, which in [("tick", 0), *moves, ("tick", 60)]:
            if what == "tick":
                before = y.catalog.cut().id
                report = y.tick(float(which))
                compare(y, model, report, before)
                consistent(y)
            else:
                move(y, model, what, which)
