"""Applies the change of one node to its table.

Jobs of a small change, and what each is for. Groups: one or two to compute old and new rows of the touched groups (the
table is broadcast when it is small); when groups must be recomputed, two more; one or two for the MERGE (broadcast,
write). Bags: one to compute the delta, one to append, or two to four to find the removed rows and MERGE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from pyspark.sql import functions as f
from sqlglot import exp

from spark_trickle.delta import merge, transitions
from spark_trickle.delta.differentiate import delta
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
from spark_trickle.errors import InternalError
from spark_trickle.names import TableName, quote
from spark_trickle.spark.failures import spark_errors
from spark_trickle.spark.local import fetch, hand_back, key_predicate, travels
from spark_trickle.spark.relations import Leaves, sql_name
from spark_trickle.spark.write import NOTHING, Writer, Written, delete_by_address

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql import types as t


_SIDE = "_trickle_side"


@dataclass(slots=True)
class _Computed:
    """What a step computed: a view, and its rows when they were fetched."""

    view: str
    schema: t.StructType
    rows: pa.Table | None
    count: int

    @property
    def name(self) -> exp.Expr:
        return sql_name(quote(self.view))


class NodeApplier:
    """Applies changes to the node of one table."""

    def __init__(self, leaves: Leaves, writer: Writer, node: Node, table: TableName) -> None:
        self._leaves = leaves
        self._session = leaves.workspace.session
        self._writer = writer
        self._node = node
        self._table = table
        self._target: exp.Expr = sql_name(table.sql)
        self._small = False
        self._change: DataFrame | None = None

    def public_change(self) -> DataFrame | None:
        """What the last `apply` changed, rows with weights, if it is at hand without computing anything again."""
        return self._change

    def apply(self, changed: frozenset[str]) -> Written:
        self._small = sum(self._leaves.rows_of(name) for name in changed) <= self._leaves.small_rows
        change = delta(self._node, changed, self._leaves.large() if self._small else frozenset())
        if change is None:
            return NOTHING
        steps: dict[str, exp.Expr] = {TARGET: self._target}
        self._share(change, steps)
        if isinstance(self._node.upkeep, Groups):
            return self._groups(change.query, steps)
        if isinstance(self._node.upkeep, Partitions):
            return self._partitions(change, steps)
        if self._node.key == () and self._plain_types():
            return self._one_row()
        return self._rows(self._compute(self._leaves.sql(change.query, steps), "delta", fetched=self._small))

    def _share(self, change: Delta, steps: dict[str, exp.Expr]) -> None:
        """Compute the parts of a change that are used in several places."""
        for part in change.shared:
            found = self._compute(self._leaves.sql(part.query, steps), part.name, fetched=self._small)
            steps[part.name] = found.name
            self._leaves.set_bounds(part.name, found.rows)

    def _partitions(self, change: Delta, steps: dict[str, exp.Expr]) -> Written:
        """Compute touched partitions again."""
        groups = self._compute(self._leaves.sql(change.query, steps), "groups", fetched=self._small)
        if groups.count == 0:
            return NOTHING
        steps = {TARGET: self._target, GROUPS: groups.name}
        self._leaves.set_bounds(GROUPS, groups.rows)
        again = partition_change(self._node)
        self._share(again, steps)
        return self._rows(self._compute(self._leaves.sql(again.query, steps), "delta", fetched=self._small))

    def _rows(self, found: _Computed) -> Written:
        """Write a change that is rows with weights."""
        if found.count == 0:
            return NOTHING
        frame = self._session.table(quote(found.view))
        if found.rows is not None:
            self._change = frame
        if self._node.label != PUBLIC:
            self._leaves.set_changes(self._node.label, frame, found.count, found.rows)
        return self._keyed(found) if self._node.key else self._bag(found)

    def _one_row(self) -> Written:
        """A table of at most one row, over tables of one row: computing it again is the cheapest delta."""
        with spark_errors(f"computing '{self._table}'"):
            frame = self._session.sql(self._leaves.sql(self._node.query))
            both = frame.withColumn(_SIDE, f.lit(True)).unionAll(
                self._session.table(self._table.sql).withColumn(_SIDE, f.lit(False))
            )
            rows = fetch(both)
        now, before = (rows.filter(side).drop_columns(_SIDE) for side in (pc.field(_SIDE), pc.invert(pc.field(_SIDE))))
        if now.to_pylist() == before.to_pylist():
            return NOTHING
        self._writer.replace_rows(self._table, hand_back(self._session, now, frame.schema))
        return Written(now.num_rows, before.num_rows, 1)

    def _plain_types(self) -> bool:
        return travels(self._session.table(self._table.sql).schema)

    def _compute(self, text: str, what: str, *, fetched: bool) -> _Computed:
        """Run a query once: its rows come here when they are few, and stay cached in Spark when they are not."""
        with spark_errors(f"computing the {what} of '{self._table}'"):
            frame = self._session.sql(text)
            schema = frame.schema
            # A join may make many rows of few: what turns out to be too much to bring here stays where it is.
            most = self._leaves.small_rows
            rows = fetch(frame.limit(most + 1)) if fetched and travels(schema) else None
            if rows is not None and rows.num_rows <= most:
                frame, count = hand_back(self._session, rows, schema), rows.num_rows
            else:
                rows, frame = None, self._leaves.keep(frame)
                count = frame.count()
        return _Computed(self._leaves.name_view(f"{what}_{self._node.label}", frame), schema, rows, count)

    def _keyed(self, found: _Computed) -> Written:
        removed, added = self._signs(found)
        steps: dict[str, exp.Expr] = {DELTA: found.name, TARGET: self._target}
        if self._writer.rows(self._table) <= self._leaves.rewrite_rows:
            rows = self._session.sql(self._leaves.sql(merge.keyed_rewritten(self._node), steps))
            self._writer.replace_rows(self._table, rows)
            return Written(added, removed, 1)
        if not self._large():
            self._run(merge.keyed_merge_statement(self._node), steps)
            return Written(added, removed, 1)
        if removed:
            self._run(merge.keyed_removal_statement(self._node), steps)
        return Written(0, removed, int(removed > 0)) + self._append_added(found, added)

    def _append_added(self, found: _Computed, added: int) -> Written:
        """Append the rows of a delta that come, each as often as its weight says."""
        if not added:
            return NOTHING
        listed = ", ".join(quote(name) for name in self._node.columns)
        copies = (
            f"SELECT {listed} FROM {quote(found.view)} "
            f"LATERAL VIEW EXPLODE(SEQUENCE(1, CAST({WEIGHT} AS INT))) AS _trickle_copy WHERE {WEIGHT} > 0"
        )
        self._writer.append(self._table, self._session.sql(copies))
        return Written(added, 0, 1)

    def _large(self) -> bool:
        """Whether the table is too large for a join that cannot broadcast the change, as a MERGE with inserts is."""
        return self._writer.rows(self._table) > self._leaves.large_rows

    def _groups(self, query: exp.Query, steps: dict[str, exp.Expr]) -> Written:
        upkeep = self._node.upkeep
        assert isinstance(upkeep, Groups)
        # The delta goes into the query as it is: partial aggregates, old rows and new rows in one job.
        steps[DELTA] = exp.Subquery(this=self._leaves.resolved(query, steps))
        large = bool(upkeep.keys) and self._large()
        if large:
            partials = self._compute(self._leaves.sql(query, steps), "delta", fetched=self._small)
            steps[DELTA] = partials.name
            steps[TARGET] = exp.Subquery(this=self._leaves.resolved(transitions.touched_rows(self._node), steps))
        found = self._compute(
            self._leaves.sql(transitions.transitions(self._node), steps), "transitions", fetched=self._small
        )
        steps[transitions.TRANSITIONS] = found.name
        if self._counts(found, transitions.FLAG)[0]:
            found = self._recompute(steps)
            steps[transitions.TRANSITIONS] = found.name
        gone, came = self._counts(found, transitions.GONE, transitions.CAME)
        if not gone and not came:
            return NOTHING
        if found.rows is not None or self._node.label != PUBLIC:
            changes = self._session.sql(self._leaves.sql(transitions.change(self._node), steps))
            self._leaves.set_changes(self._node.label, changes, gone + came, None)
            self._change = changes if found.rows is not None else None
        return self._write_groups({**steps, TARGET: self._target}, gone, came, large=large)

    def _write_groups(self, steps: dict[str, exp.Expr], gone: int, came: int, *, large: bool) -> Written:
        rows = self._session.sql(self._leaves.sql(transitions.new_rows(self._node), steps))
        if self._node.key == ():
            self._writer.replace_rows(self._table, rows)
            return Written(came, gone, 1)
        if not large and self._writer.rows(self._table) <= self._leaves.rewrite_rows:
            rows = self._session.sql(self._leaves.sql(transitions.rewritten(self._node), steps))
            self._writer.replace_rows(self._table, rows)
            return Written(came, gone, 1)
        if not large:
            self._run(transitions.write_statement(self._node), steps)
            return Written(came, gone, 1)
        if gone:
            self._run(transitions.removal_statement(self._node), steps)
        if came:
            self._writer.append(self._table, rows)
        return Written(came, gone, int(gone > 0) + int(came > 0))

    def _recompute(self, steps: dict[str, exp.Expr]) -> _Computed:
        """Compute flagged groups from their rows, and put them in the place of what could not be merged."""
        keys = self._compute(
            self._leaves.sql(transitions.flagged_keys(self._node), steps), "groups", fetched=self._small
        )
        steps[GROUPS] = keys.name
        self._leaves.set_bounds(GROUPS, keys.rows)
        steps[RECOMPUTED] = exp.Subquery(this=self._leaves.resolved(merge.recomputed(self._node), steps))
        text = self._leaves.sql(transitions.settled(self._node), steps)
        return self._compute(text, "settled", fetched=self._small)

    def _counts(self, found: _Computed, *flags: str) -> list[int]:
        """In how many rows each flag is set."""
        if found.rows is not None:
            return [int(pc.sum(found.rows.column(flag)).as_py() or 0) for flag in flags]
        sums = ", ".join(f"COALESCE(SUM(CASE WHEN {quote(flag)} THEN 1 ELSE 0 END), 0)" for flag in flags)
        with spark_errors(f"counting the changes of '{self._table}'"):
            return [int(n) for n in self._session.sql(f"SELECT {sums} FROM {quote(found.view)}").collect()[0]]

    def _bag(self, found: _Computed) -> Written:
        removed, added = self._signs(found)
        if removed == 0:
            return self._append_added(found, added)
        target = self._session.table(self._table.sql).schema
        together = added > 0 and not self._large()
        statement = delete_by_address(
            self._table, target, quote(found.view), self._prune(found, target), inserts=together
        )
        deleted = self._writer.statement(self._table, statement).deleted
        if deleted != removed:
            raise InternalError(
                f"'{self._table}' should have lost {removed} rows and lost {deleted}; nothing was published",
                hint=f"refresh_stream_table('{self._table}', mode='FULL') rebuilds it; please report this",
            )
        if together:
            return Written(added, removed, 1)
        return Written(0, removed, 1) + self._append_added(found, added)

    def _signs(self, found: _Computed) -> tuple[int, int]:
        """How many rows the delta removes and adds."""
        if found.rows is not None:
            weights = found.rows.column(WEIGHT).to_pylist()
            return -sum(w for w in weights if w < 0), sum(w for w in weights if w > 0)
        sums = ", ".join(f"COALESCE(SUM(GREATEST({sign}{WEIGHT}, 0)), 0)" for sign in ("-", ""))
        row = self._session.sql(f"SELECT {sums} FROM {quote(found.view)}").collect()[0]
        return int(row[0]), int(row[1])

    def _prune(self, found: _Computed, target: t.StructType) -> str:
        """Bounds of the removed rows, so that files which cannot hold them are not read."""
        if found.rows is None:
            return "TRUE"
        gone = found.rows.filter(pc.less(found.rows.column(WEIGHT), 0))
        bounds = []
        for column in target.fields:
            values = gone.column(column.name)
            if values.null_count == 0:
                predicate = key_predicate(exp.column(column.name, table="trickle_t", quoted=True), gone, column.name)
                if not isinstance(predicate, exp.Boolean):
                    bounds.append(predicate.sql(dialect="spark"))
        return " AND ".join(bounds) or "TRUE"

    def _run(self, statement: exp.Expr, steps: dict[str, exp.Expr]) -> None:
        self._writer.statement(self._table, self._leaves.sql(statement, steps))
