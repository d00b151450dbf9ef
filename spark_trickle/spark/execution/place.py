"""Puts the computed change of a node into its table.

Rows that are at hand are written directly (`storage/direct.py`): tiny tables whole, of others all that it takes is the
addresses of the rows that go. What stayed in Spark because it is large, types that only Spark writes, and tables of an
older format go by MERGE. What is written directly is written while the next node is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t
from sqlglot import exp

from spark_trickle.delta import merge, transitions
from spark_trickle.delta.plan import DELTA, TARGET, WEIGHT, Node
from spark_trickle.delta.sizes import MOST_FILES
from spark_trickle.errors import InternalError
from spark_trickle.names import TableName, quote
from spark_trickle.spark.execution.held import Contents, changed, places
from spark_trickle.spark.execution.local import fetch, hand_back, key_predicate
from spark_trickle.spark.execution.relations import Leaves, sql_name
from spark_trickle.spark.execution.sharing import netted, tells_apart
from spark_trickle.spark.execution.write import (
    NOTHING,
    Direct,
    Writer,
    Written,
    copies,
    delete_by_address,
    keyed_addresses,
    row_addresses,
)
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.sql.leaves import StepLeaf
from spark_trickle.sql.parse import TrickleSpark
from spark_trickle.storage.direct import NO_ADDRESSES, Addresses, fits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(slots=True)
class Computed:
    """What a step computed: a view, and its rows when they were fetched."""

    view: str
    schema: t.StructType
    rows: pa.Table | None
    count: int

    @property
    def name(self) -> exp.Expr:
        return sql_name(quote(self.view))


class Placer:
    """Writes the changes of one node's table."""

    def __init__(self, leaves: Leaves, writer: Writer, node: Node, table: TableName) -> None:
        self._leaves = leaves
        self._session = leaves.workspace.session
        self._writer = writer
        self._node = node
        self._table = table

    @property
    def large(self) -> bool:
        """Whether the table is too large for a join that cannot broadcast the change, as a MERGE with inserts is."""
        return self.rows_before > self._leaves.limits.broadcast_table_rows

    @cached_property
    def rows_before(self) -> int:
        """How many rows the table has, as it is before the change."""
        return self._writer.rows(self._table)

    @cached_property
    def _direct(self) -> Direct | None:
        """The table for writing without Spark."""
        return self._writer.direct(self._table)

    @cached_property
    def contents(self) -> Contents | None:
        """All rows of a table that is tiny and written whole."""
        if self._direct is None:
            return None
        found = self._leaves.contents(self._direct.pin, self._direct.rows)
        return found if found is not None and fits(found.rows.schema, self._direct.schema) else None

    def old_rows(self) -> tuple[exp.Expr, bool]:
        """Where old rows of groups are read, and whether each comes with its address: its place, if they are here."""
        table: exp.Expr = sql_name(self._table.sql)
        if self.contents is not None:
            found = _numbered(self.contents) if self._node.key else self.contents
            return sql_name(quote(self._leaves.view_of(found))), bool(self._node.key)
        if self._direct is None or not self._node.key or self._rewrites(self._direct):
            return table, False
        address = {"_file": transitions.FILE, "_pos": transitions.POSITION}
        named = (exp.alias_(exp.column(hidden), name, quoted=True) for hidden, name in address.items())
        return exp.select("*", *named).from_(table).subquery(), True

    def replace(self, rows: pa.Table) -> None:
        """Let the table hold these rows only."""
        direct = self._direct
        if direct is None or not fits(rows.schema, direct.schema):
            schema = self._session.table(self._table.sql).schema
            self._writer.replace_rows(self._table, hand_back(self._session, rows, schema))
            return
        now = None if self.contents is None else Contents(rows.cast(self.contents.rows.schema), self.contents.schema)

        def work() -> None:
            version = self._writer.replace_directly(direct, rows)
            if now is not None:
                self._leaves.held.put(version, now)

        self._leaves.write(self._node.leaf, now, work)

    def groups(self, found: Computed, steps: dict[StepLeaf, exp.Expr], gone: int, came: int) -> Written:
        """Write the transitions of groups: `gone` rows go and `came` rows come."""
        new = None if found.rows is None else found.rows.filter(pc.field(transitions.CAME))
        if self._node.key == ():
            if new is not None:
                self.replace(new.select(list(self._node.columns)))
            else:
                self._writer.replace_rows(self._table, self._new_rows(steps))
            return Written(came, gone, 1)
        direct = self._direct
        if new is not None and found.rows is not None and transitions.POSITION in found.rows.column_names:
            old = found.rows.filter(pc.field(transitions.GONE))
            rows = new.select(list(self._node.columns))
            if direct is not None and fits(rows.schema, direct.schema):
                files, positions = old.column(transitions.FILE), old.column(transitions.POSITION)
                if self.contents is not None:
                    return self._whole(self.contents, positions.to_pylist(), rows, gone)
                return self._directly(direct, rows, Addresses.of(files, positions), gone)
        return self._groups_by_statement(steps, gone, came, rewrites=self._rewrites(direct))

    def rows(self, found: Computed) -> Written:
        """Write rows with weights."""
        removed, added = self._signs(found)
        direct = None if found.rows is None else self._direct
        if direct is not None and found.rows is not None:
            came = _copies(found.rows, self._node.columns)
            if fits(came.schema, direct.schema):
                if self.contents is not None:
                    gone = places(self.contents.rows, found.rows, self._node.key or ())
                    return self._whole(self.contents, gone, came, removed)
                if not (self._node.key and self._rewrites(direct)):
                    return self._directly(direct, came, self._addresses(found, removed), removed)
        return self._keyed(found, removed, added) if self._node.key else self._bag(found, removed, added)

    def all_copies(self, gone: pa.Table) -> tuple[Written, pa.Table] | None:
        """Take all copies of these rows away, in one look at the table; what was done, and the change. None: the table
        is tiny, or only Spark can write it, or tell its rows apart.
        """
        direct, names = self._direct, list(self._node.columns)
        if direct is None or self.contents is not None or self._rewrites(direct) or not tells_apart(gone, names):
            return None
        gone = gone.select(names)
        schema = self._session.table(self._table.sql).schema
        ones = t.StructType([*(schema[name] for name in names), t.StructField(WEIGHT, t.LongType())])
        rows = gone.append_column(WEIGHT, pa.array([-1] * gone.num_rows, pa.int64()))
        view = self._leaves.name_view(f"gone_{self._node.label}", hand_back(self._session, rows, ones))
        text = copies(self._table, schema, quote(view), self._prune(Computed(view, ones, rows, rows.num_rows), schema))
        with spark_errors(f"looking for rows of '{self._table}'"):
            found = fetch(self._session.sql(text))
        if not fits(found.select(names).schema, direct.schema):
            return None
        addresses = Addresses.of(found.column("_file"), found.column("_pos"))
        written = self._directly(direct, found.select(names).slice(0, 0), addresses, found.num_rows)
        weights = pa.array([-1] * found.num_rows, pa.int64())
        return written, netted(found.select(names).append_column(WEIGHT, weights), names)

    def _rewrites(self, direct: Direct | None) -> bool:
        """Whether a small table is written anew rather than changed."""
        small = self.rows_before <= self._leaves.limits.rewrite_table_rows
        return small and (direct is None or direct.files >= MOST_FILES)

    def _whole(self, contents: Contents, gone: Sequence[int], rows: pa.Table, removed: int) -> Written:
        """Write a tiny table anew."""
        self._require(len(gone), removed)
        self.replace(changed(contents.rows, gone, rows))
        return Written(rows.num_rows, len(gone), 1)

    def _directly(self, direct: Direct, rows: pa.Table, addresses: Addresses, removed: int) -> Written:
        self._require(addresses.count, removed)

        def work() -> None:
            location = self._writer.change_directly(direct, rows, addresses)
            if location is not None:
                self._leaves.lookups.keep(self._session, self._table, location, rows)

        self._leaves.write(self._node.leaf, None, work)
        return Written(rows.num_rows, addresses.count, 1)

    def old_groups(self, partials: Computed) -> exp.Expr | None:
        """The old rows of groups with their addresses, if they can be looked up."""
        beside = self._beside(partials, (transitions.FILE, transitions.POSITION))
        return None if beside is None else sql_name(quote(beside))

    def _beside(self, wanted: Computed, addresses: tuple[str, str]) -> str | None:
        """A view of rows of the table among which those are that are wanted, or are to go; None: it has to be read."""
        rows = wanted.rows
        if rows is None or self.rows_before < self._leaves.lookups.least_rows:
            return None
        if WEIGHT in rows.column_names:
            rows = rows.filter(pc.less(rows.column(WEIGHT), 0))
        keys = self._node.key or self._node.columns
        return self._leaves.addressed(self._table, self._node.columns, rows, keys, addresses)

    def _addresses(self, found: Computed, removed: int) -> Addresses:
        """Where the rows are that a delta takes away."""
        if not removed:
            return NO_ADDRESSES
        target = self._session.table(self._table.sql).schema
        relation, prune = self._table.sql, "TRUE"
        beside = self._beside(found, ("_file", "_pos"))
        if beside is None:
            prune = self._prune(found, target)
        else:
            relation = quote(beside)
        if self._node.key:
            text = keyed_addresses(relation, self._node.key, quote(found.view), prune)
        else:
            text = row_addresses(relation, target, quote(found.view), prune)
        with spark_errors(f"looking for rows of '{self._table}'"):
            rows = fetch(self._session.sql(text))
        return Addresses.of(rows.column(0), rows.column(1))

    def _groups_by_statement(self, steps: dict[StepLeaf, exp.Expr], gone: int, came: int, *, rewrites: bool) -> Written:
        if rewrites:
            rows = self._session.sql(self._leaves.sql(transitions.rewritten(self._node), steps))
            self._writer.replace_rows(self._table, rows)
            return Written(came, gone, 1)
        if not self.large:
            self._run(transitions.write_statement(self._node), steps)
            return Written(came, gone, 1)
        if gone:
            self._run(transitions.removal_statement(self._node), steps)
        if came:
            self._writer.append(self._table, self._new_rows(steps))
        return Written(came, gone, int(gone > 0) + int(came > 0))

    def _new_rows(self, steps: dict[StepLeaf, exp.Expr]) -> DataFrame:
        return self._session.sql(self._leaves.sql(transitions.new_rows(self._node), steps))

    def _keyed(self, found: Computed, removed: int, added: int) -> Written:
        steps: dict[StepLeaf, exp.Expr] = {DELTA: found.name, TARGET: sql_name(self._table.sql)}
        if self.rows_before <= self._leaves.limits.rewrite_table_rows:
            rows = self._session.sql(self._leaves.sql(merge.keyed_rewritten(self._node), steps))
            self._writer.replace_rows(self._table, rows)
            return Written(added, removed, 1)
        if not self.large:
            self._run(merge.keyed_merge_statement(self._node), steps)
            return Written(added, removed, 1)
        if removed:
            self._run(merge.keyed_removal_statement(self._node), steps)
        return Written(0, removed, int(removed > 0)) + self._append_added(found, added)

    def _append_added(self, found: Computed, added: int) -> Written:
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

    def _bag(self, found: Computed, removed: int, added: int) -> Written:
        if removed == 0:
            return self._append_added(found, added)
        target = self._session.table(self._table.sql).schema
        together = added > 0 and not self.large
        statement = delete_by_address(
            self._table, target, quote(found.view), self._prune(found, target), inserts=together
        )
        deleted = self._writer.statement(self._table, statement).deleted
        self._require(deleted, removed)
        if together:
            return Written(added, deleted, 1)
        return Written(0, deleted, 1) + self._append_added(found, added)

    def _require(self, deleted: int, removed: int) -> None:
        """What goes has to be there: otherwise the table is not what the change was computed for."""
        if deleted != removed and not self._writer.may_miss:
            raise InternalError(
                f"'{self._table}' should have lost {removed} rows and lost {deleted}; nothing was published",
                hint=f"refresh_stream_table('{self._table}', mode='FULL') rebuilds it; please report this",
            )

    def _signs(self, found: Computed) -> tuple[int, int]:
        """How many rows the delta removes and adds."""
        if found.rows is not None:
            weights = found.rows.column(WEIGHT).to_pylist()
            return -sum(w for w in weights if w < 0), sum(w for w in weights if w > 0)
        sums = ", ".join(f"COALESCE(SUM(GREATEST({sign}{WEIGHT}, 0)), 0)" for sign in ("-", ""))
        row = self._session.sql(f"SELECT {sums} FROM {quote(found.view)}").collect()[0]
        return int(row[0]), int(row[1])

    def _prune(self, found: Computed, target: t.StructType) -> str:
        """Bounds of the removed rows, so that files which cannot hold them are not read."""
        if found.rows is None:
            return "TRUE"
        gone = found.rows.filter(pc.less(found.rows.column(WEIGHT), 0))
        bounds = []
        for column in target.fields:
            values = gone.column(column.name)
            if values.null_count == 0:
                predicate = key_predicate(exp.column(column.name, table="_trickle_t", quoted=True), gone, column.name)
                if not isinstance(predicate, exp.Boolean):
                    bounds.append(predicate.sql(dialect=TrickleSpark))
        return " AND ".join(bounds) or "TRUE"

    def _run(self, statement: exp.Expr, steps: dict[StepLeaf, exp.Expr]) -> None:
        self._writer.statement(self._table, self._leaves.sql(statement, steps))


def _numbered(contents: Contents) -> Contents:
    """The rows with their places, in the columns of addresses."""
    rows = contents.rows.append_column(transitions.FILE, pa.nulls(contents.rows.num_rows, pa.string()))
    rows = rows.append_column(transitions.POSITION, pa.array(range(rows.num_rows), pa.int64()))
    address = [t.StructField(transitions.FILE, t.StringType()), t.StructField(transitions.POSITION, t.LongType())]
    return Contents(rows, t.StructType([*contents.schema.fields, *address]))


def _copies(rows: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """The rows that come, each as often as its weight says."""
    came = rows.filter(pc.greater(rows.column(WEIGHT), 0))
    weights = np.asarray(came.column(WEIGHT).combine_chunks())
    kept = came.select(list(columns))
    return kept if (weights == 1).all() else kept.take(pa.array(np.repeat(np.arange(len(weights)), weights)))
