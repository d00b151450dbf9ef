"""The workbench: a workspace and everything that is computed in it for refreshes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from pyspark.util import inheritable_thread_target

from spark_trickle.delta.plan import PUBLIC, MaintenancePlan
from spark_trickle.errors import InternalError, StreamTableError
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.names import TableName, internal_name
from spark_trickle.ports import Analysis, Broken, Staged, T, Window, Workbench
from spark_trickle.spark.execution.apply import NodeApplier
from spark_trickle.spark.execution.completeness import Completeness
from spark_trickle.spark.execution.held import NOTHING_HELD, Held
from spark_trickle.spark.execution.one_version import Shared
from spark_trickle.spark.execution.overdelete import Taken, net_changes, take_away, with_netted
from spark_trickle.spark.execution.planning import planned_for
from spark_trickle.spark.execution.relations import Leaves
from spark_trickle.spark.execution.reuse import reusable
from spark_trickle.spark.execution.sharing import KnownChange, SharedChanges
from spark_trickle.spark.execution.write import NOTHING, Writer, Written
from spark_trickle.spark.queries.analysis import AnalyzedQuery, analyze, columns_read
from spark_trickle.spark.queries.fingerprints import fingerprints
from spark_trickle.spark.queries.moments import at_moment
from spark_trickle.spark.queries.queries import query_in
from spark_trickle.spark.session.failures import spark_errors, sql_errors
from spark_trickle.spark.session.jobs import counting_jobs, fair_share
from spark_trickle.spark.session.parallel import in_parallel
from spark_trickle.spark.session.sessions import active
from spark_trickle.spark.workspaces.workspace import Workspace
from spark_trickle.sql.leaves import KeptLeaf, SourceLeaf
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.foreign import foreign_write
from spark_trickle.storage.iceberg import load, total_records
from spark_trickle.storage.windows import Span

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Bench(Completeness):
    """One session of a workspace at work."""

    def __init__(self, workspace: Workspace, shared: Shared, jobs: Callable[[], int]) -> None:
        self.workspace = workspace
        self._common = shared
        self._limits = shared.limits
        self.jobs = jobs
        self._feed = ChangeFeed(workspace.session, shared.remembered.files)
        self._shared = SharedChanges(
            workspace.session, self._feed, shared.remembered.lookups, shared.limits.small_change_rows, shared.brought
        )
        self._known = shared.known
        self._taken: dict[TableName, Taken] = {}
        """From members of a circle; it is given back when they are refreshed."""
        self._netted: dict[tuple[TableName, Span], KnownChange] = {}
        """What is left of changes that seemed large, as members of a circle read them."""

    def pin_of(self, table: TableName) -> Pin | None:
        pointer = self.workspace.heads().get(table)
        return None if pointer is None else self._common.pin(self.workspace, pointer)

    def analyze(self, query: str, meaning: Meaning, stream_tables: Iterable[TableName]) -> Analysis:
        return analyze(self.workspace, query, meaning, stream_tables).analysis

    def reading(self, table: StreamTable) -> str:
        return self._analyzed(table).analysis.reading

    def expect(self, unit: Iterable[StreamTable]) -> None:
        """These are going to be refreshed here: what several of them read is read once, and looked for at once."""
        looks: dict[tuple[TableName, int | None], Callable[[], object]] = {}
        tables = list(unit)
        for table in tables:
            if table.effective_mode is RefreshMode.FULL or not table.populated:
                continue
            with suppress(Exception):  # its own refresh will say what is wrong with it, and be blamed for it
                plan = self._analyzed(table).plan
                if plan is not None:
                    for source in plan.sources:
                        self._shared.expect(source.table, table.name, columns_read(plan, source))
                    looks.update(self._looks(table, plan))
                    self._expect_others(table, {each.name for each in tables})
        if len(looks) > 1:
            with suppress(StreamTableError):  # whoever asks for it is told
                in_parallel(self.workspace.session, looks)

    def _expect_others(self, table: StreamTable, members: set[TableName]) -> None:
        """Stream tables that hold the answer for the same versions as a member will need the same changes soon."""
        for since in table.frontier.pins:
            here = self.pin_of(since.table)
            waiting = {} if here is None else self._common.remembered.lookups.readers.waiting(since, here)
            for reader in waiting.keys() - members:
                self._shared.expect(since.table, reader, waiting[reader], member=False)

    def _noted(self, table: StreamTable, plan: MaintenancePlan) -> None:
        """Remember which versions of its sources a stream table has been brought to."""
        for source in plan.sources:
            here = self.pin_of(source.table)
            if here is not None:
                self._common.remembered.lookups.readers.note(here, table.name, columns_read(plan, source))

    def _looks(
        self, table: StreamTable, plan: MaintenancePlan
    ) -> Iterator[tuple[tuple[TableName, int | None], Callable[[], object]]]:
        """Finds out what changed in each source of a stream table, for `window` to know."""
        for since in table.frontier.pins:
            here = self.pin_of(since.table)
            if here is None or here.snapshot_id == since.snapshot_id or SourceLeaf(since.table) not in plan.sources:
                continue
            columns = columns_read(plan, SourceLeaf(since.table))
            yield (since.table, since.snapshot_id), partial(self._common.window, since, columns)

    def window(self, table: StreamTable, since: Pin) -> Window | Broken:
        here = self.pin_of(since.table)
        if here is not None and (since.table, since.snapshot_id, here.snapshot_id) in self._known:
            return self._known[since.table, since.snapshot_id, here.snapshot_id]
        plan = self._analyzed(table).plan
        columns = columns_read(plan, SourceLeaf(since.table)) if plan is not None else None
        found = self._common.window(since, columns)
        return found if isinstance(found, Broken) else self._netted.get((table.name, found.span), found)

    def state_of(self, table: StreamTable) -> tuple[TableName, ...] | None:
        plan = self._analyzed(table).plan
        return None if plan is None else tuple(internal_name(table.name, node.label) for node in plan.nodes[:-1])

    def new_columns(self, table: StreamTable, since: Pin) -> tuple[str, ...]:
        plan = self._analyzed(table).plan
        with spark_errors(f"reading the columns of '{since.table}'"):
            return self._feed.new_columns(since, None if plan is None else columns_read(plan, SourceLeaf(since.table)))

    def total_rows(self, table: TableName) -> int | None:
        java = load(self.workspace.session, table)
        current = java.currentSnapshot()
        return None if current is None else total_records(java, int(current.snapshotId()))

    def functions(self, table: StreamTable) -> dict[str, str]:
        return fingerprints(self.workspace, table.query)

    def foreign_write(self, table: TableName, since: Pin) -> str | None:
        return foreign_write(self.workspace.session, table, since)

    def rebuild(
        self,
        table: StreamTable,
        summary: Mapping[str, str],
        moment: datetime,
        former: StreamTable | None = None,
        *,
        plain: bool = False,
    ) -> Staged:
        self.workspace.speak(table.meaning)
        # A stream table in FULL mode keeps no state: its query runs as it was written.
        plan = None if plain or table.effective_mode is RefreshMode.FULL else self._analyzed(table).plan
        writer = Writer(self.workspace.session, summary)
        present = self.workspace.heads()
        if plan is None:
            frame = self.answer(table, moment)
            written = writer.whole(table.name, frame, exists=table.name in present)
            return Staged(
                rows_inserted=written.inserted, rows_deleted=written.deleted, changed=True, commits=written.commits
            )
        reuse = reusable(self, self._feed, table, plan, former)
        # Whoever starts over has the tables themselves read, whatever this process remembers of them.
        leaves = self._leaves(reuse.table, plan, reuse.windows, NOTHING_HELD)
        changed: set[KeptLeaf] = {source for source in plan.sources if source.table in reuse.windows}
        written, commits = NOTHING, 0
        try:
            for node in plan.nodes:
                target = table.name if node.label == PUBLIC else internal_name(table.name, node.label)
                if node.label in reuse.labels:
                    inputs = frozenset(changed.intersection(node.inputs))
                    with planned_for(self.workspace.session, small=False):
                        written = NodeApplier(leaves, writer, node, target).apply(inputs) if inputs else NOTHING
                    changed.update([node.leaf] if written.changed else [])
                else:
                    with sql_errors(f"the plan of '{table.name}'"):
                        frame = self.workspace.session.sql(leaves.sql(node.query))
                    rows = leaves.row_counts() if node.key else {}
                    read = max((rows.get(leaf, 0) for leaf in node.inputs), default=0)
                    key = (node.key or ()) if read > self._limits.broadcast_table_rows else ()
                    written = writer.whole(target, frame, exists=target in present, key=key)
                commits += written.commits
            leaves.settle()
        finally:
            leaves.close()
            self._feed.release()
        self._noted(table, plan)
        return Staged(
            rows_inserted=written.inserted,
            rows_deleted=written.deleted,
            changed=True,
            commits=commits,
            reused=reuse.labels,
        )

    def apply(self, table: StreamTable, windows: Mapping[TableName, Window], summary: Mapping[str, str]) -> Staged:
        plan, leaves = self.plan_of(table), self.leaves_of(table, windows)
        # Rows that somebody had skipped cannot go.
        writer = Writer(self.workspace.session, summary, may_miss=table.diverged is not None)
        # The text may name tables that no row depends on: a WITH that nobody reads.
        changed: set[KeptLeaf] = {source for source in plan.sources if source.table in windows}
        written, commits = NOTHING, 0
        small = sum(window.rows for window in windows.values()) <= self._limits.small_change_rows
        given = self._taken.pop(table.name, None)
        try:
            with planned_for(self.workspace.session, small=small):
                if small and sum(len(changed.intersection(node.inputs)) for node in plan.nodes) > 1:
                    # Read in several places, it is brought once; and what a term of a join need not be computed for is
                    # best known before the terms are made.
                    changed -= leaves.unchanged(source for source in plan.sources if source in changed)
                for node in plan.nodes:
                    target = table.name if node.label == PUBLIC else internal_name(table.name, node.label)
                    inputs = frozenset(changed.intersection(node.inputs))
                    taken = given.rows if given is not None and node.label == PUBLIC else None
                    applier = NodeApplier(leaves, writer, node, target, taken)
                    written = applier.apply(inputs) if inputs or taken is not None else NOTHING
                    commits += written.commits
                    if written.changed and node.label != PUBLIC:
                        changed.add(node.leaf)
                    elif written.changed and self._shared.members(table.name):
                        leaves.settle()
                        self._remember(table, applier, written)
                leaves.settle()
        finally:
            leaves.close()
            if given is not None:
                given.leaves.close()
            self._feed.release()
        self._noted(table, plan)
        return Staged(
            rows_inserted=written.inserted,
            rows_deleted=written.deleted,
            changed=written.changed,
            commits=commits,
        )

    def _remember(self, table: StreamTable, applier: NodeApplier, written: Written) -> None:
        """Keep the change of a public table for those that read it in the same unit."""
        if table.diverged is not None:
            # Rows may go in it that somebody had skipped, and that never were there: its files say what happened.
            return
        before, after, made = table.published_pin(table.name), self.pin_of(table.name), applier.public_change()
        if before is None or after is None or made is None:
            return
        frame, here = made
        change = KnownChange(frame, written.inserted + written.deleted, written.deleted, here=here)
        self._known[table.name, before.snapshot_id, after.snapshot_id] = change

    def take_away(
        self,
        members: Sequence[StreamTable],
        windows: Mapping[TableName, Mapping[TableName, Window]],
        summaries: Mapping[TableName, Mapping[str, str]],
    ) -> Mapping[TableName, int] | Broken:
        with planned_for(self.workspace.session, small=True):
            self._netted.update(net_changes(self, self._feed, members, windows, self._limits.small_change_rows))
            found = take_away(self, members, with_netted(windows, self._netted), summaries)
        if isinstance(found, Broken):
            return found
        for table in members:
            before, after, taken = table.published_pin(table.name), self.pin_of(table.name), found.get(table.name)
            if taken is not None and taken.frame is not None and before is not None and after is not None:
                change = KnownChange(taken.frame, taken.rows.count, taken.rows.count, here=taken.rows.rows)
                self._known[table.name, before.snapshot_id, after.snapshot_id] = change
        self._taken.update(found)
        return {name: taken.removed for name, taken in found.items()}

    def plan_of(self, table: StreamTable) -> MaintenancePlan:
        """What keeps a stream table that is kept incrementally."""
        plan = self._analyzed(table).plan
        if plan is None:
            raise InternalError(f"'{table.name}' has no maintenance plan")
        return plan

    def leaves_of(self, table: StreamTable, windows: Mapping[TableName, Window]) -> Leaves:
        """What a plan reads, for work on a stream table that is not its refresh."""
        self.workspace.speak(table.meaning)
        return self._leaves(table, self.plan_of(table), windows, self._common.remembered.held)

    def answer(self, table: StreamTable, moment: datetime) -> DataFrame:
        """The query as it was written, with everything decided that its text leaves open, at a moment."""
        self.workspace.speak(table.meaning)
        self.workspace.bring([source.table for source in table.sources])
        text = self._analyzed(table).completed or table.query
        frame = query_in(self.workspace, text, table.meaning, f"the query of '{table.name}'")
        return at_moment(frame, moment) if table.reads_clock else frame

    def create_empty(self, table: StreamTable) -> bool:
        self.workspace.speak(table.meaning)
        frame = query_in(self.workspace, table.query, table.meaning, f"the query of '{table.name}'").limit(0)
        writer = Writer(self.workspace.session, {"trickle.stream-table": str(table.name)})
        return writer.emptied(table.name, frame, exists=table.name in self.workspace.heads())

    def obstacles(self, table: StreamTable) -> Mapping[TableName, str]:
        return self._analyzed(table).analysis.obstacles

    def drop(self, table: TableName) -> None:
        with spark_errors(f"dropping '{table}'"):
            self.workspace.session.sql(f"DROP TABLE IF EXISTS {table.sql}")
        self._common.remembered.forget(table)

    def staged(self) -> dict[TableName, tuple[Pointer | None, Pointer | None]]:
        return self.workspace.staged()

    def apart(self, work: Callable[[Workbench], T]) -> Callable[[], T]:
        def with_a_session_of_its_own() -> T:
            # Threads are used again, each time with another session.
            with self.workspace.beside() as workspace, bench_in(workspace, self._common) as bench:
                return work(bench)

        # What Spark knows of this thread (a user's job group, say) goes with the work.
        made: Callable[[], T] = inheritable_thread_target(self.workspace.session)(with_a_session_of_its_own)
        return made

    def close(self) -> None:
        for taken in self._taken.values():
            taken.leaves.close()
        self._feed.release()

    def _analyzed(self, table: StreamTable) -> AnalyzedQuery:
        shapes = []
        for source in table.sources:
            here = self.pin_of(source.table)
            shapes.append((here.uuid, here.schema_id) if here else ("", 0))
        return self._common.remembered.plans.get(
            (table.name, f"{table.meaning}\n{table.query}", tuple(shapes)),
            lambda: analyze(self.workspace, table.query, table.meaning, ()),
        )

    def _leaves(
        self, table: StreamTable, plan: MaintenancePlan, windows: Mapping[TableName, Window], held: Held
    ) -> Leaves:
        tables: dict[KeptLeaf, TableName] = {source: source.table for source in plan.sources}
        before: dict[KeptLeaf, Pin] = {SourceLeaf(pin.table): pin for pin in table.frontier.pins}
        for node in plan.nodes[:-1]:
            tables[node.leaf] = name = internal_name(table.name, node.label)
            if (published := table.published_pin(name)) is not None:
                before[node.leaf] = published
        return Leaves(
            workspace=self.workspace,
            shared=self._shared,
            lookups=self._common.remembered.lookups,
            held=held,
            bounds=self._common.remembered.bounds,
            pin_of=self.pin_of,
            tables=tables,
            before=before,
            columns={leaf: columns_read(plan, leaf) for leaf in tables},
            limits=self._limits,
            windows={SourceLeaf(name): window for name, window in windows.items()},  # type: ignore[misc]
        )


@contextmanager
def bench_in(workspace: Workspace, shared: Shared) -> Iterator[Bench]:
    """A bench for this thread."""
    # Tidying up, here and below, speaks to Spark too, which may be what has gone.
    session = workspace.session
    with spark_errors("working on stream tables"), active(session), fair_share(session), counting_jobs(session) as jobs:
        bench = Bench(workspace, shared, jobs)
        try:
            yield bench
        finally:
            bench.close()
