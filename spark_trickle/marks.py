"""What the graph says beside a name: which circle it is in, and what holds those below it or itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from spark_trickle.circles import scc_ids
from spark_trickle.holds.fuse_report import FuseCondition, condition
from spark_trickle.model.gate import Gate
from spark_trickle.model.stream_table import Status, StreamTable
from spark_trickle.model.watermark import WatermarkGroup
from spark_trickle.names import TableName


def marks(
    tables: Collection[StreamTable], gates: Iterable[Gate], groups: Iterable[WatermarkGroup]
) -> Mapping[str, tuple[str, ...]]:
    """By the name of a stream table or a source; who has none is not there."""
    found: dict[TableName, list[str]] = defaultdict(list)
    for name, number in scc_ids(tables).items():
        found[name].append(f"circle {number}")
    for table in tables:
        if table.status is not Status.ACTIVE:
            found[table.name].append(table.status.value.lower())
        if condition(table) is FuseCondition.BLOWN:
            found[table.name].append("fuse blown")
        if table.diverged is not None:
            found[table.name].append("diverged")
    for gate in gates:
        if gate.gated:
            found[gate.source].append("gated")
    for group in groups:
        for source in group.sources:
            found[source].append(f"watermark group {group.name}")
    return {str(name): tuple(said) for name, said in found.items()}
