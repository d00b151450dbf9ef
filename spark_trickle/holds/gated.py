"""Held by a closed gate: every stream table that depends on a gated source, near or far.

A gate holds whoever reads the source, whoever reads those, and so on. Two kinds are never held themselves: IMMEDIATE
stream tables, which follow each write by definition, and those with `bootstrap_gating = 'ignore'`. What reads them
still depends on the gated source, and is held. Views are inlined: a stream table lists the tables that its views read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from spark_trickle.holds.rule import Held, Readers, Situation, dependents, readers_of
from spark_trickle.model.gate import Gate
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.stream_table import BootstrapGating, RefreshMode, StreamTable
from spark_trickle.names import TableName


def by_gates(at: Situation) -> Held:
    return gated(at.cut.tables, at.cut.gates, readers=at.readers)


def gated(
    tables: Mapping[TableName, StreamTable], gates: Mapping[TableName, Gate], *, readers: Readers | None = None
) -> dict[TableName, tuple[Hold, ...]]:
    """Every stream table that is held, and by which gates, both by name. Without a closed gate nothing is looked at."""
    closed = sorted((gate for gate in gates.values() if gate.gated), key=lambda gate: gate.source)
    if not closed:
        return {}
    who_reads = readers or readers_of(tables.values())
    found: dict[TableName, list[Hold]] = defaultdict(list)
    for gate in closed:
        for name, via in dependents(gate.source, who_reads).items():
            if name in tables and respects_gates(tables[name]):
                found[name].append(_hold(name, gate.source, via))
    return {name: tuple(found[name]) for name in sorted(found)}


def respects_gates(table: StreamTable) -> bool:
    """Whether a closed gate holds this stream table at all."""
    ignores = table.options.bootstrap_gating is BootstrapGating.IGNORE
    return not ignores and table.effective_mode is not RefreshMode.IMMEDIATE


def _hold(name: TableName, source: TableName, via: TableName) -> Hold:
    return Hold(
        code=HoldCode.GATED,
        member=name,
        text=f"source '{source}' is gated" + ("" if via == source else f" ('{via}' depends on it)"),
        next_step=f"ungate_source('{source}') when its load is complete",
        cause=source,
        via=via,
    )
