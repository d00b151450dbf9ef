"""A small model of the scheduler's rules, to compare the scheduler with.

It knows nothing of cuts, pointers, catalogs or pools: it goes through the units in order, once per tick, and asks of
each the questions of the documentation. Units come from the graph, which has its own tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from spark_trickle.graph.units import Units
from spark_trickle.model.stream_table import DiamondSchedulePolicy, StreamTable
from spark_trickle.names import TableName

SECONDS = {"1s": 1, "3s": 3, "10s": 10}
CRONS = {"*/5 * * * * *": 5, "* * * * *": 60}
"""Lines that come round whenever so many seconds are full."""
SCHEDULES = ("calculated", *SECONDS, *CRONS)
BASES = ("x", "y", "z")


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
    told: frozenset[tuple[str, str, str | None]] | None = None
    skips: int = 0
    quiet: datetime | None = None
    """The last tick that found nothing to do for its unit, before there was something."""


class Model:
    """The rules, plainly."""

    def __init__(self, tables: dict[TableName, StreamTable]) -> None:
        self.state = {str(n): State(tuple(str(s.table) for s in t.sources)) for n, t in tables.items()}
        self.schedule = {str(n): t.options.schedule for n, t in tables.items()}
        self.base = dict.fromkeys(BASES, 1)
        self.rows = dict.fromkeys(BASES, 1)
        self.gates: set[str] = set()
        self.failing: dict[str, str] = {}
        self.ticked_at: datetime | None = None
        self.busy: set[str] = set()
        """The stream tables whose units had something to do when the last tick began."""

    def plan(self, units: Units) -> None:
        self.units = [[str(name) for name in unit.members] for unit in units]
        self.policy = [unit.group.policy if unit.group is not None else DiamondSchedulePolicy.FASTEST for unit in units]
        self.group = [unit.group.id if unit.group is not None else None for unit in units]

    def restart(self) -> None:
        """What only the former scheduler had seen."""
        self.ticked_at = None
        for state in self.state.values():
            state.quiet = None

    def version(self, name: str) -> int:
        return self.state[name].version if name in self.state else self.base[name]

    def contents(self, name: str) -> frozenset[tuple[str, int]]:
        return self.state[name].contents if name in self.state else frozenset({(name, self.rows[name])})

    def rhythm(self, name: str) -> tuple[int | None, set[int]]:
        """Seconds after the last refresh, and seconds that are full."""
        own = self.schedule[name]
        if own != "calculated":
            return SECONDS.get(own), {CRONS[own]} if own in CRONS else set()
        below = [self.rhythm(each) for each, state in self.state.items() if name in state.reads]
        if not below:
            return 1, set()
        return min((i for i, _ in below if i is not None), default=None), set().union(*(crons for _, crons in below))

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

    def due(self, number: int, now: datetime, quiet: datetime | None) -> bool:
        moments = []
        for name in self.units[number]:
            last = self.state[name].last
            if last is None:
                return True
            seconds, crons = self.rhythm(name)
            served = max(last, quiet) if quiet is not None else last
            in_time = seconds is not None and last + timedelta(seconds=seconds) <= now
            moments.append(in_time or any(came_round(every, served, now) for every in crons))
        return any(moments) if self.policy[number] is DiamondSchedulePolicy.FASTEST else all(moments)

    def work(self, name: str) -> bool:
        state = self.state[name]
        return state.last is None or any(state.seen.get(each) != self.version(each) for each in state.reads)

    def tick(self, now: datetime) -> tuple[list[str], list[str], dict[str, set[str]]]:
        ran: list[str] = []
        broken: list[str] = []
        held: dict[str, set[str]] = {}
        quiet = self._look()
        for number, unit in enumerate(self.units):
            reasons = self.reasons(unit, now)
            self._tell(number, {each for each in reasons if each[1] != "backing_off"})
            if reasons:
                held |= {name: {code.split()[0] for _, code in reasons} for name in unit}
            elif self.due(number, now, quiet[number]) and any(self.work(name) for name in unit):
                self._run(unit, now, ran, broken)
        self.ticked_at = now
        return ran, broken, held

    def _look(self) -> list[datetime | None]:
        """Until when each unit had nothing to do."""
        found: list[datetime | None] = []
        busy: set[str] = set()
        for unit in self.units:
            states = [self.state[name] for name in unit]
            if not any(self.work(name) for name in unit):
                found.append(self.ticked_at)
                continue
            busy.update(unit)
            if self.busy.isdisjoint(unit) and self.ticked_at is not None:
                for state in states:
                    state.quiet = self.ticked_at
            known = [state.quiet for state in states if state.quiet is not None]
            found.append(min(known) if len(known) == len(states) else None)
        self.busy = busy
        return found

    def _tell(self, number: int, reasons: set[tuple[str, str]]) -> None:
        """Once for each reason: of itself, or of another member of its group."""
        for name in self.units[number]:
            state = self.state[name]
            said = frozenset((who, code, None if who == name else self.group[number]) for who, code in reasons)
            if said and state.told != said:
                state.skips += 1
            state.told = said or None

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
                state.stopped = "suspended by failures"


def came_round(every: int, after: datetime, until: datetime) -> bool:
    return int(until.timestamp()) // every > int(after.timestamp()) // every
