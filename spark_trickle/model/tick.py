"""What one pass of the scheduler did."""

from __future__ import annotations

from dataclasses import dataclass

from spark_trickle.html import Shown
from spark_trickle.model.refresh import RefreshOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A stream table that was held, with its whole unit."""

    name: str
    codes: tuple[str, ...]
    reason: str
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A stream table whose refresh failed; nothing of its unit was published."""

    name: str
    error: str
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TickReport(Shown):
    """What one pass did. Units that were not due, or had nothing to do, are only counted."""

    cut: str
    """All refreshes of the tick read this cut."""
    units: int
    """How many there are."""
    refreshed: tuple[RefreshOutcome, ...] = ()
    """In the order in which they were published."""
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()
    duration_ms: float = 0.0

    @property
    def idle(self) -> bool:
        """Whether nothing was tried."""
        return not self.refreshed and not self.failed

    def __str__(self) -> str:
        lines = [
            f"{len(self.refreshed)} refreshed, {len(self.skipped)} skipped, {len(self.failed)} failed, "
            f"{self.units} units, cut {self.cut}, {self.duration_ms:.0f} ms"
        ]
        for done in self.refreshed:
            rows = f"+{done.rows_inserted} -{done.rows_deleted}"
            lines.append(f"  refreshed {done.name}: {done.action} {rows} in {done.duration_ms:.0f} ms")
        lines += [f"  skipped {each.name}: {each.reason}" for each in self.skipped]
        lines += [f"  failed {each.name}: {each.error}" for each in self.failed]
        return "\n".join(lines)
