"""Gates as users see them: one row a source that was ever gated, and with it how long and whom it holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from spark_trickle.holds.gated import gated
from spark_trickle.holds.stale import is_stale
from spark_trickle.model.gate import Gate
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceGate:
    """One gate, as `source_gates` lists it."""

    source_table: str
    schema_name: str
    gated: bool
    gated_at: datetime
    ungated_at: datetime | None
    gated_by: str
    auto_ungate_on_watermark: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapGateStatus(SourceGate):
    """One gate, as `bootstrap_gate_status` lists it."""

    gate_duration: timedelta
    """How long it has been closed, or was."""
    affected_stream_tables: tuple[str, ...]
    """All that it holds, near and far; of an open gate, all that it would hold."""
    stale: bool
    """Closed for longer than `gate_stale_warning_seconds`."""


def source_gate(gate: Gate) -> SourceGate:
    return SourceGate(**_told(gate))


def source_gates(gates: Iterable[Gate]) -> list[SourceGate]:
    """Closed ones first, then by name."""
    return [source_gate(gate) for gate in _in_order(gates)]


def bootstrap_gate_status(
    gates: Mapping[TableName, Gate], tables: Mapping[TableName, StreamTable], now: datetime, stale_after: timedelta
) -> list[BootstrapGateStatus]:
    """Closed ones first, then by name."""
    affected: dict[TableName, list[str]] = defaultdict(list)
    as_if_closed = {name: replace(gate, gated=True) for name, gate in gates.items()}
    for name, holds in gated(tables, as_if_closed).items():
        for hold in holds:
            affected[hold.cause].append(str(name))
    return [
        BootstrapGateStatus(
            **_told(gate),
            gate_duration=gate.duration(now),
            affected_stream_tables=tuple(affected[gate.source]),
            stale=is_stale(gate, now, stale_after),
        )
        for gate in _in_order(gates.values())
    ]


def _told(gate: Gate) -> dict[str, Any]:
    """What every report tells of a gate."""
    return {
        "source_table": gate.source.name,
        "schema_name": gate.source.schema,
        "gated": gate.gated,
        "gated_at": gate.gated_at,
        "ungated_at": gate.ungated_at,
        "gated_by": gate.gated_by,
        "auto_ungate_on_watermark": gate.auto_ungate_on_watermark,
    }


def _in_order(gates: Iterable[Gate]) -> list[Gate]:
    return sorted(gates, key=lambda gate: (not gate.gated, gate.source))
