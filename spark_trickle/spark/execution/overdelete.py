"""Takes from the members of a circle all rows that may have lost a derivation, and those that were derived from such,
until no more are found (`delta/losses.py`). What is left is below the new fixed point; the rounds that follow add the
rest.

Each step is small and stays here: what is new is told apart in Arrow; the members are read once, at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t
from sqlglot import exp

from spark_trickle.delta.losses import GONE, Fall, derived_rows, lost_rows, lost_step, removed
from spark_trickle.delta.plan import WEIGHT, MaintenancePlan
from spark_trickle.delta.sizes import Sizes
from spark_trickle.delta.types import groupable
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName, quote
from spark_trickle.ports import Broken, Window
from spark_trickle.spark.execution.apply import NodeApplier
from spark_trickle.spark.execution.local import fetch, hand_back, most_fetched, travels
from spark_trickle.spark.execution.place import Computed
from spark_trickle.spark.execution.relations import Leaves
from spark_trickle.spark.execution.sharing import KnownChange, netted, plain, tells_apart
from spark_trickle.spark.execution.write import Writer
from spark_trickle.spark.queries.analysis import columns_read
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.sql.leaves import SourceLeaf, StepLeaf
from spark_trickle.storage.windows import Span
from spark_trickle.storage.windows import Window as FeedWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.execution.bench import Bench
    from spark_trickle.storage.changes import ChangeFeed


MOST_NETTED = 2
"""So many times as many rows may come here to be netted as may stay."""
_KNOWN = "_trickle_known"


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken from a member."""

    rows: Computed
    """As a change."""
    removed: int
    leaves: Leaves
    """They hold rows that stayed in Spark."""
    frame: DataFrame | None
    """The change, if it is at hand without computing anything again."""


def net_changes(
    bench: Bench,
    feed: ChangeFeed,
    members: Sequence[StreamTable],
    windows: Mapping[TableName, Mapping[TableName, Window]],
    small_rows: int,
) -> dict[tuple[TableName, Span], KnownChange]:
    """What is left of the changes that are large only because whole files were written anew, by who reads them.

    Every step and every round meets them again; and where they are known to be few, all of these are small.
    """
    plans = {table.name: bench.plan_of(table) for table in members}
    read: dict[TableName, dict[str, None]] = {}
    wide: dict[TableName, FeedWindow] = {}
    for member, changes in windows.items():
        for source, window in changes.items():
            leaf = SourceLeaf(source)
            if isinstance(window, FeedWindow) and window.both_signs and leaf in plans[member].sources:
                read.setdefault(source, {}).update(dict.fromkeys(columns_read(plans[member], leaf)))
                wide.update({source: window} if window.rows > small_rows else {})
    few: dict[TableName, KnownChange] = {}
    for source, window in wide.items():
        with spark_errors(f"reading what changed in '{source}'"):
            frame, rows, most = _netted(feed, window, list(read[source]), small_rows)
        if rows is not None and rows.num_rows <= most:
            gone = int(pc.sum(pc.less(rows.column(WEIGHT), 0)).as_py() or 0)
            known = hand_back(bench.workspace.session, rows, frame.schema)
            few[source] = KnownChange(known, rows.num_rows, gone, empty=not rows.num_rows, here=rows)
    return {
        (member, window.span): few[source]
        for member, changes in windows.items()
        for source, window in changes.items()
        if source in few and isinstance(window, FeedWindow)
    }


def with_netted(
    windows: Mapping[TableName, Mapping[TableName, Window]], netted: Mapping[tuple[TableName, Span], KnownChange]
) -> dict[TableName, dict[TableName, Window]]:
    """The windows, with what is left of them in their place where that is known."""
    return {
        member: {
            source: netted.get((member, window.span), window) if isinstance(window, FeedWindow) else window
            for source, window in changes.items()
        }
        for member, changes in windows.items()
    }


