"""One pass of the scheduler. `Tick.run` is the whole story; everything else here is a detail of one of its lines.

What is due and what is held is decided in `plan`, how a unit is brought up to date in `refresh`, who may schedule in
`lease`; the loop around ticks is in `loop`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from spark_trickle.errors import (
    ConflictError,
    DeposedError,
    FuseBlownError,
    HeldError,
    SourceAwayError,
    StreamTableError,
    TransientError,
)
from spark_trickle.events import Noticed, Observer, RefreshFailed
from spark_trickle.holds.held_back import waiting
from spark_trickle.holds.rule import Situation
from spark_trickle.holds.rules import OF_SOURCES, held
from spark_trickle.holds.stale import newly_stale, warning
from spark_trickle.model.groups import Isolation
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.publication import Cut, Publication
from spark_trickle.model.refresh import Action, HistoryRow, Outcome, RefreshOutcome
from spark_trickle.model.standing import Failure, Standing
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.model.tick import Failed, Skipped, TickReport
from spark_trickle.names import TableName
from spark_trickle.ports import SchedulerCatalog
from spark_trickle.refresh.blame import bug, part_in, trace_of
from spark_trickle.refresh.pool import Job, run_in_order
from spark_trickle.refresh.run import Refresher, UnitResult
from spark_trickle.scheduler.backoff import delay
from spark_trickle.scheduler.board import Board
from spark_trickle.scheduler.due import slowed_after
from spark_trickle.scheduler.memory import Memory, changed_holds
from spark_trickle.scheduler.plan import Plan, has_work, told, worth_recording
from spark_trickle.scheduler.watermarks import follow_columns, tell_stuck


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a tick works with."""

    catalog: SchedulerCatalog
    read_cut: Callable[[], Cut]
    refresher: Refresher
    notify: Observer
    executor: Executor
    workers: int
    one_cut: bool
    """All refreshes of a tick read the cut read at its start; otherwise each unit reads its own."""
    stale_gate: timedelta
    stuck_after: timedelta = timedelta()
    """How long a watermark may stand still before it is told; zero: for ever."""
    chance: Callable[[], float] = random.random
    stopwatch: Callable[[], float] = time.perf_counter
    """Seconds from any beginning: for how long things take, as `now` is for when they are."""
    stopping: Callable[[], bool] = lambda: False
    refreshing: Callable[[tuple[TableName, ...]], AbstractContextManager[None]] = lambda _: nullcontext()
    """Around each refresh: others may want to see that it runs."""


