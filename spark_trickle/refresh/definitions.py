"""Making, changing and dropping stream tables. Everything is checked first; then all of it is visible, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from spark_trickle.clock import Clock
from spark_trickle.errors import AlreadyExistsError, HasDependentsError, NotFoundError, SqlError, UserError
from spark_trickle.events import Noticed, Observer, RefreshFinished, Step, StepReached
from spark_trickle.graph.notices import left_over, notices
from spark_trickle.holds.rule import Situation
from spark_trickle.holds.rules import held_by_sources
from spark_trickle.model.hold import Hold
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import Options, RefreshMode, Status, StreamTable
from spark_trickle.names import INTERNAL_NAMESPACE, TableName, is_internal, no_stream_table, other_spelling
from spark_trickle.ports import Analysis, CatalogPort, Lake, Workbench
from spark_trickle.refresh.options import with_options
from spark_trickle.refresh.resolve import redefined
from spark_trickle.refresh.run import Refresher, dag_of, swaps_of


@dataclass(frozen=True, slots=True)
class Definitions:
    """The life of stream tables, from creation to dropping."""

    catalog: CatalogPort
    lake: Lake
    clock: Clock
    refresher: Refresher
    notify: Observer

    def create(
        self, name: TableName, query: str, options: Options, *, meaning: Meaning, initialize: bool
    ) -> StreamTable:
        """Make a stream table; with `initialize` it is published with its contents, never without them."""
        cut = self.catalog.cut()
        _require_free(name, cut)
        if name in cut.tables:
            hint = "Use create_or_replace_stream_table, or alter_stream_table to change it"
            raise AlreadyExistsError("stream table", name, hint=hint)
        if name in cut.pointers:
            raise AlreadyExistsError(
                cut.pointers[name].kind.lower(), name, hint="Choose another name, or drop it first"
            )
        if name.namespace not in cut.namespaces:
            raise NotFoundError("namespace", name.namespace, hint=f"CREATE NAMESPACE {name.namespace} makes it")
        with self.lake.workbench(cut) as bench:
            analysis = bench.analyze(query, meaning, cut.tables)
            table = self._define(cut, analysis, name, query, meaning, options)
            holds = held_by_sources(table, Situation(cut=cut, now=self.clock.now()))
            if initialize and not holds:
                table = self._publish_loaded(cut, bench, table, new=True)
            else:
                table = self._empty(bench, table)
                self.catalog.publish(Publication(swaps=swaps_of(bench), created=(table,)))
        if initialize and holds:
            table = replace(table, notices=(*table.notices, _deferred(name, holds)))
        return self._told(table)

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
            return self._update(replace(table, options=options))
        with self.lake.workbench(cut) as bench:
            analysis = bench.analyze(with_query, meant, [other for other in cut.tables if other != name])
            altered = self._define(cut, analysis, name, with_query, meant, options)
            same_query = altered.normalized_query == table.normalized_query and meant == table.meaning
            if same_query and altered.effective_mode is table.effective_mode:
                if options == table.options:
                    return table
                return self._update(_mended(replace(table, options=options, mode_reason=altered.mode_reason)))
            dag_of({**cut.tables, name: altered}.values()).require_acyclic()
            altered = _taking_over(table, altered, same_query=same_query)
            holds = held_by_sources(altered, Situation(cut=cut, now=self.clock.now()))
            if holds and not table.populated:
                # It waits for its first load, and goes on waiting.
                bench.drop(name)
                altered = self._empty(bench, altered)
                self._check_dependents(cut, bench, name)
                self.catalog.publish(Publication(swaps=swaps_of(bench), updated=(altered,)))
                altered = replace(altered, version=altered.version + 1)
            else:
                altered = self._publish_loaded(cut, bench, altered, new=False, former=table)
        if holds:
            notice = _partial(name, holds) if table.populated else _deferred(name, holds)
            altered = replace(altered, notices=(*altered.notices, notice))
        return self._told(altered)

    def drop(self, name: TableName, *, cascade: bool) -> list[StreamTable]:
        """Drop it, and with `cascade` all that reads it; returns what was dropped."""
        cut = self.catalog.cut()
        self._existing(cut, name)
        dag = dag_of(cut.tables.values())
        dependents = [t for t in dag.ordered(dag.downstream(name)) if t in cut.tables]
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
        table = self._existing(self.catalog.cut(), name)
        if table.status is Status.SUSPENDED:
            return table
        # Errors are counted towards a suspension by itself: this one is not.
        suspended = replace(table, status=Status.SUSPENDED, status_reason=because, consecutive_errors=0)
        return self._update(replace(suspended, status_since=self.clock.now()))

    def resume(self, name: TableName) -> StreamTable:
        table = self._existing(self.catalog.cut(), name)
        status = Status.ACTIVE if table.populated else Status.INITIALIZING
        return self._update(replace(table, status=status, status_reason=None, status_since=None, consecutive_errors=0))

    def _told(self, table: StreamTable) -> StreamTable:
        for notice in table.notices:
            self.notify(Noticed(str(table.name), notice))
        return table

    def _existing(self, cut: Cut, name: TableName) -> StreamTable:
        if name not in cut.tables:
            raise no_stream_table(name, cut.tables)
        return cut.tables[name]

    def _update(self, table: StreamTable) -> StreamTable:
        self.catalog.publish(Publication(updated=(table,)))
        return replace(table, version=table.version + 1)

    def _define(
        self, cut: Cut, analysis: Analysis, name: TableName, query: str, meaning: Meaning, options: Options
    ) -> StreamTable:
        if any(source.table == name for source in analysis.sources):
            raise UserError(f"the query of '{name}' reads '{name}' itself", hint="Name another source")
        table = StreamTable(
            name=name,
            query=query,
            normalized_query=analysis.normalized,
            meaning=meaning,
            options=options,
            status=Status.INITIALIZING,
            effective_mode=RefreshMode.FULL,
            created_at=self.clock.now(),
        )
        table = redefined(table, analysis)
        return replace(table, notices=(*table.notices, *notices(table, cut.tables, cut.groups)))

    def _empty(self, bench: Workbench, table: StreamTable) -> StreamTable:
        """Stage it with its columns and without rows."""
        bench.create_empty(table)
        pin = bench.pin_of(table.name)
        return replace(table, published=(pin,) if pin else ())

    def _publish_loaded(
        self, cut: Cut, bench: Workbench, table: StreamTable, *, new: bool, former: StreamTable | None = None
    ) -> StreamTable:
        """Load it in the workbench and publish definition, contents and history together."""
        request = replace(self.refresher.request(cut, "INITIAL" if new else "ALTER"), former=former)
        results = self.refresher.members(bench, [table], request)
        if former is not None:
            for stale in set(former.internal_tables) - set(table.internal_tables):
                bench.drop(stale)
            self._check_dependents(cut, bench, table.name)
            followers = self.refresher.followers(cut, [table.name])
            results += self.refresher.members(bench, followers, request)
        self.notify(StepReached(Step.ALL_STAGED))
        self.catalog.publish(
            Publication(
                swaps=swaps_of(bench),
                created=(results[0].table,) if new else (),
                updated=tuple(r.table for r in (results[1:] if new else results)),
                history=tuple(r.history for r in results),
                # What the scheduler remembers of failures was about the former definition.
                standings=() if former is None else (Standing(table=table.name),),
            )
        )
        self.notify(StepReached(Step.PUBLISHED))
        for result in results:
            self.notify(RefreshFinished(result.outcome))
        return replace(results[0].table, version=results[0].table.version + (0 if new else 1))

    def _check_dependents(self, cut: Cut, bench: Workbench, name: TableName) -> None:
        """A query may not take away what others read."""
        for reader in dag_of(cut.tables.values()).readers(name):
            try:
                bench.analyze(cut.tables[reader].query, cut.tables[reader].meaning, cut.tables)
            except SqlError as err:
                raise UserError(
                    f"the new query of '{name}' does not fit '{reader}', which reads it: {err}",
                    hint=f"Keep the columns that '{reader}' reads, or alter or drop it first",
                ) from err


def _mended(table: StreamTable) -> StreamTable:
    """Another definition: what the former one failed of is past. Who was suspended by hand stays so."""
    if table.status is not Status.ERROR and not table.consecutive_errors:
        return table
    status = Status.ACTIVE if table.populated else Status.INITIALIZING
    return replace(table, status=status, status_reason=None, status_since=None, consecutive_errors=0)


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


def _require_free(name: TableName, cut: Cut) -> None:
    """UserError: the name is not for a stream table."""
    if is_internal(name):
        raise UserError(
            f"'{name}' would be in namespace {INTERNAL_NAMESPACE}, which holds internal state of stream tables",
            hint="Choose another namespace",
        )
    other = other_spelling(name, (*cut.tables, *cut.pointers))
    if other is not None and name not in cut.tables:
        raise UserError(
            f"'{name}' differs from '{other}', which exists, by upper and lower case only",
            hint="Choose another name: not all that read tables would tell the two apart",
        )


def _deferred(name: TableName, holds: Iterable[Hold]) -> str:
    # Not kept with the definition: it stops being true when nothing holds it any more.
    reasons = "; ".join(hold.text for hold in holds)
    return (
        f"{reasons}: '{name}' is left empty, and loaded by the first tick after all its sources are ungated "
        f"(refresh_stream_table('{name}') loads what is there now)"
    )


def _partial(name: TableName, holds: Iterable[Hold]) -> str:
    reasons = "; ".join(hold.text for hold in holds)
    return f"{reasons}: '{name}' holds the answer over what is loaded so far"
