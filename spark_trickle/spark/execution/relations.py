"""What the leaves of a plan are during one refresh: tables of the workspace, old versions of them, changes.

Each old version and each change becomes a temporary view of the workspace's session; the SQL that runs is the plan's
SQL with those names in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.util import inheritable_thread_target
from sqlglot import exp

from spark_trickle.delta.sizes import COMPUTED_ROWS, MOST_READ, Limits
from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName, quote
from spark_trickle.rows.keys import is_key
from spark_trickle.spark.execution.held import Contents, Held, floating
from spark_trickle.spark.execution.local import Spares, fetch, hand_back, key_predicate, travels
from spark_trickle.spark.execution.lookups import MOST_ROWS, Asking, Lookups
from spark_trickle.spark.execution.sharing import KnownChange, SharedChanges
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.sql.leaves import (
    KeptLeaf,
    KeyRange,
    Leaf,
    SourceLeaf,
    StateLeaf,
    StepLeaf,
    Version,
    leaf_at,
    leaves_of,
    resolve,
)
from spark_trickle.sql.parse import TrickleSpark
from spark_trickle.storage.bounds import FileBounds
from spark_trickle.storage.iceberg import rows_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.workspaces.workspace import Workspace
    from spark_trickle.storage.windows import Window


@dataclass(slots=True)
class Leaves:
    """Leaves of one stream table's refresh, made when first asked for."""

    workspace: Workspace
    shared: SharedChanges
    lookups: Lookups
    held: Held
    bounds: FileBounds
    pin_of: Callable[[TableName], Pin | None]
    """Which version of a table is current in the workspace."""
    tables: Mapping[KeptLeaf, TableName]
    before: Mapping[KeptLeaf, Pin]
    """The versions that the last refresh read or wrote."""
    columns: Mapping[KeptLeaf, tuple[str, ...]]
    """What the plan reads of each."""
    limits: Limits
    windows: dict[KeptLeaf, Window | KnownChange] = field(default_factory=dict)
    _fetched: dict[Leaf, pa.Table] = field(default_factory=dict)
    """Rows of steps, and of the changes of tables, that are here."""
    _made: dict[tuple[Version, KeptLeaf], str] = field(default_factory=dict)
    _kept: list[DataFrame] = field(default_factory=list)
    _counted: dict[KeptLeaf, int] = field(default_factory=dict)
    _totals: dict[KeptLeaf, int] = field(default_factory=dict)
    _named: dict[StepLeaf, TableName] = field(default_factory=dict)
    _at_hand: dict[tuple[Version, KeptLeaf], str | None] = field(default_factory=dict)
    """Views of tiny tables; None: it has to be read."""
    _looked: int = 0
    _now: dict[KeptLeaf, Contents | None] = field(default_factory=dict)
    """Nodes that were written in this refresh, with their rows where they are at hand."""
    _writer: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1))
    _writing: dict[KeptLeaf, Future[None]] = field(default_factory=dict)
    """Nodes whose tables are being written."""

    def sql(self, query: exp.Expr, steps: Mapping[StepLeaf, exp.Expr] | None = None) -> str:
        """The query as text that runs in the workspace. `steps` are this node's earlier steps."""
        return self.resolved(query, steps).sql(dialect=TrickleSpark)

    def resolved(self, query: exp.Expr, steps: Mapping[StepLeaf, exp.Expr] | None = None) -> exp.Expr:
        """The query over what its leaves are in this workspace."""
        self._prepare_changes(query)

        def relation(version: Version, leaf: Leaf) -> exp.Expr:
            if isinstance(leaf, StepLeaf):
                return (steps or {})[leaf].copy()
            held = self._held_view(version, leaf)
            if held is not None:
                return sql_name(quote(held))
            if version is Version.AFTER:
                self.settle(leaf)
                return sql_name(self.tables[leaf].sql)
            return sql_name(quote(self._view(version, leaf)))

        return resolve(self._with_key_ranges(query), relation)

    def row_counts(self) -> dict[Leaf, int]:
        """How many rows the tables have that are there, about."""
        heads = self.workspace.heads()
        return {leaf: self._total_rows(leaf) for leaf, table in self.tables.items() if table in heads}

    def unchanged(self, sources: Iterable[SourceLeaf]) -> set[SourceLeaf]:
        """Of these sources those in which nothing changed that the plan reads. Brings small changes here."""
        found: set[SourceLeaf] = set()
        listed = tuple(sources)
        self.shared.prefetch({leaf.table: (self.windows[leaf], self.columns.get(leaf)) for leaf in listed})
        for leaf in listed:
            self._bring(leaf, local=True)
            rows = self._fetched.get(leaf)
            if rows is not None:
                self._counted[leaf] = rows.num_rows
                found.update([leaf] if rows.num_rows == 0 else [])
        return found

    def rows_of(self, leaf: KeptLeaf) -> int:
        """Changed rows of a leaf, at the most."""
        return self._counted[leaf] if leaf in self._counted else self.windows[leaf].rows

    def set_changes(self, node: StateLeaf, frame: DataFrame, rows: int, fetched: pa.Table | None) -> None:
        """The change of a node, as it was just computed."""
        self._made[Version.CHANGES, node] = self.name_view(f"changes_{len(self._made)}", frame)
        self._counted[node] = rows
        self.set_bounds(node, fetched)

    def set_table(self, step: StepLeaf, table: TableName) -> None:
        """The table that a step stands for."""
        self._named[step] = table

    def set_bounds(self, leaf: Leaf, rows: pa.Table | None) -> None:
        """Rows whose values bound the key ranges that refer to them; None: they stayed in Spark."""
        if rows is None:
            self._fetched.pop(leaf, None)
        else:
            self._fetched[leaf] = rows

    def write(self, node: StateLeaf, contents: Contents | None, work: Callable[[], None]) -> None:
        """Let a node's table be written while the next node is computed.

        Args:
            contents: the rows that the table will have, if they are at hand.
        """
        self._now[node] = contents
        self._writing[node] = self._writer.submit(inheritable_thread_target(self.workspace.session)(work))

    def forget(self, node: StateLeaf) -> None:
        """What was known of the current rows of a node is no longer so."""
        self._at_hand.pop((Version.AFTER, node), None)

    def settle(self, leaf: KeptLeaf | None = None) -> None:
        """Wait until a node's table is written, or all of them, and raise what went wrong."""
        for each in [leaf] if leaf is not None else list(self._writing):
            waiting = self._writing.get(each)
            if waiting is not None:
                waiting.result()
                self._writing.pop(each, None)

    def close(self) -> None:
        # Nothing may be written any more to a workspace that somebody else is lent next.
        self._writer.shutdown()
        for frame in self._kept:
            plan: Any = frame._jdf
            plan.queryExecution().analyzed().rdd().unpersist(False)

    def keep(self, frame: DataFrame) -> DataFrame:
        """Compute a frame that is too large to fetch, and hold its rows until the refresh ends.

        Not in Spark's cache: that is computed again when a table is written that it was read from, and would then tell
        what has changed as nothing.
        """
        held = frame.localCheckpoint()
        self._kept.append(held)
        return held

    def view_of(self, contents: Contents) -> str:
        """A view of rows that are here. It is never another's: what was asked before may not have been read yet."""
        frame = hand_back(self.workspace.session, contents.rows, contents.schema)
        return self.name_view(f"held_{len(self.workspace.views)}", frame)

    def name_view(self, suffix: str, frame: DataFrame) -> str:
        name = self.workspace.view(f"trickle_{suffix}")
        frame.createOrReplaceTempView(name)
        return name

    def _prepare_changes(self, query: exp.Expr) -> None:
        """Bring small changes here that are used twice or joined: they are broadcast, their keys become literals."""
        uses = Counter(
            leaf for version, leaf in leaves_of(query) if version is Version.CHANGES and not isinstance(leaf, StepLeaf)
        )
        joined = any(True for _ in query.find_all(KeyRange))
        for leaf, count in uses.items():
            self._bring(leaf, local=count > 1 or joined)

    def _bring(self, leaf: KeptLeaf, *, local: bool) -> None:
        if (Version.CHANGES, leaf) in self._made:
            return
        window = self.windows[leaf]
        frame, rows = self.shared.get(self.tables[leaf], window, self.columns.get(leaf), local=local)
        if rows is not None:
            self._fetched[leaf] = rows
        elif local and not isinstance(window, KnownChange):
            frame = self.keep(frame)
        self._made[Version.CHANGES, leaf] = self.name_view(f"changes_{len(self._made)}", frame)

    def contents(self, pin: Pin, total: int, *, in_order: bool = False) -> Contents | None:
        """All rows of a table at its current version; None: it is not tiny, or cannot be brought here.

        Args:
            total: how many rows there are, about.
            in_order: what is computed from floating values must not depend on where they are read.
        """
        if total > self.held.most_rows or pin.snapshot_id is None:
            return None
        found = self.held.get(pin)
        if found is None:
            frame = self.workspace.session.table(pin.table.sql)
            if not travels(frame.schema) or (in_order and floating(frame.schema)):
                return None
            with spark_errors(f"reading '{pin.table}'"):
                rows = fetch(frame.limit(self.held.most_rows + 1))
            if rows.num_rows > self.held.most_rows:
                return None
            found = Contents(rows, frame.schema)
            self.held.put(pin, found)
        return None if in_order and floating(found.schema) else found

    def _held_view(self, version: Version, leaf: KeptLeaf) -> str | None:
        """A view of the rows of a tiny table that are at hand; None: it has to be read."""
        if version is Version.CHANGES:
            return None
        if (version, leaf) not in self._at_hand:
            found = self._held_contents(version, leaf)
            self._at_hand[version, leaf] = None if found is None else self.view_of(found)
        return self._at_hand[version, leaf]

    def _held_contents(self, version: Version, leaf: KeptLeaf) -> Contents | None:
        # A floating sum depends on the order of its rows: that of a source is Spark's, as in the query run in full.
        in_order = isinstance(leaf, SourceLeaf)
        if version is Version.BEFORE:
            found = self.held.get(self.before[leaf]) if leaf in self.before else None
            if found is None or (in_order and floating(found.schema)) or not self._has_columns(found, leaf):
                return None
            return found
        if leaf in self._now:
            return self._now[leaf]
        pin = self.pin_of(self.tables[leaf])
        return None if pin is None else self.contents(pin, self._total_rows(leaf), in_order=in_order)

    def _has_columns(self, contents: Contents, leaf: KeptLeaf) -> bool:
        """Whether rows of an older version have all columns that the plan reads: some may be younger."""
        had = {column.lower() for column in contents.schema.names}
        return had.issuperset(column.lower() for column in self.columns.get(leaf, ()))

    def _view(self, version: Version, leaf: KeptLeaf) -> str:
        if (version, leaf) not in self._made:
            frame = self.shared.rows_at(self.tables[leaf], self.before[leaf].snapshot_id, self.columns.get(leaf))
            self._made[version, leaf] = self.name_view(f"before_{len(self._made)}", frame)
        return self._made[version, leaf]

    def _total_rows(self, leaf: KeptLeaf) -> int:
        """Rows of a leaf's table, about: asked once a refresh."""
        if leaf not in self._totals:
            self._totals[leaf] = rows_in(self.workspace.session, self.tables[leaf])
        return self._totals[leaf]

    def _with_key_ranges(self, query: exp.Expr) -> exp.Expr:
        """The query with bounds in the place of key ranges, or the rows themselves in the place of their table."""
        bounded = query.copy()
        for node in list(bounded.find_all(KeyRange)):
            node.replace(self._key_range(node))
        return bounded

    def _key_range(self, node: KeyRange) -> exp.Expr:
        rows = self._fetched.get(node.rows)
        if rows is None:
            return exp.true()
        # Nothing is looked up by NULL; where no key is NULL, rows without a value are not wanted either.
        if not node.nulls or not rows.column(node.column).null_count:
            return self._within(node, rows, exact=True)
        within = self._within(node, rows, exact=False)
        without = exp.Is(this=node.this.copy(), expression=exp.Null())
        return within if within == exp.true() else exp.paren(exp.or_(within, without))

    def _within(self, node: KeyRange, rows: pa.Table, *, exact: bool) -> exp.Expr:
        """Bounds of the keys; `exact`: if it can be, the very rows that have them, in the place of their table."""
        column, key = node.this, node.column
        beside = node.find_ancestor(exp.Select)
        place: exp.Expr | None = beside.args["from_"].this if beside is not None else None
        at = leaf_at(place)
        if not isinstance(place, exp.Table) or at is None:
            return key_predicate(column, rows, key)
        version, leaf = at
        if isinstance(leaf, StepLeaf):
            table = self._named.get(leaf)
            return key_predicate(column, rows, key, None if table is None else self._spares(table, column.name))
        stored = exact and version is not Version.CHANGES and _is_conjunct(node)
        if stored:
            found = self._looked_up(version, leaf, column.name, rows.column(key))
            if found is not None:
                place.replace(exp.alias_(sql_name(quote(found)), place.alias, table=True, quoted=True))
                return exp.true()
        bounds = key_predicate(column, rows, key, self._spares(self.tables[leaf], column.name))
        if stored and bounds == exp.true() and _computes(beside) and self._total_rows(leaf) > COMPUTED_ROWS:
            return self._among(column, rows, key)
        return bounds

    def _among(self, column: exp.Expr, rows: pa.Table, name: str) -> exp.Expr:
        """Whether a column is one of these keys. The join asks so, too, but after all was computed."""
        keys = rows.select([name]).group_by(name).aggregate([])
        if not is_key(keys.schema.field(name).type):
            return exp.true()
        self._looked += 1
        frame = hand_back(self.workspace.session, keys, from_arrow_schema(keys.schema))
        view = self.name_view(f"among_{self._looked}", frame)
        return exp.In(
            this=column.copy(), query=exp.select(exp.column(name, quoted=True)).from_(sql_name(quote(view))).subquery()
        )

    def _spares(self, table: TableName, column: str) -> Spares:
        """Whether ranges of a column leave enough of a table unread."""
        return lambda ranges: self.bounds.share(self.workspace.session, table, column, ranges) <= MOST_READ

    def _looked_up(self, version: Version, leaf: KeptLeaf, column: str, keys: pa.ChunkedArray) -> str | None:
        """A view of the leaf's rows with these keys; None: it is read itself."""
        columns, table = self.columns.get(leaf), self.tables[leaf]
        if not columns or self._total_rows(leaf) < self.lookups.least_rows:
            return None
        if version is Version.AFTER:
            self.settle(leaf)
        pin = self.before.get(leaf) if version is Version.BEFORE else self.pin_of(table)
        if pin is None or pin.snapshot_id is None:
            return None
        session = self.workspace.session
        # Reading the table once more takes less than so many rows.
        most = min(MOST_ROWS, 2 * self.limits.small_change_rows)
        asking = Asking(table, pin.snapshot_id, column, columns, most, in_order=isinstance(leaf, SourceLeaf))
        found = self.lookups.get(session, self.shared.feed, asking, keys)
        return None if found is None else self._looked_up_view(Contents(*found))

    def addressed(
        self, table: TableName, columns: tuple[str, ...], wanted: pa.Table, keys: Iterable[str], names: tuple[str, str]
    ) -> str | None:
        """A view of a table's rows that have some of the wanted keys in one of these columns, with where they are in
        columns of these names; None: they cannot be looked up.
        """
        key = _tells_most(wanted, keys)
        pin = self.pin_of(table)
        if key is None or pin is None or pin.snapshot_id is None or not self.lookups.on:
            return None
        most = min(MOST_ROWS, 2 * self.limits.small_change_rows)
        asking = Asking(table, pin.snapshot_id, key, columns, most, in_order=False, addresses=names)
        found = self.lookups.get(self.workspace.session, self.shared.feed, asking, wanted.column(key))
        return None if found is None else self._looked_up_view(Contents(*found))

    def _looked_up_view(self, found: Contents) -> str:
        self._looked += 1
        return self.name_view(f"lookup_{self._looked}", hand_back(self.workspace.session, found.rows, found.schema))


def _tells_most(wanted: pa.Table, keys: Iterable[str]) -> str | None:
    """The column by which rows are best looked up: none of its values is NULL, which equals NULL where rows are told
    apart and is no key, and it has the most of them."""
    useful = [key for key in keys if is_key(wanted.schema.field(key).type) and not wanted.column(key).null_count]
    return max(useful, key=lambda key: pc.count_distinct(wanted.column(key)).as_py(), default=None)


def _computes(select: exp.Expr | None) -> bool:
    """Whether it says more than columns of what it reads."""
    return isinstance(select, exp.Select) and not all(
        isinstance(item.unalias(), exp.Column) for item in select.expressions
    )


def _is_conjunct(node: exp.Expr) -> bool:
    """Whether a condition of a WHERE has to hold for every row: it is not one side of an OR."""
    above = node.parent
    while isinstance(above, (exp.And, exp.Paren)):
        above = above.parent
    return isinstance(above, exp.Where)


def sql_name(text: str) -> exp.Table:
    """A quoted name as SQL."""
    return exp.to_table(text, dialect="spark")
