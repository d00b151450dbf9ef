"""What happened in the demo so far: counted by three threads, shown by the screen, summed up at the end.

Only numbers that were measured or counted get in here. No Spark and no terminal.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from statistics import median

from spark_trickle.model.refresh import Action, RefreshOutcome


@dataclass(frozen=True, slots=True)
class Writes:
    """Committed writes to the source, and the rows they touched."""

    commits: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    rows: int = 0
    """Rows in the source now."""


@dataclass(frozen=True, slots=True)
class TableLine:
    """One stream table on the screen."""

    name: str
    refreshes: int = 0
    last: RefreshOutcome | None = None
    rows_inserted: int = 0
    rows_deleted: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """What a reader saw in one consistent snapshot: four ways to the same sum."""

    regional: Decimal | None
    """From `exec_summary`."""
    product: Decimal | None
    by_region: Decimal | None
    """Summed by the reader from `revenue_by_region`, in the same snapshot."""
    by_product: Decimal | None

    @property
    def agree(self) -> bool:
        return self.regional is not None and len({self.regional, self.product, self.by_region, self.by_product}) == 1

    def __str__(self) -> str:
        return (
            f"regional_total {self.regional}, product_total {self.product}, "
            f"sum of revenue_by_region {self.by_region}, sum of revenue_by_product {self.by_product}"
        )


@dataclass(frozen=True, slots=True)
class View:
    """Everything at one moment."""

    phase: str = "starting"
    writes: Writes = field(default_factory=Writes)
    tables: tuple[TableLine, ...] = ()
    refresh_ms: tuple[float, ...] = ()
    """Each refresh of all three at one cut that had something to do."""
    full_ms: tuple[float, ...] = ()
    """Each measured recomputation of the same three queries."""
    actions: Mapping[str, int] = field(default_factory=dict)
    checks: int = 0
    violations: tuple[str, ...] = ()
    totals: Totals | None = None
    verified: Mapping[str, bool] = field(default_factory=dict)

    @property
    def median_refresh_ms(self) -> float | None:
        return median(self.refresh_ms) if self.refresh_ms else None

    @property
    def median_full_ms(self) -> float | None:
        return median(self.full_ms) if self.full_ms else None


class Board:
    """The view, and the ways it changes. Any thread may call."""

    def __init__(self, tables: Iterable[str]) -> None:
        self._lock = threading.Lock()
        self._view = View(tables=tuple(TableLine(name) for name in tables))

    def view(self) -> View:
        with self._lock:
            return self._view

    def phase(self, text: str) -> None:
        with self._lock:
            self._view = replace(self._view, phase=text)

    def loaded(self, rows: int) -> None:
        with self._lock:
            self._view = replace(self._view, writes=replace(self._view.writes, rows=rows))

    def wrote(self, *, inserted: int = 0, updated: int = 0, deleted: int = 0) -> None:
        with self._lock:
            old = self._view.writes
            new = Writes(
                commits=old.commits + 1,
                inserted=old.inserted + inserted,
                updated=old.updated + updated,
                deleted=old.deleted + deleted,
                rows=old.rows + inserted - deleted,
            )
            self._view = replace(self._view, writes=new)

    def refreshed(self, outcomes: Iterable[RefreshOutcome], wall_ms: float) -> bool:
        """One refresh of several at one cut; whether it had anything to do. If not, it says nothing about speed."""
        by_name = {outcome.name: outcome for outcome in outcomes}
        worked = any(outcome.action is not Action.NO_DATA for outcome in by_name.values())
        with self._lock:
            view = self._view
            actions = Counter(view.actions) + Counter(str(outcome.action) for outcome in by_name.values())
            self._view = replace(
                view,
                tables=tuple(_after(line, by_name.get(line.name)) for line in view.tables),
                refresh_ms=(*view.refresh_ms, wall_ms) if worked else view.refresh_ms,
                actions=dict(actions),
            )
        return worked

    def recomputed(self, wall_ms: float) -> None:
        with self._lock:
            self._view = replace(self._view, full_ms=(*self._view.full_ms, wall_ms))

    def checked(self, totals: Totals) -> None:
        with self._lock:
            view = self._view
            violations = view.violations if totals.agree else (*view.violations, str(totals))
            self._view = replace(view, checks=view.checks + 1, totals=totals, violations=violations)

    def verified(self, name: str, ok: bool) -> None:
        with self._lock:
            self._view = replace(self._view, verified={**self._view.verified, name: ok})


def _after(line: TableLine, outcome: RefreshOutcome | None) -> TableLine:
    if outcome is None or outcome.action is Action.NO_DATA:
        return line
    return TableLine(
        line.name,
        line.refreshes + 1,
        outcome,
        line.rows_inserted + outcome.rows_inserted,
        line.rows_deleted + outcome.rows_deleted,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How the demo went."""

    ok: bool
    writes: int
    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    refreshes: int
    actions: Mapping[str, int]
    median_refresh_ms: float | None
    median_full_recompute_ms: float | None
    checks: int
    violations: int
    verified: Mapping[str, bool]

    def __str__(self) -> str:
        modes = ", ".join(f"{count} {action}" for action, count in self.actions.items()) or "none"
        wrong = [name for name, ok in self.verified.items() if not ok]
        proof = (
            f"NOT equal to their queries: {', '.join(wrong)}" if wrong else "all equal to their queries, as multisets"
        )
        return "\n".join(
            [
                f"written    {self.writes} commits to sales: {self.rows_inserted:,} rows inserted, "
                f"{self.rows_updated:,} updated, {self.rows_deleted:,} deleted",
                f"refreshed  {self.refreshes} times, three stream tables at one cut ({modes})",
                f"speed      {speed(self.median_refresh_ms, self.median_full_recompute_ms)}",
                f"consistent {self.checks} checks by a concurrent reader, {self.violations} violations",
                f"verified   {proof}",
            ]
        )


def speed(refresh_ms: float | None, full_ms: float | None) -> str:
    """The two medians and what they say; whichever is faster."""
    if refresh_ms is None or full_ms is None:
        return "not measured: the run was too short"
    shown = f"median refresh {refresh_ms:,.0f} ms, median full recompute {full_ms:,.0f} ms"
    if refresh_ms <= full_ms:
        return f"{shown}: {full_ms / refresh_ms:.1f} times faster"
    return f"{shown}: {refresh_ms / full_ms:.1f} times slower at this size; try more --rows"


def summary_of(view: View, expected: Iterable[str]) -> Summary:
    """Ok only if there were checks, none was violated, and every stream table was verified."""
    verified = all(view.verified.get(name, False) for name in expected)
    return Summary(
        ok=verified and view.checks > 0 and not view.violations,
        writes=view.writes.commits,
        rows_inserted=view.writes.inserted,
        rows_updated=view.writes.updated,
        rows_deleted=view.writes.deleted,
        refreshes=len(view.refresh_ms),
        actions=dict(view.actions),
        median_refresh_ms=view.median_refresh_ms,
        median_full_recompute_ms=view.median_full_ms,
        checks=view.checks,
        violations=len(view.violations),
        verified=dict(view.verified),
    )
