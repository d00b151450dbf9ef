"""Closing and opening gates for users: names are checked, what may be a slip is noticed, who did it is written down.

Whom gates hold is in `holds`; how they are kept is in `catalog.gates`.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.clock import Clock
from spark_trickle.errors import UserError
from spark_trickle.events import Noticed, Observer
from spark_trickle.holds import gate_report as report
from spark_trickle.model.gate import GateChange, GateEvent
from spark_trickle.names import INTERNAL_NAMESPACE, TableName, require_storable

CALLS = ("gate_source", "ungate_source", "gate_sources", "ungate_sources")
"""What an engine and a transaction both have, and SQL can call in either."""


@dataclass(frozen=True, slots=True)
class Gating:
    """The gates of one lake."""

    catalog: Catalog
    clock: Clock
    notify: Observer
    stale_after: timedelta
    named: Callable[[str], TableName] = TableName.parse
    """Which table a name means."""

    def gate(self, sources: Sequence[str], *, auto_ungate_on_watermark: bool = False) -> list[report.SourceGate]:
        """Close these together. A table that does not exist yet can be gated, which is told: it may be a slip."""
        names = sources_named(sources, self.named)
        with self.catalog.write() as conn:
            exist = self.catalog.pointers(names, conn)
            found = self.catalog.change_gates(
                closing(names, self.clock.now(), auto_ungate_on_watermark=auto_ungate_on_watermark), conn
            )
        for name in names:
            if name not in exist and not name.is_elsewhere:
                self.notify(Noticed(str(name), f"table '{name}' does not exist yet; it is gated all the same"))
        return [report.source_gate(found[name]) for name in names]

    def ungate(self, sources: Sequence[str]) -> list[report.SourceGate]:
        """Open these together. One that never was closed stays as it is, which is told: it may be a slip."""
        names = sources_named(sources, self.named)
        found = self.catalog.change_gates(opening(names, self.clock.now()))
        for name in names:
            if name not in found:
                self.notify(Noticed(str(name), f"source '{name}' was never gated; nothing was changed"))
        return [report.source_gate(found[name]) for name in names if name in found]

    def source_gates(self) -> list[report.SourceGate]:
        return report.source_gates(self.catalog.gates().values())

    def status(self) -> list[report.BootstrapGateStatus]:
        with self.catalog.read() as conn:
            gates, tables = self.catalog.gates(conn), self.catalog.stream_tables(conn)
        by_name = {table.name: table for table in tables}
        return report.bootstrap_gate_status(gates, by_name, self.clock.now(), self.stale_after)

    def history(self, source: str | None, limit: int) -> list[GateEvent]:
        return list(self.catalog.gate_history(None if source is None else self.named(source), limit))


class GateCalls:
    """The engine's calls about gates."""

    _gating: Gating

    def gate_source(self, source: str, auto_ungate_on_watermark: bool = False) -> report.SourceGate:
        """Hold every stream table that depends on a table, near or far, until it is ungated. It need not exist yet."""
        return self.gate_sources([source], auto_ungate_on_watermark)[0]

    def gate_sources(self, sources: Sequence[str], auto_ungate_on_watermark: bool = False) -> list[report.SourceGate]:
        """Close several gates together."""
        return self._gating.gate(sources, auto_ungate_on_watermark=auto_ungate_on_watermark)

    def ungate_source(self, source: str) -> report.SourceGate | None:
        """Say that a table is loaded; what waited only for it is refreshed by the next tick. None: never gated."""
        return next(iter(self.ungate_sources([source])), None)

    def ungate_sources(self, sources: Sequence[str]) -> list[report.SourceGate]:
        """Open several gates together."""
        return self._gating.ungate(sources)

    def source_gates(self) -> list[report.SourceGate]:
        """Every source that was ever gated, the gated ones first."""
        return self._gating.source_gates()

    def bootstrap_gate_status(self) -> list[report.BootstrapGateStatus]:
        """The same with how long each has been closed and all stream tables that it holds."""
        return self._gating.status()

    def gate_history(self, source: str | None = None, limit: int = 20) -> list[GateEvent]:
        """When gates were closed and opened, and by whom; newest first."""
        return self._gating.history(source, limit)


def sources_named(sources: Sequence[str], named: Callable[[str], TableName]) -> list[TableName]:
    """The tables that a user named, each once."""
    if isinstance(sources, str) or not isinstance(sources, Collection) or not sources:
        raise UserError("no source is named", hint="Give a list of table names, such as ['orders', 'customers']")
    names = list(dict.fromkeys(named(source) for source in sources))
    for name in names:
        if name.namespace == INTERNAL_NAMESPACE:
            raise UserError(f"'{name}' holds state of a stream table and cannot be gated", hint="Gate its sources")
        for part in (name.namespace, name.name):
            require_storable(part, "a table name")
    return names


def closing(
    names: Iterable[TableName], at: datetime, *, auto_ungate_on_watermark: bool = False
) -> tuple[GateChange, ...]:
    by, auto = who(), bool(auto_ungate_on_watermark)
    return tuple(GateChange(source=name, gated=True, at=at, by=by, auto_ungate_on_watermark=auto) for name in names)


def opening(names: Iterable[TableName], at: datetime) -> tuple[GateChange, ...]:
    return tuple(GateChange(source=name, gated=False, at=at, by=who()) for name in names)


_ACTING: ContextVar[str | None] = ContextVar("acting", default=None)


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """What is done in here is done by this person, whoever's process it is."""
    before = _ACTING.set(name)
    try:
        yield
    finally:
        _ACTING.reset(before)


def who() -> str:
    """Who does something: what `gated_by` and `advanced_by` say. Mostly the user of the machine."""
    acting = _ACTING.get()
    if acting is not None:
        return acting
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # A container may run as a number that has no name.
        return "unknown"
