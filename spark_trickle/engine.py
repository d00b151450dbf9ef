"""The engine: the public surface in Python. Each method hands on to the room that does the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from spark_trickle import views
from spark_trickle.circles import SccStatus, scc_ids, scc_status
from spark_trickle.config import Settings
from spark_trickle.defining import CALLS as DEFINITION_CALLS
from spark_trickle.defining import DefinitionCalls
from spark_trickle.dispatch import Dispatcher
from spark_trickle.errors import ConflictError, UserError
from spark_trickle.events import Observer
from spark_trickle.fusing import CALLS as FUSE_CALLS
from spark_trickle.fusing import FuseCalls
from spark_trickle.gating import CALLS as GATE_CALLS
from spark_trickle.gating import GateCalls
from spark_trickle.graph.dag import data_flow
from spark_trickle.graph.units import plan_units
from spark_trickle.grouping import CALLS as GROUP_CALLS
from spark_trickle.grouping import GroupCalls
from spark_trickle.holds.alignment import governing_groups
from spark_trickle.html import Listing
from spark_trickle.logs import log_event
from spark_trickle.marks import marks as marked
from spark_trickle.measuring import slas
from spark_trickle.model.groups import GroupOrigin
from spark_trickle.model.refresh import HistoryRow, RefreshOutcome, Verification
from spark_trickle.model.stream_table import Options, RefreshMode, StreamTable
from spark_trickle.model.tick import TickReport
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.notebook import say_how_values_look
from spark_trickle.protecting import require_allowed
from spark_trickle.refresh.resolve import operators_and_change, resolve_mode
from spark_trickle.seeing import seen
from spark_trickle.sql.statements import parse_statement, split_statements
from spark_trickle.watching import Watch
from spark_trickle.watermarking import CALLS as WATERMARK_CALLS
from spark_trickle.watermarking import WatermarkCalls
from spark_trickle.wire import Parts, assemble

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_trickle.reading import Snapshot
    from spark_trickle.spark.upkeep.maintain import MaintenanceReport
    from spark_trickle.transaction import Transaction

say_how_values_look()

SQL_CALLS = (
    "refresh_stream_table",
    "refresh_stream_tables",
    "verify",
    "explain",
    "explain_query",
    "status",
    "scc_status",
    "history",
    "sla",
    "why",
    "dependency_tree",
    "graph",
    "maintain",
    "tick",
    "source_gates",
    "bootstrap_gate_status",
    "gate_history",
    *DEFINITION_CALLS,
    *GATE_CALLS,
    *GROUP_CALLS,
    *WATERMARK_CALLS,
    *FUSE_CALLS,
)


class Engine(DefinitionCalls, GateCalls, GroupCalls, WatermarkCalls, FuseCalls):
    """Stream tables of one lake. A context manager; safe to use from several threads."""

    def __init__(
        self, settings: Settings, *, spark: SparkSession | None = None, observers: Iterable[Observer] = ()
    ) -> None:
        self._parts: Parts = assemble(settings, spark, (log_event, *observers))
        self._gating, self._grouping = self._parts.gating, self._parts.grouping
        self._watermarking, self._fusing = self._parts.watermarking, self._parts.fusing
        self._dispatcher = Dispatcher({name: getattr(self, name) for name in SQL_CALLS})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database, and of Spark if it was started here."""
        self._parts.close()

    @property
    def spark(self) -> SparkSession:
        """The SparkSession; its default catalog `lake` holds all tables. Starts Spark on first use."""
        return self._parts.sessions.main

    @property
    def settings(self) -> Settings:
        return self._parts.settings

    @property
    def watch(self) -> Watch:
        """Moments of the lake, read again and again without Spark: for pages and metrics."""
        return self._parts.watch

    def sql(self, text: str) -> DataFrame:
        """Run Spark SQL, or one of our statements; several may be given, the last one's answer is returned."""
        answer: DataFrame | None = None
        for statement, _line in split_statements(text):
            answer = self._one_statement(statement)
        if answer is None:
            raise UserError("there is no statement to run", hint="For example: SHOW STREAM TABLES")
        return answer

    def refresh_stream_table(self, name: str, mode: str | None = None, upstream: bool = False) -> RefreshOutcome:
        """Bring it up to date now; with `upstream` its ancestors first, all at one cut and published together."""
        wanted = self._named(name)
        outcomes = self._parts.refresher.refresh([wanted], _mode(mode), upstream=bool(upstream))
        return next(outcome for outcome in outcomes if outcome.name == str(wanted))

    def refresh_stream_tables(self, names: Sequence[str]) -> list[RefreshOutcome]:
        """Refresh several at one cut and publish them together, or none."""
        if not names:
            raise UserError("no stream table is named", hint="Name at least one")
        return Listing(self._parts.refresher.refresh([self._named(name) for name in names], None))

    def stream_tables(self) -> tuple[StreamTable, ...]:
        """All of them, as the catalog knows them."""
        return self._parts.catalog.stream_tables()

    def verify(self, name: str) -> Verification:
        """Compare contents with the query at the frontier, as multisets."""
        from spark_trickle.spark.verify import verify

        cut = self._parts.catalog.cut()
        table = cut.tables.get(self._named(name))
        if table is None:
            raise no_stream_table(self._named(name), cut.tables)
        # What it reads, and what it read: a view may have been redefined since.
        circle = [cut.tables[each] for each in data_flow(cut.tables.values()).circle_of(table.name)]
        members = circle or [table]
        read = {pin.table for member in members for pin in member.frontier.pins}
        read |= {source.table for member in members for source in member.sources}
        with self._parts.lake.real.workbench(cut, {*(member.name for member in members), *read}) as bench:
            found = verify(bench, table, circle, self.settings.max_fixpoint_iterations)
        return found if table.diverged is None else replace(found, diverged=str(table.diverged))

    def status(self, name: str | None = None) -> Any:
        """What is known of one stream table, or of all (a list)."""
        now, catalog = self._parts.clock.now(), self._parts.catalog
        wanted = None if name is None else self._named(name)
        with catalog.read() as conn:
            standings = catalog.standings(conn, wanted)
            shown = catalog.stream_tables(conn) if wanted is None else (catalog.get(wanted, conn),)
            read = None if wanted is None else [pin.table for table in shown for pin in table.frontier.pins]
            heads, lease = catalog.pointers(read, conn), catalog.lease(conn)
            # The number of a circle depends on which others there are; most stream tables are in none.
            others = catalog.stream_tables(conn) if wanted is not None and catalog.reads_itself(wanted, conn) else shown
        numbers = scc_ids(others)
        running = (*(lease.running if lease.live(now) else ()), *self._parts.running())
        rows = [
            views.status_of(
                table,
                now,
                scc_id=numbers.get(table.name),
                standing=standings.get(table.name),
                seen=seen(table, heads, running, self._parts.watch.files),
            )
            for table in shown
        ]
        return Listing(rows) if wanted is None else rows[0]

    def scc_status(self) -> list[SccStatus]:
        """The circles of stream tables, and how many rounds each took the last time."""
        return scc_status(self._parts.catalog.stream_tables())

    def history(self, name: str | None = None, limit: int = 20) -> list[HistoryRow]:
        """What refreshes did, newest first."""
        return Listing(self._parts.catalog.history(None if name is None else self._named(name), limit))

    def sla(self, name: str | None = None) -> Any:
        """How often the schedule was kept, over a day and a week: of one stream table, or of all (a list)."""
        wanted = None if name is None else [self._named(name)]
        found = slas(wanted, self._parts.watch.moment(self._parts.running()), self._parts.catalog)
        return Listing(found) if wanted is None else found[0]

    def explain(self, name: str) -> views.Explanation:
        """How a stream table is kept: operators, delta SQL, mode and why, sources, frontier."""
        catalog = self._parts.catalog
        with catalog.read() as conn:
            table = catalog.get(self._named(name), conn)
            tables = {each.name: each for each in catalog.stream_tables(conn)}
            declared, marks = catalog.refresh_groups(conn), catalog.watermarks(conn)
        group = plan_units(tables, declared).of(table.name).group
        together = group.members if group is not None and group.origin is not GroupOrigin.CIRCLE else ()
        flow = data_flow(tables.values())
        circle = flow.circle_of(table.name)
        way = flow.way_round(circle) if circle else ()
        explained = views.explanation_of(table, diamond_group=together, circle=way)
        tree, change = operators_and_change(explained.tree)
        governing = tuple(group.name for group in governing_groups(table.name, marks, tables))
        return replace(explained, tree=tree, delta_sql=change, watermark_groups=governing)

    def explain_query(self, sql: str) -> views.Explanation:
        """The same for a query, before anything is created; suggests a rewrite where it cannot be incremental."""
        cut = self._parts.catalog.cut()
        with self._parts.lake.workbench(cut) as bench:
            analysis = bench.analyze(sql, self._meaning(), cut.tables)
        mode, reason, _ = resolve_mode(TableName.parse("query"), Options(), analysis)
        return views.Explanation(
            name=None,
            query=sql,
            mode=mode,
            reason=reason,
            sources=tuple(str(source.table) for source in analysis.sources),
            tree=analysis.tree,
            delta_sql=analysis.delta_sql,
            internal_tables=analysis.state,
            meaning=str(self._meaning()),
            notices=analysis.notices,
            suggestion=analysis.suggestion,
        )

    def why(self, name: str) -> views.WhyAnswer:
        """Every reason that it is not refreshing, transitively, and what to do about each."""
        from spark_trickle.known import Known
        from spark_trickle.why import concerned, why

        parts = self._parts
        with parts.catalog.read() as conn:
            known = Known(
                cut=parts.catalog.cut_of_lake(conn),
                standings=parts.catalog.standings(conn),
                lease=parts.catalog.lease(conn),
                now=parts.clock.now(),
                default_schedule=timedelta(seconds=parts.settings.default_schedule_seconds),
                stuck_after=parts.watermarking.stuck_after,
            )
            wanted = self._named(name)
            attempts = parts.catalog.last_attempts(concerned(wanted, known.cut.tables), conn)
        told = known.lease.running if known.lease.live(known.now) else ()
        known = replace(known, attempts=attempts, running=(*told, *parts.running()))
        # Other catalogs may take their time: nobody waits for a transaction meanwhile.
        return why(wanted, replace(known, cut=parts.catalog.elsewhere(known.cut)))

    def tick(self, now: datetime | None = None) -> TickReport:
        """One pass of the scheduler, at one cut: refreshes what is due and not held. `now` pretends another moment."""
        if now is not None and now.tzinfo is None:
            raise UserError(f"{now} has no time zone", hint="For example datetime.now(UTC)")
        report = self._parts.scheduler.tick(now)
        self._parts.lateness.look()
        return report

    def run(self, until: datetime | None = None, told: Callable[[TickReport], None] = lambda _: None) -> None:
        """The scheduler: ticks until then, or until SIGTERM or SIGINT. Waits while another one is at work."""
        with self._parts.lateness.watching():
            self._parts.scheduler.run(until, told)

    def dependency_tree(self, name: str | None = None) -> str:
        """The graph as an indented tree, of all or of one."""
        shown = None if name is None else str(self._named(name))
        return views.dependency_tree(self._nodes(), shown)

    def graph(self, format: str = "text") -> str:
        """The graph as text, Mermaid, Graphviz or a picture (svg), with what is gated, blown, in a circle and so on."""
        return views.graph(self._nodes(), format)

    def _nodes(self) -> tuple[views.GraphNode, ...]:
        catalog = self._parts.catalog
        with catalog.read() as conn:
            tables, gates, marks = catalog.stream_tables(conn), catalog.gates(conn), catalog.watermarks(conn)
        return views.nodes_of(tables, marked(tables, gates.values(), marks.groups))

    def transaction(self) -> Transaction:
        """`with engine.transaction() as tx:` writes that appear together, with the IMMEDIATE tables that follow."""
        from spark_trickle.transaction import Transaction

        parts = self._parts
        return Transaction(parts.workspaces.for_writing, parts.lake.real, parts.refresher, parts.notify)

    def snapshot(self, names: Sequence[str]) -> Snapshot:
        """`with engine.snapshot([...]) as snap:` several tables at one consistent version."""
        from spark_trickle.reading import Snapshot

        wanted = tuple(self._named(name) for name in names)
        return Snapshot(self._parts.catalog.cut(), wanted, self._parts.workspaces.for_reading)

    def changes(self, name: str, since: int | None = None, until: int | None = None) -> DataFrame:
        """The rows that were added (`_weight` > 0) and removed (< 0) between two snapshots of any Iceberg table, or two
        versions of a Delta table. Nothing is read before the frame is run: `maintain` of this process leaves what it
        reads for as long as that, or a frame made of it, is there."""
        from spark_trickle.spark.changes_between import changes_between

        parts = self._parts
        return changes_between(self.spark, self._named(name), since, until, parts.elsewhere, parts.workspaces.borrowing)

    def maintain(self, retain: str = "1h", compact_files: int = 20, orphan_age: str = "1d") -> MaintenanceReport:
        """Compact and expire our own tables without breaking any dependent's frontier; remove leftovers."""
        from spark_trickle.spark.upkeep.maintain import MaintenanceOptions, maintain

        parts = self._parts
        options = MaintenanceOptions.parse(
            retain=retain,
            compact_files=compact_files,
            orphan_age=orphan_age,
            history_days=parts.settings.history_retention_days,
        )
        return maintain(parts.catalog, parts.sessions.main, parts.clock.now(), options)

    def _one_statement(self, text: str) -> DataFrame:
        statement = parse_statement(text)
        if statement is not None:
            from spark_trickle.spark.session.frames import frame_of

            answer = self._dispatcher.run(statement)
            return frame_of(self.spark, answer, views.as_json)
        from spark_trickle.spark.queries.deeds import deeds_of
        from spark_trickle.spark.session.failures import spark_errors, sql_errors

        deeds = deeds_of(self.spark, text)
        if deeds.each:
            require_allowed(deeds, self._parts.catalog.cut_of_lake())
        if deeds.writes and self._has_followers():
            return self._in_transaction(text)
        tables = self._parts.catalog.cut_of_lake
        with spark_errors("running the statement"), sql_errors("the statement", lambda: tables().pointers):
            return self.spark.sql(text)

    def _has_followers(self) -> bool:
        """Whether IMMEDIATE stream tables exist: then a statement that writes becomes a transaction."""
        return any(table.effective_mode is RefreshMode.IMMEDIATE for table in self._parts.catalog.stream_tables())

    def _in_transaction(self, text: str) -> DataFrame:
        """One statement, with what follows it. As Spark does for a single write, it starts over after a conflict."""
        for attempts_left in reversed(range(self._parts.settings.max_refresh_attempts)):
            try:
                with self.transaction() as tx:
                    return tx.sql(text)
            except ConflictError:
                if attempts_left == 0:
                    raise
        raise AssertionError("unreachable: the loop returns or raises")


def _mode(text: str | None) -> RefreshMode | None:
    """The modes that one refresh can be asked for."""
    if text is None or text.upper() == RefreshMode.AUTO:
        return None
    if text.upper() in (RefreshMode.FULL, RefreshMode.DIFFERENTIAL):
        return RefreshMode(text.upper())
    raise UserError(f"mode cannot be {text!r}", hint="Choose 'FULL' or 'DIFFERENTIAL', or leave it out")
