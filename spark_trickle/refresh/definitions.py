"""Making, changing and dropping stream tables. Everything is checked first; then all of it is visible, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from spark_trickle.clock import Clock
from spark_trickle.errors import AlreadyExistsError, HasDependentsError, NotFoundError, SqlError, UserError
from spark_trickle.events import Noticed, Observer, RefreshFinished, Step, StepReached
from spark_trickle.graph.dag import data_flow
from spark_trickle.graph.notices import left_over, notices
from spark_trickle.holds.aligned import AlignedVersions
from spark_trickle.holds.fuse_limits import effective_ceiling
from spark_trickle.holds.held_back import aligned_for, held_back
from spark_trickle.holds.rule import Situation
from spark_trickle.holds.rules import held_by_sources
from spark_trickle.model.hold import Hold
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import Fuse, Options, RefreshMode, Status, StreamTable
from spark_trickle.names import INTERNAL_NAMESPACE, TableName, is_internal, no_stream_table, other_spelling, quote
from spark_trickle.ports import Analysis, CatalogPort, Lake, Workbench
from spark_trickle.refresh.circular import check_circles
from spark_trickle.refresh.fixpoint import empty_all
from spark_trickle.refresh.options import with_options
from spark_trickle.refresh.publishing import swaps_of
from spark_trickle.refresh.request import MemberResult
from spark_trickle.refresh.resolve import redefined
from spark_trickle.refresh.run import Refresher, dag_of
from spark_trickle.refresh.together import stage_columns


@dataclass(frozen=True, slots=True)
class Definitions:
    """The life of stream tables, from creation to dropping."""

    catalog: CatalogPort
    lake: Lake
    clock: Clock
    refresher: Refresher
    notify: Observer
    allow_circular: bool = False

    def create(
        self, name: TableName, query: str, options: Options, *, meaning: Meaning, initialize: bool
    ) -> StreamTable:
        """Make a stream table; with `initialize` it is published with its contents, never without them."""
        return self.create_all({name: query}, options, meaning=meaning, initialize=initialize)[0]

    def create_all(
        self, queries: Mapping[TableName, str], options: Options, *, meaning: Meaning, initialize: bool
    ) -> list[StreamTable]:
        """Make several that may read each other, all or none."""
        cut = self.catalog.cut()
        for name in queries:
            _require_new(name, cut, queries)
        with self.lake.workbench(cut) as bench:
            made = self._defined(cut, bench, queries, options, meaning)
            situation = Situation(cut=replace(cut, tables={**cut.tables, **made}), now=self.clock.now())
            versions = held_back(situation).aligned_of
            aligned = next((versions[name] for name in made if name in versions), None)
            # Those that are made together are read at one moment, or one by one.
            holds = {name: found for name in made if (found := held_by_sources(made[name], situation, aligned=aligned))}
            if initialize and not holds:
                with self._aligned(cut, aligned, bench) as (read, there):
                    tables = self._publish_new(read, there, made)
            else:
                tables = [self._empty(bench, table) for table in made.values()]
                self.catalog.publish(Publication(swaps=swaps_of(bench), created=tuple(tables)))
        if initialize and holds:
            because = [hold for found in holds.values() for hold in found]
            tables = [replace(t, notices=(*t.notices, _deferred(t.name, holds.get(t.name, because)))) for t in tables]
        return [self._told(table) for table in tables]

    def alter(
        self,
        name: TableName,
        changes: Mapping[str, object],
        *,
        query: str | None = None,
        meaning: Meaning | None = None,
    ) -> StreamTable:
        """Change options, or the query; a failure leaves everything as it was.

        Args:
            meaning: of the query, if one is given; without one the definition keeps its own.
        """
        cut = self.catalog.cut()
        table = self._existing(cut, name)
        options = with_options(table.options, changes)
        with_query = query if query is not None else table.query
        meant = meaning if query is not None and meaning is not None else table.meaning
        if (
            query is None
            and options.refresh_mode is table.options.refresh_mode
            and options.strict == table.options.strict
        ):
            if options == table.options:
                return table
            return self._optioned(table, replace(table, options=options))
        with self.lake.workbench(cut) as bench:
            draft = self._draft(name, with_query, meant, options)
            stage_columns(bench, [draft])
            analysis = bench.analyze(with_query, meant, cut.tables)
            altered = self._fused(redefined(draft, analysis))
            altered = replace(altered, notices=(*altered.notices, *notices(altered, cut.tables, cut.groups)))
            same_query = altered.normalized_query == table.normalized_query and meant == table.meaning
            if same_query and altered.effective_mode is table.effective_mode:
                if options == table.options:
                    return table
                return self._optioned(table, _mended(replace(table, options=options, mode_reason=altered.mode_reason)))
            altered = self._fused(_taking_over(table, altered, same_query=same_query))
            circle = self._circle(cut, bench, altered, analysis)
            situation = Situation(cut=cut, now=self.clock.now())
            aligned = aligned_for(altered, situation)
            holds = held_by_sources(altered, situation, aligned=aligned)
            if holds and not table.populated:
                # It waits for its first load, and goes on waiting.
                bench.drop(name)
                altered = self._empty(bench, altered)
                self._check_dependents(cut, bench, [name])
                swaps = tuple(swap for swap in swaps_of(bench) if swap.table == name or swap.table in table.tables)
                self.catalog.publish(Publication(swaps=swaps, updated=(altered,)))
                altered = replace(altered, version=altered.version + 1)
            else:
                with self._aligned(cut, aligned, bench) as (read, there):
                    altered = self._publish_altered(read, there, circle, table)
        if holds:
            notice = _partial(name, holds) if table.populated else _deferred(name, holds)
            altered = replace(altered, notices=(*altered.notices, notice))
        return self._told(altered)

    def drop(self, name: TableName, *, cascade: bool) -> list[StreamTable]:
        """Drop it, and with `cascade` all that reads it; returns what was dropped."""
        cut = self.catalog.cut_of_lake()
        self._existing(cut, name)
        dag = dag_of(cut.tables.values())
        dependents = [t for t in dag.ordered(dag.downstream(name)) if t in cut.tables and t != name]
        if dependents and not cascade:
            raise HasDependentsError(name, dependents)
        going = [cut.tables[t] for t in (name, *dependents)]
        swaps = [
            Swap(table, cut.pointers[table].location, None)
            for gone in going
            for table in gone.tables
            if table in cut.pointers
        ]
        self.catalog.publish(Publication(swaps=tuple(swaps), dropped=tuple(going)))
        for notice in left_over({table.name for table in going}, cut.groups):
            self.notify(Noticed(str(name), notice))
        return going

    def suspend(self, name: TableName, because: str = "suspended by hand") -> StreamTable:
        table = self._existing(self.catalog.cut_of_lake(), name)
        if table.status is Status.SUSPENDED:
            return table
        # Errors are counted towards a suspension by itself: this one is not.
        suspended = replace(table, status=Status.SUSPENDED, status_reason=because, consecutive_errors=0)
        return self._update(replace(suspended, status_since=self.clock.now()))

    def resume(self, name: TableName) -> StreamTable:
        """Let it be refreshed again; with it the members of its circle, which failed with it."""
        cut = self.catalog.cut_of_lake()
        table = self._existing(cut, name)
        circle = dag_of(cut.tables.values()).circle_of(name)
        failed = [cut.tables[each] for each in circle if each != name and cut.tables[each].status is Status.ERROR]
        self.catalog.publish(Publication(updated=tuple(_resumed(each) for each in (table, *failed))))
        return replace(_resumed(table), version=table.version + 1)

    @contextmanager
    def _aligned(self, cut: Cut, aligned: AlignedVersions | None, bench: Workbench) -> Iterator[tuple[Cut, Workbench]]:
        """Where it is loaded: at what is newest, or where watermarks hold it back to."""
        read = cut if aligned is None else aligned.of(cut)
        if read is cut:
            yield cut, bench
            return
        with self.lake.workbench(read) as there:
            yield read, there

    def _told(self, table: StreamTable) -> StreamTable:
        for notice in table.notices:
            self.notify(Noticed(str(table.name), notice))
        return table

    def _existing(self, cut: Cut, name: TableName) -> StreamTable:
        if name not in cut.tables:
            raise no_stream_table(name, cut.tables)
        return cut.tables[name]

    def _optioned(self, table: StreamTable, changed: StreamTable) -> StreamTable:
        """Other options for contents that stay; what follows from them is told."""
        updated = self._update(self._fused(changed))
        for notice in updated.notices:
            if notice not in table.notices:
                self.notify(Noticed(str(table.name), notice))
        return updated

    def _update(self, table: StreamTable) -> StreamTable:
        self.catalog.publish(Publication(updated=(table,)))
        return replace(table, version=table.version + 1)

    def _draft(self, name: TableName, query: str, meaning: Meaning, options: Options) -> StreamTable:
        """Before anything is known of its query."""
        return StreamTable(
            name=name,
            query=query,
            normalized_query="",
            meaning=meaning,
            options=options,
            status=Status.INITIALIZING,
            effective_mode=RefreshMode.FULL,
            created_at=self.clock.now(),
        )

    def _fused(self, table: StreamTable) -> StreamTable:
        """With what follows from the options of its fuse: one that is off has not blown; that one never can is told."""
        told = tuple(notice for notice in table.notices if not notice.startswith(_NO_CEILING))
        ceiling = effective_ceiling(table.options, self.refresher.fuse_default_ceiling)
        if table.options.fuse is Fuse.OFF:
            return replace(table, fuse=table.fuse.cleared(), notices=told)
        if table.options.fuse is Fuse.ON and ceiling is None:
            told = (*told, f"{_NO_CEILING}: set fuse_ceiling, or the setting fuse_default_ceiling")
        return replace(table, notices=told)

    def _defined(
        self, cut: Cut, bench: Workbench, queries: Mapping[TableName, str], options: Options, meaning: Meaning
    ) -> dict[TableName, StreamTable]:
        """What several queries come to as stream tables, sources before their readers."""
        drafts = [self._draft(name, query, meaning, options) for name, query in queries.items()]
        stage_columns(bench, drafts)
        found = {draft.name: bench.analyze(draft.query, meaning, {*cut.tables, *queries}) for draft in drafts}
        made = {draft.name: self._fused(redefined(draft, found[draft.name])) for draft in drafts}
        everything = {**cut.tables, **made}
        check_circles(everything, found, allowed=self.allow_circular)
        return {
            name: replace(made[name], notices=(*made[name].notices, *notices(made[name], everything, cut.groups)))
            for name in dag_of(made.values()).ordered(made)
        }

    def _empty(self, bench: Workbench, table: StreamTable) -> StreamTable:
        """Stage it with its columns and without rows."""
        bench.create_empty(table)
        pin = bench.pin_of(table.name)
        return replace(table, published=(pin,) if pin else ())

    def _publish_new(self, cut: Cut, bench: Workbench, made: Mapping[TableName, StreamTable]) -> list[StreamTable]:
        """Load them in the workbench and publish definitions, contents and history together."""
        results = self.refresher.members(bench, made.values(), self.refresher.request(cut, "INITIAL"))
        self.notify(StepReached(Step.ALL_STAGED))
        tables = [result.table for result in results]
        history = tuple(result.history for result in results)
        self.catalog.publish(Publication(swaps=swaps_of(bench), created=tuple(tables), history=history))
        self._finished(results)
        return tables

    def _publish_altered(
        self, cut: Cut, bench: Workbench, tables: Sequence[StreamTable], former: StreamTable
    ) -> StreamTable:
        """Load a new definition, the first, and those that are a circle with it; publish all that changes together."""
        request = replace(self.refresher.request(cut, "ALTER"), former=former)
        results = self.refresher.members(bench, tables, request)
        for table in tables:
            for stale in set(cut.tables[table.name].internal_tables) - set(table.internal_tables):
                bench.drop(stale)
        self._check_dependents(cut, bench, [table.name for table in tables])
        followers = self.refresher.followers(cut, [table.name for table in tables])
        results += self.refresher.members(bench, followers, request)
        self.notify(StepReached(Step.ALL_STAGED))
        swaps = swaps_of(bench)
        self.catalog.publish(
            Publication(
                swaps=swaps,
                updated=tuple(result.table for result in results),
                history=tuple(result.history for result in results),
                # What the scheduler remembers of failures was about the former definition.
                standings=tuple(Standing(table=table.name) for table in tables),
            )
        )
        self.lake.published(swaps)
        self._finished(results)
        altered = next(result.table for result in results if result.table.name == former.name)
        return replace(altered, version=altered.version + 1)

    def _finished(self, results: Iterable[MemberResult]) -> None:
        self.notify(StepReached(Step.PUBLISHED))
        for result in results:
            self.notify(RefreshFinished(result.outcome))

    def _circle(self, cut: Cut, bench: Workbench, altered: StreamTable, analysis: Analysis) -> list[StreamTable]:
        """A new definition, and after it the others of the circle that it makes, as they are planned with it."""
        now = {**cut.tables, altered.name: altered}
        circle = data_flow(now.values()).circle_of(altered.name)
        if not circle:
            return [altered]
        found = {altered.name: analysis}
        check_circles(now, found, allowed=self.allow_circular)
        empty_all(bench, [now[name] for name in circle], lambda reader: _fitting(altered.name, reader))
        for name in circle:
            found[name] = bench.analyze(now[name].query, now[name].meaning, cut.tables)
            now[name] = redefined(now[name], found[name])
        check_circles(now, found, allowed=self.allow_circular)
        return [now[altered.name], *(_mended(now[name]) for name in circle if name != altered.name)]

    def _check_dependents(self, cut: Cut, bench: Workbench, names: Sequence[TableName]) -> None:
        """A query may not take away what others read."""
        dag = dag_of(cut.tables.values())
        for name in names:
            for reader in (each for each in dag.readers(name) if each not in names):
                with _fitting(names[0], reader):
                    bench.analyze(cut.tables[reader].query, cut.tables[reader].meaning, cut.tables)


@contextmanager
def _fitting(name: TableName, reader: TableName) -> Iterator[None]:
    """What Spark refuses inside is the query of somebody who reads what was altered."""
    try:
        yield
    except SqlError as err:
        raise UserError(
            f"the new query of '{name}' does not fit '{reader}', which reads it: {err}",
            hint=f"Keep the columns that '{reader}' reads, or alter or drop it first",
        ) from err


def _resumed(table: StreamTable) -> StreamTable:
    status = Status.ACTIVE if table.populated else Status.INITIALIZING
    return replace(table, status=status, status_reason=None, status_since=None, consecutive_errors=0)


_NO_CEILING = "its fuse is on and has no ceiling, so it never blows"


def _mended(table: StreamTable) -> StreamTable:
    """Another definition: what the former one failed of is past. Who was suspended by hand stays so."""
    if table.status is not Status.ERROR and not table.consecutive_errors:
        return table
    return _resumed(table)


def _taking_over(table: StreamTable, altered: StreamTable, *, same_query: bool) -> StreamTable:
    """The new definition with what stays of the one before."""
    if same_query and RefreshMode.FULL not in (altered.effective_mode, table.effective_mode):
        # Contents and state serve both ways of keeping it: it only has to be brought up to date.
        return _mended(replace(table, options=altered.options, effective_mode=altered.effective_mode))
    return _mended(
        replace(
            altered,
            version=table.version,
            epoch=table.epoch,
            consecutive_errors=table.consecutive_errors,
            created_at=table.created_at,
            status=table.status,
            status_reason=table.status_reason,
            status_since=table.status_since,
        )
    )


def _require_new(name: TableName, cut: Cut, beside: Collection[TableName]) -> None:
    """UserError: there cannot be a new stream table of this name."""
    if is_internal(name):
        raise UserError(
            f"'{name}' would be in namespace {INTERNAL_NAMESPACE}, which holds internal state of stream tables",
            hint="Choose another namespace",
        )
    other = other_spelling(name, (*cut.tables, *cut.pointers, *beside))
    if other is not None and name not in cut.tables:
        there = "which is made with it" if other in beside else "which exists"
        raise UserError(
            f"'{name}' differs from '{other}', {there}, by upper and lower case only",
            hint="Choose another name: not all that read tables would tell the two apart",
        )
    if name in cut.tables:
        hint = "Use create_or_replace_stream_table, or alter_stream_table to change it"
        raise AlreadyExistsError("stream table", name, hint=hint)
    if name in cut.pointers:
        raise AlreadyExistsError(cut.pointers[name].kind.lower(), name, hint="Choose another name, or drop it first")
    if name.namespace not in cut.namespaces:
        raise NotFoundError("namespace", name.namespace, hint=f"CREATE NAMESPACE {quote(name.namespace)} makes it")


def _deferred(name: TableName, holds: Iterable[Hold]) -> str:
    # Not kept with the definition: it stops being true when nothing holds it any more.
    reasons = "; ".join(hold.text for hold in holds)
    return (
        f"{reasons}: '{name}' is left empty, and loaded by the first tick after that is over "
        f"(refresh_stream_table('{name}') loads what is there now)"
    )


def _partial(name: TableName, holds: Iterable[Hold]) -> str:
    reasons = "; ".join(hold.text for hold in holds)
    return f"{reasons}: '{name}' holds the answer over what is loaded so far"
