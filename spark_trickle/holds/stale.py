"""Gates that were perhaps forgotten: closed for longer than a load should take."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from spark_trickle.model.gate import Gate


def is_stale(gate: Gate, now: datetime, limit: timedelta) -> bool:
    """Whether it has been closed for longer than the limit; no limit (zero) is never passed."""
    return bool(limit) and gate.gated and gate.duration(now) > limit


def newly_stale(gates: Iterable[Gate], *, before: datetime | None, now: datetime, limit: timedelta) -> tuple[Gate, ...]:
    """Those that passed the limit between two looks, so that each is warned about once; at a first look, all."""
    return tuple(
        gate
        for gate in sorted(gates, key=lambda gate: gate.source)
        if is_stale(gate, now, limit) and (before is None or not is_stale(gate, before, limit))
    )


def warning(gate: Gate, now: datetime) -> str:
    """
    >>> from datetime import UTC
    >>> from spark_trickle.names import TableName
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> gate = Gate(source=TableName.parse("orders"), gated=True, gated_at=noon, gated_by="etl")
    >>> warning(gate, noon + timedelta(minutes=90))
    "source 'orders' has been gated for 1h30m, by etl: is the load still running? ungate_source('orders') opens it"
    """
    return (
        f"source '{gate.source}' has been gated for {shown(gate.duration(now))}, by {gate.gated_by}: is the load still "
        f"running? ungate_source('{gate.source}') opens it"
    )


def shown(duration: timedelta) -> str:
    """A duration in its two largest units.

    >>> shown(timedelta(days=1, minutes=5)), shown(timedelta(hours=2, minutes=5, seconds=7)), shown(timedelta(0))
    ('1d', '2h5m', '0s')
    """
    rest = int(duration.total_seconds())
    parts = []
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, seconds)
        parts.append((count, unit))
    first = next((i for i, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count) or "0s"