def _netted(
    feed: ChangeFeed, window: FeedWindow, columns: list[str], small_rows: int
) -> tuple[DataFrame, pa.Table | None, int]:
    """A change, its rows if they are few and may come here, and how many are few."""
    frame = feed.frame(window, columns, netted=False)
    most = most_fetched(frame.schema, small_rows)
    if not travels(frame.schema):
        return frame, None, most
    if window.rows <= MOST_NETTED * most and tells_apart(fetch(frame.limit(0)), columns):
        # Brought and netted here, they need not be shuffled.
        return frame, netted(fetch(frame), columns), most
    return frame, fetch(feed.frame(window, columns).limit(most + 1)), most


def take_away(
    bench: Bench,
    members: Sequence[StreamTable],
    windows: Mapping[TableName, Mapping[TableName, Window]],
    summaries: Mapping[TableName, Mapping[str, str]],
) -> dict[TableName, Taken] | Broken:
    """Stage the members without what may be lost. Broken: rows of one cannot be compared."""
    broken = _incomparable(bench, members)
    if broken is not None:
        return broken
    everyone = frozenset(SourceLeaf(table.name) for table in members)
    # Rows that somebody had skipped are no answer: what is derived from rows that are there need not be there.
    answers = all(table.diverged is None for table in members)
    falling: list[_Falling] = []
    taken: dict[TableName, Taken] = {}
    try:
        for table in members:
            falling.append(_Falling(bench, table, windows[table.name], summaries[table.name], everyone, answers))
        _fall(falling)
        for each in falling:
            lost = each.take()
            if lost is not None:
                taken[each.table.name] = lost
    except BaseException:
        for each in falling:
            each.leaves.close()
        raise
    for each in falling:
        if each.table.name not in taken:
            each.leaves.close()
    return taken


def _incomparable(bench: Bench, members: Sequence[StreamTable]) -> Broken | None:
    for table in members:
        for column in bench.workspace.session.table(table.name.sql).schema.fields:
            if not groupable(column.dataType.simpleString()):
                return Broken(f"rows of '{table.name}' cannot be compared, because of its column '{column.name}'")
    return None


def _fall(falling: Sequence[_Falling]) -> None:
    """Find what is lost, until nothing more is. Who comes later in a turn knows what was found earlier in it."""
    unseen: dict[TableName, dict[TableName, list[Computed]]] = {each.table.name: {} for each in falling}

    def tell(name: TableName, rows: Computed | None) -> None:
        if rows is not None:
            for peers in unseen.values():
                peers.setdefault(name, []).append(rows)

    for each in falling:
        tell(each.table.name, each.lose(None))
    while any(unseen.values()):
        for each in falling:
            new, unseen[each.table.name] = unseen[each.table.name], {}
            if new:
                tell(each.table.name, each.lose(new))


