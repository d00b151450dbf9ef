"""Whether AUTO refreshes a stream table by its changes or computes the query again, from what either took before. Pure.

A recomputation that AUTO chooses for its speed writes only the public table: internal state is left behind, and is made
anew should AUTO come back to differential refreshes. On small tables both take no time, and nothing is chosen.
"""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import Costs, RefreshMode, StreamTable
from spark_trickle.refresh.decide import Rebuild

LARGE_ROWS = 1_000_000
"""Sources with fewer rows together are not worth the question."""
MARGIN = 1.2
"""So many times faster must recomputing be: who keeps changes small should not lose by chance."""
WORTH_MEASURING = 0.5
"""What part of building the table with its state a differential refresh must take before recomputing is measured."""
SLOW_MS = 1000.0
"""Differential refreshes that take less are never second-guessed."""
GROWTH = 2.0
"""Once the sources have grown so much, what recomputing took says little: differential refreshes are tried again."""


def worth_asking(table: StreamTable) -> bool:
    """Whether AUTO may choose, and differential refreshes are slow: known without looking at the sources."""
    auto = table.options.refresh_mode is RefreshMode.AUTO and not table.options.strict
    slow = table.costs.differential_ms is not None and table.costs.differential_ms >= SLOW_MS
    return auto and slow and table.effective_mode is RefreshMode.DIFFERENTIAL


def cheaper_recomputed(table: StreamTable, source_rows: int) -> Rebuild | None:
    """A recomputation, if it is known to be faster, or has to be measured once."""
    costs = table.costs
    if not worth_asking(table) or source_rows < LARGE_ROWS or costs.differential_ms is None:
        return None
    if costs.recompute_ms is not None:
        if source_rows >= costs.rows * GROWTH or costs.recompute_ms * MARGIN >= costs.differential_ms:
            return None
        reason = (
            f"AUTO: the whole query took {_seconds(costs.recompute_ms)}, its last differential refreshes "
            f"{_seconds(costs.differential_ms)}; they are tried again when its sources have doubled"
        )
        return Rebuild(Action.FULL, reason, plain=True)
    if costs.rebuild_ms is None or costs.differential_ms < costs.rebuild_ms * WORTH_MEASURING:
        return None
    reason = (
        f"AUTO measures once what the whole query takes: its last differential refresh took "
        f"{_seconds(costs.differential_ms)}, and building it with its internal state {_seconds(costs.rebuild_ms)}"
    )
    return Rebuild(Action.FULL, reason, plain=True)


def measured(costs: Costs, rebuild: Rebuild | None, duration_ms: float, source_rows: int) -> Costs:
    """The costs after a refresh that computed something (None: a differential one)."""
    if rebuild is None:
        recent = (*costs.recent_ms[-1:], duration_ms)
        # A process that has just started is slow once: of the last two the better one counts.
        return replace(costs, recent_ms=recent)
    if rebuild.plain:
        return replace(costs, recompute_ms=duration_ms, rows=source_rows)
    if source_rows >= costs.rows * GROWTH:
        return Costs(rebuild_ms=duration_ms)  # what was measured on much smaller tables is forgotten
    return replace(costs, rebuild_ms=duration_ms)


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"
