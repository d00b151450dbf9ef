"""A unit refreshed once: everything in it reads one cut and is published in one transaction, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from spark_trickle.clock import Clock
from spark_trickle.errors import (
    CommitUnknownError,
    ConflictError,
    CycleError,
    FuseBlownError,
    HeldError,
    StreamTableError,
    SuspendedError,
    TransientError,
    UnavailableError,
    UserError,
)
from spark_trickle.events import Noticed, Observer, RefreshFailed, RefreshFinished, Retrying, Step, StepReached
from spark_trickle.graph.dag import Dag
from spark_trickle.holds.aligned import AlignedVersions
from spark_trickle.holds.rule import Situation
from spark_trickle.holds.rules import held_by_sources
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.publication import Cut, Publication
from spark_trickle.model.refresh import Action, HistoryRow, Outcome, RefreshOutcome
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import Fuse, RefreshMode, Status, StreamTable
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.ports import CatalogPort, Lake, Workbench
from spark_trickle.refresh.align import taken_along, whole_groups
from spark_trickle.refresh.blame import blaming, bug, part_in, trace_of
from spark_trickle.refresh.decide import untouched
from spark_trickle.refresh.fixpoint import refresh_circle
from spark_trickle.refresh.fuse import blown_error, remember_blown
from spark_trickle.refresh.held_back import require_readable, with_moment
from spark_trickle.refresh.member import refresh_member
from spark_trickle.refresh.members import Piece, in_order, is_circle, pieces
from spark_trickle.refresh.publishing import publication_of, swaps_of, timed, up_to_date
from spark_trickle.refresh.reads import require_reachable, touched
from spark_trickle.refresh.request import MemberResult, Request, history_row, idle_result

Remember = Callable[[StreamTable, float], Standing]
"""What the scheduler remembers of a stream table whose unit took that many seconds."""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What refreshing a unit did, and what those after it in the same tick read."""

    outcomes: tuple[RefreshOutcome, ...]
    tables: Mapping[TableName, StreamTable]
    """As they are now in the catalog."""
    pointers: Mapping[TableName, Pointer | None]
    """Where the tables that were written are now; None: gone."""
    standings: tuple[Standing, ...] = ()