@dataclass(slots=True)
class _Falling:
    """One member, while rows are found that may be lost."""

    bench: Bench
    table: StreamTable
    windows: Mapping[TableName, Window]
    summary: Mapping[str, str]
    everyone: frozenset[SourceLeaf]
    derived_alike: bool
    """Whether `derived_rows` may say what is lost."""
    plan: MaintenancePlan = field(init=False)
    leaves: Leaves = field(init=False)
    applier: NodeApplier = field(init=False)
    schema: t.StructType = field(init=False)
    gone: Computed | None = None

    def __post_init__(self) -> None:
        self.plan = self.bench.plan_of(self.table)
        self.leaves = self.bench.leaves_of(self.table, self.windows)
        writer = Writer(self.bench.workspace.session, self.summary)
        self.applier = NodeApplier(self.leaves, writer, self.plan.public, self.table.name)
        self.schema = self.bench.workspace.session.table(self.table.name.sql).schema

    def lose(self, new: Mapping[TableName, Sequence[Computed]] | None) -> Computed | None:
        """Rows that are lost because of others that are, and were not known to be; None: there are none.

        Args:
            new: rows of members that were found in the step before. None: it begins, with what changed outside.
        """
        changed = {SourceLeaf(name): window.insert_only for name, window in self.windows.items()}
        falling = None if new is None else frozenset(SourceLeaf(name) for name in new)
        fall = Fall(self.everyone, changed, falling)
        steps: dict[StepLeaf, exp.Expr] = {}
        for name, parts in (new or {}).items():
            rows = self._together(parts)
            steps[lost_step(name)] = rows.name
            self.leaves.set_bounds(lost_step(name), rows.rows)
        if self.gone is not None:
            steps[GONE] = self.gone.name
        self.bench.workspace.speak(self.table.meaning)
        found = self._lost(fall, steps)
        if found is None or not found.count:
            return None
        self.gone = found if self.gone is None else self._together([self.gone, found])
        return found

    def _lost(self, fall: Fall, steps: Mapping[StepLeaf, exp.Expr]) -> Computed | None:
        large = Sizes(tables=self.leaves.row_counts(), limits=self.leaves.limits).large
        here = self.derived_alike and (self.gone is None or self.gone.rows is not None)
        derived = derived_rows(self.plan, fall, large=large) if here else None
        if derived is not None:
            schema, rows = self.applier.fetch(derived, steps)
            self.derived_alike = _types(schema) == _types(self.schema)
            if rows is not None and self.derived_alike and tells_apart(rows, rows.column_names):
                return self._new(rows)
        query = lost_rows(self.plan, fall, known=self.gone is not None, large=large)
        return None if query is None else self.applier.compute(query, steps, self._view("lost"))

    def _new(self, rows: pa.Table) -> Computed | None:
        """Those of some rows that were not known to be lost; each once."""
        names = rows.column_names
        marked = [_marked(rows, 0)]
        if self.gone is not None and self.gone.rows is not None:
            marked.append(_marked(self.gone.rows.select(names), 1))
        found = pa.concat_tables(marked).group_by(names).aggregate([(_KNOWN, "max")])
        new = found.filter(pc.equal(found.column(f"{_KNOWN}_max"), 0)).select(names)
        return self._local(new) if new.num_rows else None

    def _local(self, rows: pa.Table) -> Computed:
        frame = hand_back(self.bench.workspace.session, rows, self.schema)
        return Computed(self.leaves.name_view(self._view("lost"), frame), self.schema, rows, rows.num_rows)

    def take(self) -> Taken | None:
        """Take all of them away."""
        if self.gone is None:
            return None
        taken = None if self.gone.rows is None else self.applier.take_rows(self.gone.rows, self.schema)
        if taken is not None:
            written, found = taken
            return Taken(found, written.deleted, self.leaves, self.bench.workspace.session.table(quote(found.view)))
        query, steps = removed(self.plan.public), {GONE: self.gone.name}
        written, found = self.applier.take(query, steps, self._view("removed"))
        session = self.bench.workspace.session
        frame = session.table(quote(found.view)) if found.rows is not None else None
        return Taken(found, written.deleted, self.leaves, frame)

    def _view(self, what: str) -> str:
        """A name that nobody else has: rows of one step are read in the next."""
        return f"{what}_{len(self.bench.workspace.views)}"

    def _together(self, parts: Sequence[Computed]) -> Computed:
        """The rows of several steps."""
        if len(parts) == 1:
            return parts[0]
        here = [part.rows for part in parts if part.rows is not None]
        if len(here) == len(parts):
            names = here[0].column_names
            return self._local(pa.concat_tables([plain(rows, names) for rows in here]))
        text = " UNION ALL ".join(f"SELECT * FROM {quote(part.view)}" for part in parts)
        view = self.leaves.name_view(self._view("lost"), self.bench.workspace.session.sql(text))
        return Computed(view, parts[0].schema, None, sum(part.count for part in parts))


def _marked(rows: pa.Table, known: int) -> pa.Table:
    return plain(rows, rows.column_names).append_column(_KNOWN, pa.array([known] * rows.num_rows, pa.int8()))


def _types(schema: t.StructType) -> list[str]:
    return [column.dataType.simpleString() for column in schema.fields]
