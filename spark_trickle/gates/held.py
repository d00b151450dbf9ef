"""Whom closed gates hold: every stream table that depends on a gated source, near or far, with the reasons.

A gate holds whoever reads the source, whoever reads those, and so on. Two kinds are never held themselves: IMMEDIATE
stream tables, which follow each write by definition, and those with `bootstrap_gating = 'ignore'`. What reads them
still depends on the gated source, and is held. Views are inlined: a stream table lists the tables that its views read.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from spark_trickle.model.gate import Gate
from spark_trickle.model.stream_table import BootstrapGating, RefreshMode, StreamTable
from spark_trickle.names import TableName

Readers = Callable[[TableName], Iterable[TableName]]
"""Which stream tables read a table directly."""


@dataclass(frozen=True, slots=True)
class GateReason:
    """One closed gate that holds a stream table."""

    gate: Gate
    via: TableName
    """What the stream table reads on the shortest way to the gated source: that source itself, or a stream table."""

    @property
    def source(self) -> TableName:
        return self.gate.source

    @property
    def direct(self) -> bool:
        return self.via == self.source

    def __str__(self) -> str:
        """As a skip is told: which source, and through whom."""
        return f"source '{self.source}' is gated" + ("" if self.direct else f" ('{self.via}' depends on it)")

    @property
    def next_step(self) -> str:
        return f"ungate_source('{self.source}') when its load is complete"


def held(
    tables: Mapping[TableName, StreamTable], gates: Mapping[TableName, Gate], *, readers: Readers | None = None
) -> dict[TableName, tuple[GateReason, ...]]:
    """Every stream table that is held, and by which gates, both by name.

    `readers` spares building them from the tables, where somebody has them. Without a closed gate nothing is looked at.
    """
    closed = sorted((gate for gate in gates.values() if gate.gated), key=lambda gate: gate.source)
    if not closed:
        return {}
    who_reads = readers or readers_of(tables.values())
    found: dict[TableName, list[GateReason]] = defaultdict(list)
    for gate in closed:
        for name, via in _dependents(gate.source, who_reads).items():
            if name in tables and respects_gates(tables[name]):
                found[name].append(GateReason(gate, via))
    return {name: tuple(found[name]) for name in sorted(found)}


def respects_gates(table: StreamTable) -> bool:
    """Whether a closed gate holds this stream table at all."""
    ignores = table.options.bootstrap_gating is BootstrapGating.IGNORE
    return not ignores and table.effective_mode is not RefreshMode.IMMEDIATE


def readers_of(tables: Iterable[StreamTable]) -> Readers:
    """Who reads what, from what each one reads."""
    found: dict[TableName, set[TableName]] = defaultdict(set)
    for table in tables:
        for source in table.sources:
            found[source.table].add(table.name)
    return lambda name: sorted(found.get(name, ()))


def _dependents(source: TableName, readers: Readers) -> dict[TableName, TableName]:
    """Whoever depends on the source, each with what it reads on its shortest way there; circles end, too."""
    came_from: dict[TableName, TableName] = {}
    pending = deque([source])
    while pending:
        current = pending.popleft()
        for reader in readers(current):
            if reader not in came_from and reader != source:
                came_from[reader] = current
                pending.append(reader)
    return came_from
