"""Applies the change of one node to its table: the delta is computed, fetched when small, and merged.

Jobs of a small change, and what each is for: one to compute the delta and bring it here; for groups that lost rows and
hold MIN, MAX or floating sums, one to see which of them must be recomputed; one or two for the MERGE (broadcast, write).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from sqlglot import exp

from spark_trickle.delta import merge
from spark_trickle.delta.differentiate import delta
from spark_trickle.delta.plan import DELTA, GROUPS, RECOMPUTED, TARGET, WEIGHT, Groups, Node
from spark_trickle.errors import InternalError
from spark_trickle.names import TableName, quote
from spark_trickle.spark.failures import spark_errors
from spark_trickle.spark.local import fetch, hand_back, key_predicate, travels
from spark_trickle.spark.relations import Leaves
from spark_trickle.spark.write import NOTHING, Writer, Written, delete_by_address

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import types as t

LOST = "_trickle_lost"


@dataclass(slots=True)
class _Delta:
    """A computed delta: a view, and its rows when they were fetched."""

    view: str
    schema: t.StructType
    rows: pa.Table | None
    count: int


class NodeApplier:
    """Applies changes to the node of one table."""

    def __init__(self, leaves: Leaves, writer: Writer, node: Node, table: TableName) -> None:
        self._leaves = leaves
        self._session = leaves.workspace.session
        self._writer = writer
        self._node = node
        self._table = table

    def apply(self, changed: frozenset[str]) -> Written:
        query = delta(self._node, changed)
        if query is None:
            return NOTHING
        small = sum(self._leaves.windows[name].rows for name in changed) <= self._leaves.small_rows
        found = self._compute(query, small=small)
        if found.count == 0:
            return NOTHING
        steps = {DELTA: quote(found.view), TARGET: self._table.sql}
        if isinstance(self._node.upkeep, Groups):
            return self._groups(found, steps)
        if self._node.key is not None:
            return self._run(merge.keyed_merge_statement(self._node), steps)
        return self._bag(found)

    def _compute(self, query: exp.Query, *, small: bool) -> _Delta:
        with spark_errors(f"computing the change of '{self._table}'"):
            frame = self._session.sql(self._leaves.sql(query))
            schema = frame.schema
            rows: pa.Table | None = None
            if small and travels(schema) and (isinstance(self._node.upkeep, Groups) or not query.find(exp.Join)):
                rows = fetch(frame)
                frame, count = hand_back(self._session, rows, schema), rows.num_rows
            else:
                frame = self._leaves.keep(frame)
                count = frame.count()
        view = self._leaves.name_view(f"delta_{self._node.label}", frame)
        return _Delta(view, schema, rows, count)

    def _groups(self, found: _Delta, steps: dict[str, str]) -> Written:
        upkeep = self._node.upkeep
        assert isinstance(upkeep, Groups)
        recompute = self._flag(found, steps)
        if not upkeep.keys:
            query = self._node.query if recompute else merge.overwrite_statement(self._node)
            with spark_errors(f"computing '{self._table}'"):
                frame = self._session.sql(self._leaves.sql(query, steps))
            return self._writer.replace_rows(self._table, frame)
        if recompute:
            query = merge.recomputed(self._node)
            with spark_errors(f"recomputing groups of '{self._table}'"):
                frame = self._session.sql(self._leaves.sql(query, steps))
            steps[RECOMPUTED] = quote(self._leaves.name_view(f"recomputed_{self._node.label}", frame))
        return self._run(merge.merge_statement(self._node, with_recomputed=recompute), steps)

    def _flag(self, found: _Delta, steps: dict[str, str]) -> bool:
        """Whether some groups must be recomputed; their keys become step `groups`."""
        query = merge.flagged(self._node)
        if query is None:
            return False
        if (
            found.rows is not None
            and LOST in found.rows.column_names
            and not pc.any(pc.not_equal(found.rows.column(LOST), 0)).as_py()
        ):
            return False
        with spark_errors(f"looking for groups of '{self._table}' to recompute"):
            frame = self._session.sql(self._leaves.sql(query, steps))
            if travels(frame.schema):
                rows = fetch(frame)
                count, frame = rows.num_rows, hand_back(self._session, rows, frame.schema)
            else:
                frame = self._leaves.keep(frame)
                count = frame.count()
        if count == 0:
            return False
        steps[GROUPS] = quote(self._leaves.name_view(f"groups_{self._node.label}", frame))
        return True

    def _bag(self, found: _Delta) -> Written:
        target = self._session.table(self._table.sql).schema
        removed, added = self._signs(found)
        listed = ", ".join(quote(c.name) for c in target.fields)
        if removed == 0:
            copies = (
                f"SELECT {listed} FROM {quote(found.view)} "
                f"LATERAL VIEW EXPLODE(SEQUENCE(1, CAST({WEIGHT} AS INT))) AS _trickle_copy"
            )
            return self._writer.append(self._table, self._session.sql(copies))
        statement = delete_by_address(
            self._table, target, quote(found.view), self._prune(found, target), inserts=added > 0
        )
        written = self._writer.statement(self._table, statement)
        if written.deleted != removed:
            raise InternalError(
                f"'{self._table}' should have lost {removed} rows and lost {written.deleted}; nothing was published",
                hint=f"refresh_stream_table('{self._table}', mode='FULL') rebuilds it; please report this",
            )
        return written

    def _signs(self, found: _Delta) -> tuple[int, int]:
        """How many rows the delta removes and adds."""
        if found.rows is not None:
            weights = found.rows.column(WEIGHT).to_pylist()
            return -sum(w for w in weights if w < 0), sum(w for w in weights if w > 0)
        row = self._session.sql(
            f"SELECT COALESCE(SUM(GREATEST(-{WEIGHT}, 0)), 0), COALESCE(SUM(GREATEST({WEIGHT}, 0)), 0) FROM {quote(found.view)}"
        ).collect()[0]
        return int(row[0]), int(row[1])

    def _prune(self, found: _Delta, target: t.StructType) -> str:
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

    def _run(self, statement: exp.Expr, steps: dict[str, str]) -> Written:
        return self._writer.statement(self._table, self._leaves.sql(statement, steps))
