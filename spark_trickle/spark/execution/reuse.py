"""What an altered stream table can take over of its former internal state: nodes that are kept for both definitions,
whose tables are as they were published, and whose sources can tell what changed since.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spark_trickle.delta.plan import PUBLIC, MaintenancePlan
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName, internal_name
from spark_trickle.ports import Broken, Window
from spark_trickle.spark.queries.analysis import columns_read
from spark_trickle.sql.leaves import SourceLeaf, StateLeaf

if TYPE_CHECKING:
    from spark_trickle.spark.execution.bench import Bench
    from spark_trickle.storage.changes import ChangeFeed


@dataclass(frozen=True, slots=True)
class Reuse:
    """Labels of the nodes that are brought up to date, from where, and by what."""

    table: StreamTable
    """The stream table, at the frontier of what it takes over."""
    labels: tuple[str, ...] = ()
    windows: dict[TableName, Window] = field(default_factory=dict)


def reusable(
    bench: Bench, feed: ChangeFeed, table: StreamTable, plan: MaintenancePlan, former: StreamTable | None
) -> Reuse:
    """The state of the former definition that serves the new one; none if anything about it is in doubt."""
    if former is None or not former.populated:
        return Reuse(table)
    labels: list[str] = []
    sources: set[SourceLeaf] = set()
    for node in plan.nodes:
        below = {leaf.label for leaf in node.inputs if isinstance(leaf, StateLeaf)}
        if node.label != PUBLIC and _intact(bench, table, former, node.label) and below <= set(labels):
            labels.append(node.label)
            sources |= {leaf for leaf in node.inputs if isinstance(leaf, SourceLeaf)}
    windows: dict[TableName, Window] = {}
    for source in sorted(sources):
        name = source.table
        since, here = former.frontier.of(name), bench.pin_of(name)
        if since is None or here is None or since.uuid != here.uuid:
            return Reuse(table)
        window = feed.window(name, since, columns_read(plan, source))
        if isinstance(window, Broken):
            return Reuse(table)
        if not window.empty:
            windows[name] = window
    return Reuse(replace(table, frontier=former.frontier, published=former.published), tuple(labels), windows)


def _intact(bench: Bench, table: StreamTable, former: StreamTable, label: str) -> bool:
    name = internal_name(table.name, label)
    published, here = former.published_pin(name), bench.pin_of(name)
    if name not in former.internal_tables or published is None or here is None or here.uuid != published.uuid:
        return False
    same = (here.snapshot_id, here.schema_id) == (published.snapshot_id, published.schema_id)
    return same or bench.foreign_write(name, published) is None