@dataclass(slots=True)
class Tick:
    """One pass: its cut, which grows by what the pass itself publishes, and what came of it."""

    world: World
    memory: Memory
    fence: int
    now: datetime
    started: float = field(init=False)
    cut: Cut = field(default_factory=lambda: Cut("", {}, {}, ()))
    standings: Mapping[TableName, Standing] = field(default_factory=dict)
    """What was remembered when the tick began."""
    refreshed: list[RefreshOutcome] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    deposed: DeposedError | None = None

    def __post_init__(self) -> None:
        self.started = self.world.stopwatch()

    def run(self) -> TickReport:
        """Read the lake once; see what is due and what is held; refresh the rest in order; say what was done."""
        before = self.memory.ticked_at
        world, cut = self.world, self.world.read_cut()
        self.cut = follow_columns(cut, world.refresher, self.now, self.fence, world.notify, self.memory.unread)
        plan = self.memory.look(self.cut, self.world.catalog.standings, self.now)
        self.standings = self.memory.standings or {}
        self._warn_of_stale_gates(before)
        tell_stuck(self.cut, self.world.refresher, self.now, self.fence, self.world.notify, self.world.stuck_after)
        self._record_holds(plan)
        run_in_order(
            plan.candidates,
            self.board.above,
            start=self._start,
            settle=self._settle,
            executor=self.world.executor,
            workers=self.world.workers,
            stopping=lambda: self.deposed is not None or self.world.stopping(),
        )
        if self.deposed is not None:
            raise self.deposed
        return self._report()

    @property
    def board(self) -> Board:
        assert self.memory.board is not None
        return self.memory.board

    def _elapsed(self) -> float:
        """Seconds since the tick began."""
        return self.world.stopwatch() - self.started

    def _start(self, unit: int) -> Job[UnitResult] | None:
        """The refresh of a unit, unless it turns out that nothing it reads has moved. What is IMMEDIATE has moved with
        its sources, unless somebody wrote past us: then it is caught up here."""
        if not has_work(self.board.members(unit, self.cut.tables), self.memory.heads(unit, self.cut)):
            return None
        lagging = waiting(self.board.units[unit].members, self.cut.tables, self.memory.back)
        if lagging:
            self._skip(unit, lagging)
            return None
        names = self.board.with_followers(unit, self.cut.tables)
        cut, aligned = self.cut, self.memory.aligned(unit)

        def refresh() -> UnitResult:
            with self.world.refreshing(names):
                self.world.refresher.lake.ready()
                began = self.world.stopwatch()
                # In whole seconds, so that a quick tick is at its moment.
                late = timedelta(seconds=int(began - self.started))
                pinned = cut if self.world.one_cut and not self._timed_out(unit) else self._newer(cut, names)
                return self.world.refresher.refresh_at(
                    pinned,
                    names,
                    aligned=aligned,
                    group=self.board.group(unit),
                    fence=self.fence,
                    now=self.now,
                    began=self.now + late,
                    remember=lambda table, _: self._remembered(unit, table, self.world.stopwatch() - began),
                )

        return Job(refresh, frozenset(names))

    def _timed_out(self, unit: int) -> bool:
        """Whether a declared group would read a cut that is older than it allows: then it reads what is newest."""
        group = self.board.units[unit].group
        if group is None or not group.snapshot_timeout_ms or group.isolation is not Isolation.REPEATABLE_READ:
            return False
        age = self._elapsed() * 1000
        if age <= group.snapshot_timeout_ms:
            return False
        notice = (
            f"its turn came {age:.0f} ms after the cut of the tick was read, more than snapshot_timeout_ms = "
            f"{group.snapshot_timeout_ms}: this time it goes on as read_committed"
        )
        self.world.notify(Noticed(group.id, notice))
        return True

    def _newer(self, cut: Cut, unit: Iterable[TableName]) -> Cut:
        """What there is now, where units do not read the cut of the tick; something may hold it meanwhile."""
        now = self.world.refresher.catalog.cut()
        if now.generation != cut.generation:
            found = held(Situation(cut=now, now=self.now), OF_SOURCES)
            for name in unit:
                if name in found:
                    raise HeldError(name, found[name], now.tables[name].sources)
        return replace(now, id=cut.id)

    def _settle(self, unit: int, future: Future[UnitResult]) -> None:
        """A unit is done: those below it read what it published, or go on with what there is."""
        err = future.exception()
        match err:
            case None:
                self._published(future.result())
            case DeposedError():
                self.deposed = err
            case ConflictError():
                self._overtaken(unit, err)
            case HeldError():
                # Seen only now: a view has come to read a gated source, a gate was closed during the tick, or a version
                # that should be read is gone.
                self._skip(unit, err.holds)
                if err.lasting:
                    self.memory.found_late(unit, err.holds)
            case FuseBlownError():
                self._skip(unit, err.holds)
            case StreamTableError():
                self._failure(unit, err)
            case Exception():
                found = bug(f"refreshing {', '.join(repr(str(name)) for name in self.board.units[unit].members)}", err)
                found.__cause__ = err
                self._failure(unit, found)
            case _:
                raise err

    def _published(self, result: UnitResult) -> None:
        self.refreshed += result.outcomes
        moved = {name: pointer for name, pointer in result.pointers.items() if pointer is not None}
        heads = {name: head for name, head in self.cut.pointers.items() if name not in result.pointers}
        self.cut = replace(self.cut, pointers={**heads, **moved}, tables={**self.cut.tables, **result.tables})
        if any(self.standings.get(each.table, Standing(table=each.table)) != each for each in result.standings):
            self.memory.forget_standings()

    def _overtaken(self, unit: int, err: ConflictError) -> None:
        """Somebody else published a member since the cut was read: nothing is wrong, the next tick looks again."""
        member = self.board.units[unit].members[0]
        step = "nothing: the next tick looks again"
        overtaken = Hold(code=HoldCode.OVERTAKEN, member=member, text=str(err), next_step=step, cause=member)
        self._skip(unit, (overtaken,))

    def _failure(self, unit: int, err: StreamTableError) -> None:
        """A failure is written down in a transaction of its own, where no rollback reaches it."""
        members = [self.cut.tables[name] for name in self.board.with_followers(unit, self.cut.tables)]
        text, group = f"{err.kind}: {err}", self.board.group(unit)
        # The wait begins when it failed; in whole seconds, so that a quick tick is at its moment.
        ended = self.now + timedelta(seconds=int(self._elapsed()))
        failures, rows = [], []
        rounds = err.facts.get("rounds")
        for table in members:
            status, reason = part_in(err, table, members)
            if status is not Outcome.FAILED:
                rows.append(self._row(table, status, group, reason))
                continue
            wait = None if not err.retryable else ended + delay(table.consecutive_errors + 1, self.world.chance())
            failure = Failure(
                table=table.name,
                error=text,
                at=self.now,
                permanent=not err.retryable,
                retry_at=wait,
                outside=isinstance(err, SourceAwayError),
            )
            failures.append(failure)
            failed = self._row(table, Outcome.FAILED, group, None, error=text)
            rows.append(replace(failed, fixpoint_iteration=rounds if isinstance(rounds, int) else None))
            self.failed.append(Failed(name=str(table.name), error=text, group=group))
            self.world.notify(RefreshFailed(str(table.name), str(err), trace_of(err)))
        self.memory.forget_standings()
        try:
            self.world.catalog.fail(failures, rows, fence=self.fence)
        except DeposedError as deposed:
            self.deposed = deposed
        except TransientError as unrecorded:
            # The database may be what failed in the first place; the next tick will see.
            for failure in failures:
                notice = f"its failure is not in the history: {unrecorded}"
                self.world.notify(Noticed(str(failure.table), notice))

    def _record_holds(self, plan: Plan) -> None:
        """Report what is held; write into the history only what is held for another reason than last time."""
        for unit in sorted(plan.held):
            self._skip(unit, plan.held[unit])

        def describe(unit: int, name: TableName) -> str | None:
            reasons = worth_recording(plan.held[unit])
            return told(reasons, name, self.board.group(unit), short=True) if reasons else None

        rows, standings = [], []
        for holding, name, text in changed_holds(self.board, plan.held, self.standings, describe):
            remembered = self.standings.get(name, Standing(table=name))
            since = None if text is None else self.now
            standings.append(replace(remembered, held=text, held_since=since))
            if holding is not None:
                table, group = self.cut.tables[name], self.board.group(holding)
                reason = told(worth_recording(plan.held[holding]), name, group)
                rows.append(self._row(table, Outcome.SKIPPED, group, reason))
        if standings:
            self.memory.forget_standings()
            self.world.catalog.publish(Publication(history=tuple(rows), standings=tuple(standings), fence=self.fence))

    def _skip(self, unit: int, reasons: tuple[Hold, ...]) -> None:
        group = self.board.group(unit)
        codes = tuple(sorted({hold.code.value for hold in reasons}))
        for name in self.board.units[unit].members:
            reason = told(reasons, name, group)
            self.skipped.append(Skipped(name=str(name), codes=codes, reason=reason, group=group))

    def _remembered(self, unit: int, table: StreamTable, took: float) -> Standing:
        """What stays of a refresh that went well: only that its schedule is too short for it, if it is."""
        rhythm = self.board.rhythm(unit)
        before = self.standings[table.name].slowed if table.name in self.standings else 1
        slowed = slowed_after(before, rhythm, timedelta(seconds=took))
        if slowed > before and rhythm.interval is not None:
            notice = (
                f"a refresh took {took:.1f} s, longer than its schedule ({rhythm}): until one is in time again it is "
                f"refreshed every {rhythm.interval.total_seconds() * slowed:g} s"
            )
            self.world.notify(Noticed(str(table.name), notice))
        return Standing(table=table.name, slowed=slowed)

    def _row(
        self, table: StreamTable, status: Outcome, group: str | None, reason: str | None, error: str | None = None
    ) -> HistoryRow:
        return HistoryRow(
            name=str(table.name),
            action=Action.SKIP,
            status=status,
            mode=table.effective_mode.value,
            reason=reason,
            error=error,
            started_at=self.now,
            duration_ms=0.0,
            rows_inserted=0,
            rows_deleted=0,
            frontier=table.frontier,
            cut=self.cut.id,
            group=group,
            epoch=table.epoch,
            jobs=0,
            commits=0,
            initiated_by="SCHEDULER",
            generation=self.cut.generation,
        )

    def _warn_of_stale_gates(self, before: datetime | None) -> None:
        for gate in newly_stale(self.cut.gates.values(), before=before, now=self.now, limit=self.world.stale_gate):
            self.world.notify(Noticed(str(gate.source), warning(gate, self.now)))

    def _report(self) -> TickReport:
        return TickReport(
            cut=self.cut.id,
            units=len(self.board.units),
            refreshed=tuple(self.refreshed),
            skipped=tuple(self.skipped),
            failed=tuple(self.failed),
            duration_ms=self._elapsed() * 1000,
        )
