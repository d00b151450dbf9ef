"""A circle of stream tables, brought to its least fixed point inside a workbench. No round of it is ever visible.

A member is kept as any stream table is: its peers are sources like others. A round brings each member from the versions
that it reached in the round before to what is staged by then, so that rounds work on changes. The circle is at rest
when a whole round changes no row of any member.

Where the rounds start decides what they come to. From empty they come to the least fixed point, by definition. From
what was published they do if it is below the new fixed point, as it is where rows of the sources only came. Where rows
went, members may hold rows that have only each other to stand on: all that may have lost a derivation is taken away
first, near and far, and the rounds bring back what has another one (delete and rederive).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from spark_trickle.errors import InternalError, NotConvergedError, NotDifferentialError, StreamTableError, UserError
from spark_trickle.events import Observer, Step, StepReached
from spark_trickle.graph.dag import data_flow
from spark_trickle.model.fuse import ChangedRows
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Broken, Staged, Workbench
from spark_trickle.refresh.circular import check_again
from spark_trickle.refresh.decide import NOTHING_CHANGED, Rebuild
from spark_trickle.refresh.looking import Look, changed_sources, follow, frontier_here, look, summary_of
from spark_trickle.refresh.member import diverging, fitting
from spark_trickle.refresh.request import MemberResult, Request, history_row

MOST_RETYPINGS = 40
"""A decimal that grows in each round is as wide as it can be by then."""


def refresh_circle(
    bench: Workbench, tables: Sequence[StreamTable], request: Request, notify: Observer, limit: int
) -> list[MemberResult]:
    """Bring the members to the versions of their outside sources that the workbench holds.

    Raises:
        NotConvergedError: they still change after `limit` rounds.
    """
    circle = _Circle(bench, request, notify, limit, [_Member(table) for table in tables])
    found = circle.look()
    check_again(bench, [each.table for each in found])
    anew = _start_over(found, request)
    if anew is None and not any(each.windows for each in found):
        return circle.results(None)
    if anew is None and _may_lose(bench, found):
        anew = circle.take_away(found)
    if anew is not None:
        circle.start_from_empty()
    circle.go_round()
    return circle.results(anew)


@dataclass(slots=True)
class _Member:
    """How far one member is."""

    table: StreamTable
    """With the versions that it was brought to, here."""
    inserted: int = 0
    deleted: int = 0
    commits: int = 0
    jobs: int = 0
    seconds: float = 0.0
    moved: bool = False
    """Whether any row of it was written."""
    owed: bool = False
    """Whether rows were taken from it that it gets back when it is refreshed."""
    pending: ChangedRows | None = None
    """What had changed in its sources outside, if somebody counted."""


@dataclass(slots=True)
class _Circle:
    bench: Workbench
    request: Request
    notify: Observer
    limit: int
    members: list[_Member]
    rounds: int = 0

    def look(self) -> list[Look]:
        """All of them, before anything is written."""
        found = []
        for member in self.members:
            with fitting(member.table):
                found.append(look(self.bench, member.table, self.request))
            member.table, member.pending = found[-1].table, found[-1].pending
        return found

    def start_from_empty(self) -> None:
        """The first round: each member is computed from what there is of its peers, at first nothing."""
        for member in self.members:
            if self.bench.pin_of(member.table.name) is not None:
                member.deleted += self.bench.total_rows(member.table.name) or 0
        if empty_all(self.bench, [member.table for member in self.members]):
            for member in self.members:
                member.table = follow(self.bench, member.table, self.request)
        for member in self.members:
            with self._work(member):
                frontier = frontier_here(self.bench, member.table, self.request)
                staged = self.bench.rebuild(member.table, summary_of(member.table, frontier), self.request.now)
                self._staged(member, staged)
                member.table = replace(member.table, frontier=frontier)
        self.rounds = 1

    def take_away(self, found: Sequence[Look]) -> Rebuild | None:
        """Take from the members what may have lost a derivation: what is left is below the new fixed point.

        Gives why the circle has to be computed from empty, if it cannot be told what that is.
        """
        tables = [member.table for member in self.members]
        windows = {each.table.name: each.windows for each in found}
        summaries = {each.table.name: summary_of(each.table, each.frontier) for each in found}
        with self._work(self.members[0]):
            taken = self.bench.take_away(tables, windows, summaries)
        if isinstance(taken, Broken):
            return Rebuild(Action.FULL, f"rows of its sources went, and {taken.reason}")
        for member in self.members:
            if taken.get(member.table.name):
                self._staged(
                    member, Staged(rows_inserted=0, rows_deleted=taken[member.table.name], changed=True, commits=1)
                )
                member.owed = True
        return None

    def go_round(self) -> None:
        """Rounds, until one changes nothing."""
        changed = True
        while changed:
            changed, computed = False, False
            for member in self.members:
                with self._work(member):
                    windows = changed_sources(self.bench, member.table)
                    if isinstance(windows, Broken):
                        raise InternalError(f"what a round changed cannot be told: {windows.reason}")
                    if not windows and not member.owed:
                        continue
                    if not computed and self.rounds == self.limit:
                        raise NotConvergedError(self._path(), self.rounds)
                    computed = True
                    frontier = frontier_here(self.bench, member.table, self.request)
                    staged = self.bench.apply(member.table, windows, summary_of(member.table, frontier))
                    self._staged(member, staged)
                    member.table, member.owed = replace(member.table, frontier=frontier), False
                    changed = changed or staged.changed
            self.rounds += computed

    def results(self, anew: Rebuild | None) -> list[MemberResult]:
        """What is to be published, and what to tell."""
        return [self._result(member, anew) for member in self.members]

    def _result(self, member: _Member, anew: Rebuild | None) -> MemberResult:
        first = not member.table.populated
        moved = member.moved or anew is not None
        if anew is not None:
            action, mode, reason = anew.action, "FULL", f"{anew.reason}; at rest after {_rounds(self.rounds)}"
        elif moved:
            action, mode, reason = Action.DIFFERENTIAL, "DIFFERENTIAL", None
        elif self.rounds:
            action, mode = Action.NO_DATA, "DIFFERENTIAL"
            reason = "the changes of the sources change no row of the result"
        else:
            action, mode, reason = Action.NO_DATA, "NO_DATA", NOTHING_CHANGED
        updated = replace(
            member.table,
            status=Status.ACTIVE if member.table.status is Status.INITIALIZING else member.table.status,
            frontier=frontier_here(self.bench, member.table, self.request),
            published=tuple(pin for name in member.table.tables if (pin := self.bench.pin_of(name)) is not None),
            epoch=member.table.epoch + (1 if moved or first else 0),
            consecutive_errors=0,
            last_refresh_at=self.request.now,
            data_timestamp=self.request.now if moved or first else member.table.data_timestamp,
            functions=tuple(self.bench.functions(member.table).items()),
            fuse=member.table.fuse.passed(member.pending),
            diverged=member.table.diverged if anew is None else None,
        )
        if self.rounds:
            updated = replace(updated, fixpoint_iterations=self.rounds, fixpoint_at=self.request.now)
        outcome = RefreshOutcome(
            name=str(updated.name),
            action=action,
            status=Outcome.COMPLETED,
            mode=mode,
            reason=reason,
            rows_inserted=member.inserted,
            rows_deleted=member.deleted,
            frontier=updated.frontier,
            duration_ms=member.seconds * 1000,
            jobs=member.jobs,
            commits=member.commits,
            fixpoint_iteration=self.rounds or None,
        )
        return MemberResult(updated, outcome, history_row(outcome, self.request, updated.epoch))

    @contextmanager
    def _work(self, member: _Member) -> Iterator[None]:
        """Something that is done for one member: timed, and told in which round it failed."""
        started, jobs = time.perf_counter(), self.bench.jobs()
        self.notify(StepReached(Step.COMPUTING, str(member.table.name)))
        try:
            with fitting(member.table), diverging(member.table):
                yield
        except NotConvergedError:
            raise
        except StreamTableError as err:
            where = f"in round {self.rounds + 1} of the circle {' -> '.join(map(str, self._path()))}"
            err.args = (f"{err} ('{member.table.name}', {where})",)
            err.facts["rounds"] = self.rounds
            raise
        member.seconds += time.perf_counter() - started
        member.jobs += self.bench.jobs() - jobs

    def _staged(self, member: _Member, staged: Staged) -> None:
        member.inserted += staged.rows_inserted
        member.deleted += staged.rows_deleted
        member.commits += staged.commits
        member.moved = member.moved or staged.changed
        pins = tuple(pin for name in member.table.tables if (pin := self.bench.pin_of(name)) is not None)
        member.table = replace(member.table, published=pins)
        self.notify(StepReached(Step.STAGED, str(member.table.name)))

    def _path(self) -> tuple[object, ...]:
        flow = data_flow(member.table for member in self.members)
        names = tuple(member.table.name for member in self.members)
        # A view may have been redefined so that they are no circle any more.
        return flow.way_round(names) or names


def empty_all(
    bench: Workbench,
    tables: Sequence[StreamTable],
    around: Callable[[TableName], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> bool:
    """Stage all of them without rows; whether any has other columns now. What types one has may follow from another.

    Args:
        around: what stands around the work for each.

    Raises:
        UserError: the types of their columns grow for ever.
    """
    ever = False
    others: list[StreamTable] = []
    for _ in range(MOST_RETYPINGS):
        others = []
        for table in tables:
            with around(table.name):
                others += [table] if bench.create_empty(table) else []
        if not others:
            return ever
        ever = True
    listed = ", ".join(f"'{table.name}'" for table in others)
    raise UserError(
        f"the types of the columns of {listed} follow from each other, and never settle",
        hint="Give the columns that are computed from other members a type with CAST",
    )


def _start_over(found: Sequence[Look], request: Request) -> Rebuild | None:
    """Why the circle has to be computed from empty: what is true of one member is true of all."""
    members = {each.table.name for each in found}
    moved = [(each.table.name, name) for each in found for name in sorted(members & each.windows.keys())]
    if moved:  # they are published together, so this is the work of others, or of another version
        reason = f"'{moved[0][1]}' is not as '{moved[0][0]}' saw it last"
        found = [replace(each, rebuild=each.rebuild or Rebuild(Action.REINITIALIZE, reason)) for each in found]
    reasons = [(each.table, each.rebuild) for each in found if each.rebuild is not None]
    if not reasons:
        return None
    table, rebuild = reasons[0]
    asked_for = request.mode is RefreshMode.FULL or any(
        not each.table.populated or each.table.fuse.reinitialize for each in found
    )
    if not asked_for:
        strict = next((each.table for each in found if each.table.options.strict), None)
        refused = table if request.mode is RefreshMode.DIFFERENTIAL else strict
        if refused is not None:
            raise NotDifferentialError(refused.name, rebuild.reason)
    alone = len(found) == 1 or request.mode is RefreshMode.FULL
    return replace(rebuild, reason=rebuild.reason if alone else f"'{table.name}': {rebuild.reason}")


def _may_lose(bench: Workbench, found: Sequence[Look]) -> bool:
    """Whether a change may have taken a row of a member away; rows that have only each other to stand on would stay."""
    return any(
        not window.insert_only or source in bench.obstacles(each.table)
        for each in found
        for source, window in each.windows.items()
    )


def _rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number} rounds"
