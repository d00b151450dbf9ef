"""Carries out the program of one node (`delta/program.py`) with Spark, and has the outcome written.

Queries over few rows run without a job (`on_driver`). As jobs of a small change: groups, one or two to compute old and
new rows of the touched groups; when groups must be computed again, two more. Bags, one to compute the change, two to
find the rows that go. `place` writes what was computed, mostly without a job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t
from sqlglot import exp

from spark_trickle.delta import transitions
from spark_trickle.delta.losses import REMOVED, undone
from spark_trickle.delta.merge import groups_of
from spark_trickle.delta.plan import DELTA, PUBLIC, TARGET, WEIGHT, Bag, Delta, Groups, Node
from spark_trickle.delta.program import (
    Compute,
    Gather,
    Inline,
    Program,
    Step,
    Together,
    Where,
    Writing,
    program,
    shared,
)
from spark_trickle.delta.sizes import Own, Sizes
from spark_trickle.names import TableName, quote
from spark_trickle.spark.execution.local import fetch, hand_back, most_fetched, travels
from spark_trickle.spark.execution.place import Computed, Placer
from spark_trickle.spark.execution.relations import Leaves, sql_name
from spark_trickle.spark.execution.sharing import netted, plain, tells_apart
from spark_trickle.spark.execution.write import NOTHING, Writer, Written
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.parallel import in_parallel
from spark_trickle.sql.leaves import KeptLeaf, StepLeaf
from spark_trickle.storage.netting import net

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class NodeApplier:
    """Applies changes to the node of one table."""

    def __init__(
        self, leaves: Leaves, writer: Writer, node: Node, table: TableName, given_back: Computed | None = None
    ) -> None:
        self._leaves = leaves
        self._session = leaves.workspace.session
        self._node = node
        self._table = table
        self._target: exp.Expr = sql_name(table.sql)
        self._placer = Placer(leaves, writer, node, table)
        self._small = self._addressed = False
        self._steps: dict[StepLeaf, exp.Expr] = {TARGET: self._target}
        """What each step is: a view, a table, or a query."""
        self._found: dict[StepLeaf, Computed] = {}
        """Those that were computed by themselves."""
        self._change: tuple[DataFrame, pa.Table | None] | None = None
        self._given_back = given_back
        """Rows that were taken from the table, as a change: what is applied is told from what it held before that."""

    def public_change(self) -> tuple[DataFrame, pa.Table | None] | None:
        """What the last `apply` changed, rows with weights, if it is at hand without computing anything again; and
        those rows, if they are here."""
        return self._change

    def apply(self, changed: frozenset[KeptLeaf]) -> Written:
        self._steps, self._found = {TARGET: self._target}, {}
        found = program(self._node, changed, self._sizes(changed))
        written = self._carried_out(found) if found is not None else self._only_given_back()
        if written.changed:
            self._leaves.forget(self._node.leaf)
        return written

    def _sizes(self, changed: frozenset[KeptLeaf]) -> Sizes:
        sizes = Sizes(sum(self._leaves.rows_of(leaf) for leaf in changed), limits=self._leaves.limits)
        self._small = sizes.small
        tables = self._leaves.row_counts() if sizes.small else {}
        return Sizes(sizes.changed, tables, self._own(), sizes.limits)

    def _own(self) -> Own:
        """What is known of the node's own table, as far as it matters; and where its old rows are read."""
        if not isinstance(self._node.upkeep, Groups):
            return Own(travels=self._node.key != () or travels(self._session.table(self._table.sql).schema))
        self._addressed = False
        if self._small:
            self._steps[TARGET], self._addressed = self._placer.old_rows()
        return Own(self._placer.rows_before if self._node.upkeep.keys else 0, self._addressed)

    def _carried_out(self, found: Program) -> Written:
        if found.writing is Writing.ROW:
            return self._one_row()
        self._run(found.steps)
        last = self._found.get(found.writes)
        if found.writing is Writing.TRANSITIONS:
            assert last is not None  # nothing that comes before it can leave it out
            return self._groups(last)
        if self._given_back is not None and isinstance(self._node.upkeep, Bag):
            last = self._undone(self._given_back, last)
        return NOTHING if last is None else self._rows(last)

    def _only_given_back(self) -> Written:
        return NOTHING if self._given_back is None else self._rows(self._undone(self._given_back, None))

    def _run(self, steps: Iterable[Step]) -> None:
        for step in steps:
            match step:
                case Compute():
                    text = self._leaves.sql(step.query, self._steps)
                    self._know(step.step, self._compute(text, step.step.name, fetched=self._small))
                case Together():
                    texts = {part.step: self._leaves.sql(part.query, self._steps) for part in step.parts}
                    for leaf, found in self._compute_all(texts).items():
                        self._know(leaf, found)
                case Inline():
                    self._steps[step.step] = exp.Subquery(this=self._leaves.resolved(step.query, self._steps))
                case Gather():
                    self._gather(step)
                case Where() if self._is_any(step):
                    self._run(step.then)

    def _know(self, step: StepLeaf, found: Computed) -> None:
        self._steps[step], self._found[step] = found.name, found
        self._leaves.set_bounds(step, found.rows)

    def _gather(self, step: Gather) -> None:
        """The node's own rows with some keys: looked up with their addresses, or read between bounds."""
        looked_up = self._placer.old_groups(self._found[step.by]) if self._addressed else None
        if looked_up is None:
            self._leaves.set_table(step.step, self._table)
        else:
            self._steps[step.step] = looked_up
        self._steps[step.step] = exp.Subquery(this=self._leaves.resolved(step.query, self._steps))

    def _is_any(self, step: Where) -> bool:
        found = self._found[step.step]
        return (found.count if step.flag is None else self._counts(found, step.flag)[0]) > 0

    def compute(self, query: Delta, steps: Mapping[StepLeaf, exp.Expr], what: str) -> Computed:
        """Run a query about the node that is not its change. Few rows are expected."""
        return self._compute(self._beginning(query, steps), what, fetched=True)

    def fetch(self, query: Delta, steps: Mapping[StepLeaf, exp.Expr]) -> tuple[t.StructType, pa.Table | None]:
        """The same, only to look at the rows. None: they are too many to come here."""
        text = self._beginning(query, steps)
        with spark_errors(f"computing what '{self._table}' may lose"):
            frame, rows = self._begun(text, fetched=True)
            return frame.schema, rows

    def _beginning(self, query: Delta, steps: Mapping[StepLeaf, exp.Expr]) -> str:
        self._small, self._steps, self._found = True, {TARGET: self._target, **steps}, {}
        self._run(shared(query))
        return self._leaves.sql(query.query, self._steps)

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
        """A table of at most one row: computing it again tells whether it differs."""
        names = self._node.columns
        with spark_errors(f"computing '{self._table}'"):
            frame = self._session.sql(self._leaves.sql(self._node.query))
            held = self._placer.contents
            now = fetch(frame)
            before = fetch(self._session.table(self._table.sql)) if held is None else held.rows
        if all(now.column(name).cast(before.schema.field(name).type).equals(before.column(name)) for name in names):
            return NOTHING
        if self._node.label != PUBLIC:
            change = _weighted(before.select(now.column_names).cast(now.schema), now)
            schema = t.StructType([*frame.schema.fields, t.StructField(WEIGHT, t.LongType())])
            changes = hand_back(self._session, change, schema)
            self._leaves.set_changes(self._node.leaf, changes, change.num_rows, change)
        self._placer.replace(now)
        return Written(now.num_rows, before.num_rows, 1)

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
        most = most_fetched(frame.schema, self._leaves.limits.small_change_rows)
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
            if cancels and count <= most_fetched(schema, self._leaves.limits.small_change_rows):
                rows = fetch(frame)
        if rows is not None:
            frame, count = hand_back(self._session, rows, schema), rows.num_rows
        return Computed(self._leaves.name_view(f"{what}_{self._node.label}", frame), schema, rows, count)

    def _groups(self, found: Computed) -> Written:
        """Write what becomes of groups."""
        gone, came = self._counts(found, transitions.GONE, transitions.CAME)
        if not gone and not came:
            return NOTHING
        if found.rows is not None or self._node.label != PUBLIC:
            changes, rows = self._change_of_groups(found)
            self._leaves.set_changes(self._node.leaf, changes, gone + came, rows)
            self._change = (changes, rows) if found.rows is not None else None
        return self._placer.groups(found, {**self._steps, TARGET: self._target}, gone, came)

    def _change_of_groups(self, found: Computed) -> tuple[DataFrame, pa.Table | None]:
        """Old rows out, new rows in. Where rows are here, so are those of the change: others are looked up by them."""
        rows = None if found.rows is None else _old_and_new(found.rows, self._node.columns, groups_of(self._node).keys)
        if rows is None:
            return self._session.sql(self._leaves.sql(transitions.change(self._node), self._steps)), None
        fields = [found.schema[name] for name in self._node.columns]
        schema = t.StructType([*fields, t.StructField(WEIGHT, t.LongType())])
        return hand_back(self._session, rows, schema), rows

    def _counts(self, found: Computed, *flags: str) -> list[int]:
        """In how many rows each flag is set."""
        if found.rows is not None:
            return [int(pc.sum(found.rows.column(flag)).as_py() or 0) for flag in flags]
        sums = ", ".join(f"COALESCE(SUM(CASE WHEN {quote(flag)} THEN 1 ELSE 0 END), 0)" for flag in flags)
        with spark_errors(f"counting the changes of '{self._table}'"):
            return [int(n) for n in self._session.sql(f"SELECT {sums} FROM {quote(found.view)}").collect()[0]]


def _old_and_new(rows: pa.Table, names: Sequence[str], keys: Sequence[str]) -> pa.Table | None:
    """What happened to groups, as rows with weights; None: old and new rows are of different types."""
    before = [name if name in keys else transitions.old(name) for name in names]
    gone = rows.filter(pc.field(transitions.GONE)).select(before).rename_columns(names)
    came = rows.filter(pc.field(transitions.CAME)).select(names)
    return _weighted(plain(gone, names), plain(came, names)) if gone.schema.types == came.schema.types else None


def _weighted(gone: pa.Table, came: pa.Table) -> pa.Table:
    """Rows that go and rows that come as one change."""
    weights = [-1] * gone.num_rows + [1] * came.num_rows
    return pa.concat_tables([gone, came]).append_column(WEIGHT, pa.array(weights, pa.int64()))