@dataclass(frozen=True, slots=True)
class Refresher:
    """Refreshes units against the ports."""

    catalog: CatalogPort
    lake: Lake
    clock: Clock
    notify: Observer
    max_change_ratio: float
    attempts: int
    workers: int = 1
    """Members of one unit that are refreshed at the same time."""
    fuse_default_ceiling: int = 0
    max_rounds: int = 100
    """Rounds after which a circle that still changes is given up."""
    refreshing: Callable[[tuple[TableName, ...]], AbstractContextManager[None]] = lambda _: nullcontext()
    """Around each refresh that is asked for by hand: others may want to see that it runs."""

    def refresh(
        self, names: Sequence[TableName], mode: RefreshMode | None, *, upstream: bool = False
    ) -> list[RefreshOutcome]:
        """Refresh these at one cut and publish them together. Starts over when somebody else published first."""
        for attempt in range(1, self.attempts + 1):
            started = time.perf_counter()
            cut = self.catalog.cut()
            unit, along = self._unit(cut, names, upstream=upstream)
            request = replace(self._request(cut, mode, "MANUAL", unit), along=along)
            self.notify(StepReached(Step.PINNED))
            try:
                with self.refreshing(tuple(table.name for table in unit)):
                    results = self._run(cut, unit, request, started)
            except ConflictError as err:
                if attempt == self.attempts:
                    self._failed(unit, request, err, started)
                    raise
                self.notify(Retrying(tuple(str(t.name) for t in unit), attempt, str(err)))
                continue
            except FuseBlownError as err:
                remember_blown(err, cut, self.catalog, self.notify)
                self._failed(unit, request, err, started)
                raise
            except CommitUnknownError:
                raise  # it may have landed: to write it down as a failure could be a lie
            except StreamTableError as err:
                self._failed(unit, request, err, started)
                raise
            except Exception as err:
                found = bug(f"refreshing {', '.join(repr(str(table.name)) for table in unit)}", err)
                found.__cause__ = err
                self._failed(unit, request, found, started)
                raise found from err
            for result in results:
                self.notify(RefreshFinished(result.outcome))
            return [result.outcome for result in results]
        raise AssertionError("unreachable: the loop returns or raises")

    def refresh_at(
        self,
        cut: Cut,
        unit: Sequence[TableName],
        *,
        group: str | None,
        fence: int,
        now: datetime,
        began: datetime | None = None,
        remember: Remember,
        aligned: AlignedVersions | None = None,
    ) -> UnitResult:
        """For the scheduler: bring a unit to this cut, whatever is there by now, and publish it under the fence.

        `began`: when it did, where that is later than the moment `now` that the whole tick is at.
        `aligned`: what it reads instead of what is newest, where it is held back. Nothing is tried twice and no failure
        is written down: the scheduler does that. ConflictError: somebody else published one of these since the cut was
        read. HeldError: a view has come to read what holds it; that is remembered, so that the next tick knows before
        it starts.
        """
        started = time.perf_counter()
        for name in unit:
            if name not in cut.tables:
                raise ConflictError(name, "a stream table", None)
        tables = [cut.tables[name] for name in unit]
        newest, cut = cut, cut if aligned is None else aligned.of(cut)
        request = replace(
            self._request(cut, None, "SCHEDULER", tables),
            group=group,
            now=now,
            began=began,
            holding=lambda table: held_by_sources(table, Situation(cut=newest, now=now), aligned=aligned),
        )
        self.notify(StepReached(Step.PINNED))
        with self.lake.workbench(cut, touched(cut, tables)) as bench:
            if cut is not newest:
                require_readable(bench, tables, newest, cut)
            results = self._moved_members(bench, cut, tables, request, fence)
            self.notify(StepReached(Step.ALL_STAGED))
            results = [timed(result, started, alone=len(results) == 1) for result in results]
            results = [with_moment(result, aligned) for result in results] if cut is not newest else results
            took = time.perf_counter() - started
            standings = tuple(remember(result.table, took) for result in results)
            updated = [*(result.table for result in results), *up_to_date(tables, results, now)]
            publication = replace(
                publication_of(swaps_of(bench), results),
                updated=tuple(updated),
                groups=() if group is None else (group,),
                standings=standings,
                fence=fence,
            )
            staged = {name: head for name, (_, head) in bench.staged().items()}
            self._publish(publication)
        self.notify(StepReached(Step.PUBLISHED))
        for result in results:
            self.notify(RefreshFinished(result.outcome))
        published = {table.name: replace(table, version=table.version + 1) for table in updated}
        return UnitResult(tuple(result.outcome for result in results), published, staged, standings)

    def _moved_members(
        self, bench: Workbench, cut: Cut, unit: Sequence[StreamTable], request: Request, fence: int
    ) -> list[MemberResult]:
        """Refresh those whose sources have moved, here or by an earlier member; the others cost nothing."""
        perhaps = set[TableName]()
        for piece in pieces(unit):
            sources = {source.table for table in piece for source in table.sources}
            if perhaps & sources or any(not untouched(table, cut.pointers) for table in piece):
                perhaps.update(table.name for table in piece)
        moved = [table for table in unit if table.name in perhaps]
        bench.expect(moved)

        def due(table: StreamTable) -> bool:
            return not untouched(table, cut.pointers) or bool(
                bench.staged().keys() & {source.table for source in table.sources}
            )

        def work(piece: Piece, at: Workbench) -> list[MemberResult]:
            try:
                return self._piece(at, piece, request)
            except HeldError as err:
                table = next(each for each in piece if str(each.name) == err.facts["name"])
                if err.sources != table.sources:
                    self.catalog.publish(Publication(updated=(replace(table, sources=err.sources),), fence=fence))
                raise
            except FuseBlownError as err:
                remember_blown(err, cut, self.catalog, self.notify, fence)
                raise

        results = in_order(bench, moved, work, workers=self._workers(cut, unit), due=due)
        _require_no_new_circle(results, request)
        return results

    def _piece(self, bench: Workbench, piece: Piece, request: Request) -> list[MemberResult]:
        with blaming(*(table.name for table in piece)):
            if is_circle(piece):
                return refresh_circle(bench, piece, request, self.notify, self.max_rounds)
            return [refresh_member(bench, piece[0], request, self.notify)]

    def members(
        self, bench: Workbench, unit: Iterable[StreamTable], request: Request, *, workers: int = 1
    ) -> list[MemberResult]:
        """Refresh all inside one workbench, in order: later ones read earlier ones as staged there."""
        tables = list(unit)
        bench.expect(tables)
        usual = replace(request, mode=None)

        def work(piece: Piece, at: Workbench) -> list[MemberResult]:
            along = all(table.name in request.along for table in piece)
            return self._piece(at, piece, usual if along else request)

        results = in_order(bench, tables, work, workers=workers)
        _require_no_new_circle(results, request)
        return results

    def _workers(self, cut: Cut, unit: Sequence[StreamTable]) -> int:
        """How many members may be refreshed at the same time: one, where a view may have come to read another member.
        In which order they would have to be is known only once the view is read.
        """
        tables = {s.table for table in unit for s in table.sources if s.kind != "VIEW" and s.table in cut.pointers}
        hidden = any(cut.pointers[name].kind == "VIEW" for name in tables)
        return 1 if hidden or touched(cut, unit) is None else self.workers

    def followers(self, cut: Cut, written: Iterable[TableName]) -> list[StreamTable]:
        """IMMEDIATE stream tables that follow writes to these tables, cascades included, in order."""
        immediate = {
            table.name
            for table in cut.tables.values()
            if table.effective_mode is RefreshMode.IMMEDIATE and table.status is Status.ACTIVE
        }
        if not immediate:
            return []
        dag = dag_of(cut.tables.values())
        moved, found = set(written), set[TableName]()
        for name in dag.ordered(immediate):
            if name not in moved and moved.intersection(dag.sources(name)):
                moved.add(name)
                found.add(name)
        return [cut.tables[name] for name in dag.ordered(found)]

    def request(self, cut: Cut, initiated_by: str) -> Request:
        return self._request(cut, None, initiated_by, ())

    def _unit(
        self, cut: Cut, names: Sequence[TableName], *, upstream: bool
    ) -> tuple[list[StreamTable], frozenset[TableName]]:
        """All that is refreshed, in order, and which of them only so that versions agree."""
        wanted = set[TableName]()
        for name in names:
            if name not in cut.tables:
                raise no_stream_table(name, cut.tables)
            wanted.add(name)
        dag = dag_of(cut.tables.values())
        if upstream:
            wanted |= {above for name in names for above in dag.upstream(name) if above in cut.tables}
        circles = [set(circle) for circle in dag.circles()]
        wanted = wanted.union(*(circle for circle in circles if circle & wanted))
        along = taken_along(cut, dag, wanted)
        along = along.union(*(circle for circle in circles if circle & along)) - wanted
        wanted |= along
        for name in wanted:
            table = cut.tables[name]
            if table.status in (Status.SUSPENDED, Status.ERROR):
                raise SuspendedError(name, table.status, table.status_reason)
            if table.fuse.blown is not None and table.options.fuse is not Fuse.OFF:
                raise blown_error(table, table.fuse.blown)
        wanted |= {table.name for table in self.followers(cut, wanted)}
        require_reachable(cut, wanted)
        return [cut.tables[name] for name in dag.ordered(wanted)], frozenset(along)

    def _request(self, cut: Cut, mode: RefreshMode | None, by: str, unit: Sequence[StreamTable]) -> Request:
        group = ",".join(str(t.name) for t in unit) if len(unit) > 1 else None
        return Request(
            mode=mode,
            initiated_by=by,
            now=self.clock.now(),
            cut=cut.id,
            group=group,
            max_change_ratio=self.max_change_ratio,
            fuse_default_ceiling=self.fuse_default_ceiling,
            stream_tables=cut.tables,
            heads=cut.pointers,
            generation=cut.generation,
        )

    def _run(self, cut: Cut, unit: list[StreamTable], request: Request, started: float) -> list[MemberResult]:
        # What a function does is known to Spark only: who asks for a refresh is told if it has changed.
        idle = all(untouched(table, cut.pointers) and not table.functions for table in unit)
        if request.mode is not RefreshMode.FULL and idle:
            results = [idle_result(table, request, started) for table in unit]
            self.catalog.publish(publication_of((), results))
            return results
        self.lake.ready()
        started, request = time.perf_counter(), replace(request, now=self.clock.now())
        with self.lake.workbench(cut, touched(cut, unit)) as bench:
            results = self.members(bench, unit, request, workers=self._workers(cut, unit))
            self.notify(StepReached(Step.ALL_STAGED))
            results = [timed(result, started, alone=len(results) == 1) for result in results]
            publication = publication_of(swaps_of(bench), results)
            if len(unit) > 1:
                whole = whole_groups(cut, (table.name for table in unit))
                publication = replace(publication, groups=whole if publication.swaps else ())
            self._publish(publication)
        self.notify(StepReached(Step.PUBLISHED))
        return results

    def _publish(self, publication: Publication) -> None:
        """Publish; when nobody said whether the commit landed, look before telling anybody that it did not."""
        try:
            self.catalog.publish(publication)
        except CommitUnknownError:
            now = self.catalog.cut_of_lake().tables
            for table in publication.updated:
                found = now.get(table.name)
                if found is None or (found.published, found.frontier) != (table.published, table.frontier):
                    raise UnavailableError(
                        "the database lost the commit; nothing was published", hint="Run it again"
                    ) from None
        self.lake.published(publication.swaps)

    def _failed(self, unit: list[StreamTable], request: Request, err: StreamTableError, started: float) -> None:
        """The failure is history too, in a transaction of its own: what failed has nothing to roll back."""
        rows = []
        rounds = err.facts.get("rounds")
        for table in unit:
            part, reason = part_in(err, table, unit)
            outcome = RefreshOutcome(
                name=str(table.name),
                action=Action.SKIP,
                # Each was asked for and did not happen; the reason says whose fault it was not.
                status=Outcome.FAILED,
                mode=table.effective_mode.value,
                reason=reason,
                frontier=table.frontier,
                duration_ms=(time.perf_counter() - started) * 1000,
                fixpoint_iteration=rounds if part is Outcome.FAILED and isinstance(rounds, int) else None,
            )
            rows.append(history_row(outcome, request, table.epoch, error=f"{err.kind}: {err}"))
            if part is Outcome.FAILED:
                self.notify(RefreshFailed(str(table.name), str(err), trace_of(err)))
        # As the scheduler would; what was asked for in a way that cannot be is no failure of the circle.
        for_good = not err.retryable and not isinstance(err, UserError)
        try:
            if isinstance(rounds, int) and for_good:
                self._give_up([table for table in unit if part_in(err, table, unit)[0] is Outcome.FAILED], rows, err)
            else:
                self.catalog.record(rows)
        except TransientError as unrecorded:
            # The database may be what failed in the first place: the caller is told the first error, not this one.
            for table in unit:
                self.notify(Noticed(str(table.name), f"its failure is not in the history: {unrecorded}"))

    def _give_up(self, circle: Sequence[StreamTable], rows: Sequence[HistoryRow], err: StreamTableError) -> None:
        """A circle that does not come to rest, or fails of what will not pass, is in error until resumed."""
        now = self.clock.now()
        failed = tuple(
            replace(table, status=Status.ERROR, status_reason=f"{err.kind}: {err}", status_since=now)
            for table in circle
        )
        self.catalog.publish(Publication(updated=failed, history=tuple(rows)))


def dag_of(tables: Iterable[StreamTable]) -> Dag:
    return Dag({table.name: [source.table for source in table.sources] for table in tables})


def _require_no_new_circle(results: Sequence[MemberResult], request: Request) -> None:
    if any(request.stream_tables.get(r.table.name, r.table).sources != r.table.sources for r in results):
        # A view was redefined under a query: it may lead back to where it came from.
        now = dag_of({**request.stream_tables, **{r.table.name: r.table for r in results}}.values())
        before = set(dag_of(request.stream_tables.values()).circles())
        # Those that are made together, or altered to be a circle, were looked at before.
        made = tuple(sorted(r.table.name for r in results if r.table.name not in request.stream_tables))
        for circle in now.circles():
            if circle not in before and not set(circle) & set(made) and request.former is None:
                hint = "A view that they read was redefined: define it otherwise, or alter_stream_table one of them"
                raise CycleError(now.way_round(circle), hint=hint)
