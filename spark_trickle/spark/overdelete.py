"""Takes from the members of a circle all rows that may have lost a derivation, and those that were derived from such,
until no more are found (`delta/losses.py`). What is left is below the new fixed point; the rounds that follow add the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.delta.losses import GONE, Fall, lost_rows, lost_step, removed
from spark_trickle.delta.plan import MaintenancePlan
from spark_trickle.delta.types import groupable
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName, quote
from spark_trickle.ports import Broken, Window
from spark_trickle.spark.apply import NodeApplier
from spark_trickle.spark.place import Computed
from spark_trickle.spark.relations import Leaves, sql_name
from spark_trickle.spark.write import Writer
from spark_trickle.sql.leaves import SourceLeaf, StepLeaf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.bench import Bench


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


def take_away(
    bench: Bench,
    members: Sequence[StreamTable],
    windows: Mapping[TableName, Mapping[TableName, Window]],
    summaries: Mapping[TableName, Mapping[str, str]],
) -> dict[TableName, Taken] | Broken:
    """Stage the members without what may be lost. Broken: rows of one cannot be compared."""
    for table in members:
        for column in bench.workspace.session.table(table.name.sql).schema.fields:
            if not groupable(column.dataType.simpleString()):
                return Broken(f"rows of '{table.name}' cannot be compared, because of its column '{column.name}'")
    everyone = frozenset(SourceLeaf(table.name) for table in members)
    falling = [_Falling(bench, table, windows[table.name], summaries[table.name], everyone) for table in members]
    new = {each.table.name: rows for each in falling if (rows := each.lose(None)) is not None}
    while new:
        new = {each.table.name: rows for each in falling if (rows := each.lose(new)) is not None}
    taken: dict[TableName, Taken] = {}
    for each in falling:
        lost = each.take()
        if lost is None:
            each.leaves.close()
        else:
            taken[each.table.name] = lost
    return taken


@dataclass(slots=True)
class _Falling:
    """One member, while rows are found that may be lost."""

    bench: Bench
    table: StreamTable
    windows: Mapping[TableName, Window]
    summary: Mapping[str, str]
    everyone: frozenset[SourceLeaf]
    plan: MaintenancePlan = field(init=False)
    leaves: Leaves = field(init=False)
    applier: NodeApplier = field(init=False)
    gone: list[Computed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plan = self.bench.plan_of(self.table)
        self.leaves = self.bench.leaves_of(self.table, self.windows)
        writer = Writer(self.bench.workspace.session, self.summary)
        self.applier = NodeApplier(self.leaves, writer, self.plan.public, self.table.name)

    def lose(self, new: Mapping[TableName, Computed] | None) -> Computed | None:
        """Rows that are lost because of others that are, and were not known to be; None: there are none.

        Args:
            new: rows of members that were found in the step before. None: it begins, with what changed outside.
        """
        changed = {SourceLeaf(name): window.insert_only for name, window in self.windows.items()}
        falling = None if new is None else frozenset(SourceLeaf(name) for name in new)
        fall = Fall(self.everyone, changed, falling)
        query = lost_rows(self.plan, fall, known=bool(self.gone), large=self.leaves.large())
        if query is None:
            return None
        steps: dict[StepLeaf, exp.Expr] = {}
        for name, rows in (new or {}).items():
            steps[lost_step(name)] = rows.name
            self.leaves.set_bounds(lost_step(name), rows.rows)
        if self.gone:
            steps[GONE] = self._all_gone()
        self.bench.workspace.speak(self.table.meaning)
        found = self.applier.compute(query, steps, self._view("lost"))
        if not found.count:
            return None
        self.gone.append(found)
        return found

    def take(self) -> Taken | None:
        """Take all of them away."""
        if not self.gone:
            return None
        query, steps = removed(self.plan.public), {GONE: self._all_gone()}
        written, found = self.applier.take(query, steps, self._view("removed"))
        session = self.bench.workspace.session
        frame = session.table(quote(found.view)) if found.rows is not None else None
        return Taken(found, written.deleted, self.leaves, frame)

    def _view(self, what: str) -> str:
        """A name that nobody else has: rows of one step are read in the next."""
        return f"{what}_{len(self.bench.workspace.views)}"

    def _all_gone(self) -> exp.Expr:
        if len(self.gone) == 1:
            return sql_name(quote(self.gone[0].view))
        text = " UNION ALL ".join(f"SELECT * FROM {quote(rows.view)}" for rows in self.gone)
        view = self.leaves.name_view(self._view("gone"), self.bench.workspace.session.sql(text))
        return sql_name(quote(view))
