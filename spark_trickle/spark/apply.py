"""Applies the change of one node to its table.

Jobs of a small change, and what each is for. Groups: one or two to compute old and new rows of the touched groups (the
table is broadcast when it is small); when groups must be recomputed, two more. Bags: one to compute the delta, two to
find the rows that go. `place` writes what was computed, mostly without a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f
from pyspark.sql import types as t
from sqlglot import exp

from spark_trickle.delta import merge, transitions
from spark_trickle.delta.differentiate import delta
from spark_trickle.delta.losses import REMOVED, undone
from spark_trickle.delta.partitions import partition_change
from spark_trickle.delta.plan import (
    DELTA,
    GROUPS,
    PUBLIC,
    RECOMPUTED,
    TARGET,
    WEIGHT,
    Delta,
    Groups,
    Node,
    Partitions,
)
from spark_trickle.delta.staged import NONE_LARGE
from spark_trickle.names import TableName, quote
from spark_trickle.spark.failures import spark_errors
from spark_trickle.spark.local import fetch, hand_back, most_fetched, travels
from spark_trickle.spark.parallel import in_parallel
from spark_trickle.spark.place import Computed, Placer
from spark_trickle.spark.relations import Leaves, sql_name
from spark_trickle.spark.sharing import netted, plain, tells_apart
from spark_trickle.spark.write import NOTHING, Writer, Written
from spark_trickle.sql.leaves import KeptLeaf, StepLeaf, steps_of
from spark_trickle.storage.netting import net

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MOVED_ROWS = 20_000
"""A table of ours with more rows is not joined as it is with a small change: to keep rows without partner Spark would
move the whole table. Its rows that matter are looked for first."""

_SIDE = "_trickle_side"


class NodeApplier:
    """Applies changes to the node of one table."""

    def __init__(
        self, leaves: Leaves, writer: Writer, node: Node, table: TableName, given_back: Computed | None = None
    ) -> None:
        self._leaves = leaves
        self._session = leaves.workspace.session
        self._writer = writer
        self._node = node
        self._table = table
        self._target: exp.Expr = sql_name(table.sql)
        self._placer = Placer(leaves, writer, node, table)
        self._small = False
        self._change: tuple[DataFrame, pa.Table | None] | None = None
        self._given_back = given_back
        """Rows that were taken from the table, as a change: what is applied is told from what it held before that."""

    def public_change(self) -> tuple[DataFrame, pa.Table | None] | None:
        """What the last `apply` changed, rows with weights, if it is at hand without computing anything again; and
        those rows, if they are here."""
        return self._change

    def apply(self, changed: frozenset[KeptLeaf]) -> Written:
        written = self._applied(changed)
        if written.changed:
            self._leaves.forget(self._node.leaf)
        return written

    def _applied(self, changed: frozenset[KeptLeaf]) -> Written:
        self._small = sum(self._leaves.rows_of(leaf) for leaf in changed) <= self._leaves.small_rows
        change = delta(self._node, changed, self._leaves.large() if self._small else NONE_LARGE)
        if change is None:
            return NOTHING if self._given_back is None else self._rows(self._undone(self._given_back, None))
        steps: dict[StepLeaf, exp.Expr] = {TARGET: self._target}
        self._share(change, steps)
        if isinstance(self._node.upkeep, Groups):
            return self._groups(change.query, steps)
        if isinstance(self._node.upkeep, Partitions):
            return self._partitions(change, steps)
        if self._node.key == () and self._plain_types():
            return self._one_row()
        found = self._compute(self._leaves.sql(change.query, steps), "delta", fetched=self._small)
        return self._rows(found if self._given_back is None else self._undone(self._given_back, found))

    def compute(self, query: Delta, steps: Mapping[StepLeaf, exp.Expr], what: str) -> Computed:
        """Run a query about the node that is not its change. Few rows are expected."""
        self._small = True
        known = {TARGET: self._target, **steps}
        self._share(query, known)
        return self._compute(self._leaves.sql(query.query, known), what, fetched=True)

    def fetch(self, query: Delta, steps: Mapping[StepLeaf, exp.Expr]) -> tuple[t.StructType, pa.Table | None]:
        """The same, only to look at the rows. None: they are too many to come here."""
        self._small = True
        known = {TARGET: self._target, **steps}
        self._share(query, known)
        with spark_errors(f"computing what '{self._table}' may lose"):
            frame, rows = self._begun(self._leaves.sql(query.query, known), fetched=True)
            return frame.schema, rows

    def take_rows(self, gone: pa.Table, schema: t.StructType) -> tuple[Written, Computed] | None:
        """Take rows away of which each is given once. What was done, and the change; None: it takes a statement."""
        taken = self._placer.all_copies(gone)
        if taken is None:
            return None
        written, change = taken
        schema = t.StructType([*schema.fields, t.StructField(WEIGHT, t.LongType())])
        view = f"removed_{len(self._leaves.workspace.views)}"
        frame = hand_back(self._session, change, schema)
        self._leaves.settle()
        return written, Computed(self._leaves.name_view(view, frame), schema, change, change.num_rows)

    def take(self, query: Delta, steps: Mapping[StepLeaf, exp.Expr], what: str) -> tuple[Written, Computed]:
        """Take rows away, given as a change. What was done, and the change."""
        found = self.compute(query, steps, what)
        written = self._placer.rows(found) if found.count else NOTHING
        self._leaves.settle()
        return written, found

    def _undone(self, taken: Computed, change: Computed | None) -> Computed:
        """A change, as it is to the table from which rows were taken."""
        here = [] if taken.rows is None else list(self._node.columns)
        both = [rows for found in (change,) if found is not None and (rows := found.rows) is not None]
        if taken.rows is not None and len(both) == (change is not None) and tells_apart(taken.rows, here):
            weights = pc.negate(taken.rows.column(WEIGHT))
            back = taken.rows.set_column(taken.rows.schema.get_field_index(WEIGHT), WEIGHT, weights)
            rows = netted(pa.concat_tables([plain(each, [*here, WEIGHT]) for each in (back, *both)]), here)
            schema = t.StructType([taken.schema[name] for name in (*here, WEIGHT)])
            frame = hand_back(self._session, rows, schema)
            return Computed(self._leaves.name_view(f"undone_{self._node.label}", frame), schema, rows, rows.num_rows)
        steps = {REMOVED: taken.name} if change is None else {REMOVED: taken.name, DELTA: change.name}
        query = undone(self._node, changed=change is not None)
        return self._compute(self._leaves.sql(query, steps), "undone", fetched=self._small)

    def _share(self, change: Delta, steps: dict[StepLeaf, exp.Expr]) -> None:
        """Compute the parts of a change that are used in several places; side by side those that need not wait."""
        waiting = list(change.shared)
        while waiting:
            missing = {part.step for part in waiting}
            ready = [part for part in waiting if not missing.intersection(steps_of(part.query))]
            texts = {part.step: self._leaves.sql(part.query, steps) for part in ready}
            for step, found in self._compute_all(texts).items():
                steps[step] = found.name
                self._leaves.set_bounds(step, found.rows)
            waiting = [part for part in waiting if part.step not in texts]

    def _partitions(self, change: Delta, steps: dict[StepLeaf, exp.Expr]) -> Written:
        """Compute touched partitions again."""
        groups = self._compute(self._leaves.sql(change.query, steps), "groups", fetched=self._small)
        if groups.count == 0:
            return NOTHING
        steps = {TARGET: self._target, GROUPS: groups.name}
        self._leaves.set_bounds(GROUPS, groups.rows)
        again = partition_change(self._node)
        self._share(again, steps)
        return self._rows(self._compute(self._leaves.sql(again.query, steps), "delta", fetched=self._small))

    def _rows(self, found: Computed) -> Written:
        """Write a change that is rows with weights."""
        if found.count == 0:
            return NOTHING
        frame = self._session.table(quote(found.view))
        if found.rows is not None:
            self._change = frame, found.rows
        if self._node.label != PUBLIC:
            self._leaves.set_changes(self._node.leaf, frame, found.count, found.rows)
        return self._placer.rows(found)

    def _one_row(self) -> Written:
        """A table of at most one row, over tables of one row: computing it again is the cheapest delta."""
        names = self._node.columns
        with spark_errors(f"computing '{self._table}'"):
            frame = self._session.sql(self._leaves.sql(self._node.query))
            if self._placer.contents is not None:
                now, before = fetch(frame), self._placer.contents.rows
            else:
                both = frame.withColumn(_SIDE, f.lit(True)).unionAll(
                    self._session.table(self._table.sql).withColumn(_SIDE, f.lit(False))
                )
                rows = fetch(both)
                now = rows.filter(pc.field(_SIDE)).drop_columns(_SIDE)
                before = rows.filter(pc.invert(pc.field(_SIDE))).drop_columns(_SIDE)
        if all(now.column(name).cast(before.schema.field(name).type).equals(before.column(name)) for name in names):
            return NOTHING
        if self._node.label != PUBLIC:
            change = _weighted(before.select(now.column_names).cast(now.schema), now)
            schema = t.StructType([*frame.schema.fields, t.StructField(WEIGHT, t.LongType())])
            changes = hand_back(self._session, change, schema)
            self._leaves.set_changes(self._node.leaf, changes, change.num_rows, change)
        self._placer.replace(now)
        return Written(now.num_rows, before.num_rows, 1)

    def _plain_types(self) -> bool:
        return travels(self._session.table(self._table.sql).schema)

    def _compute(self, text: str, what: str, *, fetched: bool) -> Computed:
        """Run a query once: its rows come here when they are few, and stay cached in Spark when they are not."""
        with spark_errors(f"computing the {what} of '{self._table}'"):
            return self._held(what, self._begun(text, fetched=fetched))

    def _compute_all(self, texts: Mapping[StepLeaf, str]) -> dict[StepLeaf, Computed]:
        """Several at the same time: of a small change, planning takes longer than the work, and it takes one core."""
        if len(texts) == 1 or not self._small:
            return {step: self._compute(text, step.name, fetched=self._small) for step, text in texts.items()}
        with spark_errors(f"computing parts of the change of '{self._table}'"):
            work = {step: partial(self._begun, text, fetched=True) for step, text in texts.items()}
            return {step: self._held(step.name, begun) for step, begun in in_parallel(self._session, work).items()}

    def _begun(self, text: str, *, fetched: bool) -> tuple[DataFrame, pa.Table | None]:
        """The query, and its rows if they are to be brought here and few."""
        frame = self._session.sql(text)
        # A join may make many rows of few: what turns out to be too much to bring here stays where it is.
        most = most_fetched(frame.schema, self._leaves.small_rows)
        rows = fetch(frame.limit(most + 1)) if fetched and travels(frame.schema) else None
        return frame, rows if rows is not None and rows.num_rows <= most else None

    def _held(self, what: str, begun: tuple[DataFrame, pa.Table | None]) -> Computed:
        frame, rows = begun
        schema, count = frame.schema, 0
        if rows is None:
            # Where all rows meet a value that changed, nearly all of them only seem to go and to come.
            cancels = self._small and WEIGHT in schema.names and travels(schema)
            frame = self._leaves.keep(net(frame).select(*schema.names) if cancels else frame)
            count = frame.count()
            if cancels and count <= most_fetched(schema, self._leaves.small_rows):
                rows = fetch(frame)
        if rows is not None:
            frame, count = hand_back(self._session, rows, schema), rows.num_rows
        return Computed(self._leaves.name_view(f"{what}_{self._node.label}", frame), schema, rows, count)

    def _groups(self, query: exp.Query, steps: dict[StepLeaf, exp.Expr]) -> Written:
        upkeep = self._node.upkeep
        assert isinstance(upkeep, Groups)
        # The delta goes into the query as it is: partial aggregates, old rows and new rows in one job.
        steps[DELTA] = exp.Subquery(this=self._leaves.resolved(query, steps))
        steps[TARGET], addressed = self._placer.old_rows() if self._small else (self._target, False)
        moved = min(MOVED_ROWS, self._leaves.large_rows) if self._small else self._leaves.large_rows
        if upkeep.keys and self._placer.rows_before > moved:
            partials = self._compute(self._leaves.sql(query, steps), "delta", fetched=self._small)
            self._leaves.set_bounds(DELTA, partials.rows)
            steps[DELTA] = partials.name
            found_groups = self._placer.old_groups(partials) if addressed else None
            if found_groups is None:
                self._leaves.set_table(TARGET, self._table)
            else:
                steps[TARGET] = found_groups
            steps[TARGET] = exp.Subquery(this=self._leaves.resolved(transitions.touched_rows(self._node), steps))
        judged = transitions.transitions(self._node, addressed=addressed)
        found = self._compute(self._leaves.sql(judged, steps), "transitions", fetched=self._small)
        steps[transitions.TRANSITIONS] = found.name
        if self._counts(found, transitions.FLAG)[0]:
            found = self._recompute(steps, addressed=addressed)
            steps[transitions.TRANSITIONS] = found.name
        gone, came = self._counts(found, transitions.GONE, transitions.CAME)
        if not gone and not came:
            return NOTHING
        if found.rows is not None or self._node.label != PUBLIC:
            changes = self._session.sql(self._leaves.sql(transitions.change(self._node), steps))
            self._leaves.set_changes(self._node.leaf, changes, gone + came, None)
            self._change = (changes, None) if found.rows is not None else None
        return self._placer.groups(found, {**steps, TARGET: self._target}, gone, came)

    def _recompute(self, steps: dict[StepLeaf, exp.Expr], *, addressed: bool) -> Computed:
        """Compute flagged groups from their rows, and put them in the place of what could not be merged."""
        keys = self._compute(
            self._leaves.sql(transitions.flagged_keys(self._node), steps), "groups", fetched=self._small
        )
        steps[GROUPS] = keys.name
        self._leaves.set_bounds(GROUPS, keys.rows)
        steps[RECOMPUTED] = exp.Subquery(this=self._leaves.resolved(merge.recomputed(self._node), steps))
        text = self._leaves.sql(transitions.settled(self._node, addressed=addressed), steps)
        return self._compute(text, "settled", fetched=self._small)

    def _counts(self, found: Computed, *flags: str) -> list[int]:
        """In how many rows each flag is set."""
        if found.rows is not None:
            return [int(pc.sum(found.rows.column(flag)).as_py() or 0) for flag in flags]
        sums = ", ".join(f"COALESCE(SUM(CASE WHEN {quote(flag)} THEN 1 ELSE 0 END), 0)" for flag in flags)
        with spark_errors(f"counting the changes of '{self._table}'"):
            return [int(n) for n in self._session.sql(f"SELECT {sums} FROM {quote(found.view)}").collect()[0]]


def _weighted(gone: pa.Table, came: pa.Table) -> pa.Table:
    """Rows that go and rows that come as one change."""
    weights = [-1] * gone.num_rows + [1] * came.num_rows
    return pa.concat_tables([gone, came]).append_column(WEIGHT, pa.array(weights, pa.int64()))
