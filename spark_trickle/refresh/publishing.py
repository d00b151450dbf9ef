"""What a unit that was refreshed comes to for the catalog: pointers to swap, stream tables to update, history."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from spark_trickle.model.publication import Publication, Swap
from spark_trickle.model.stream_table import RefreshMode, StreamTable
from spark_trickle.ports import Workbench
from spark_trickle.refresh.request import MemberResult


def swaps_of(bench: Workbench) -> tuple[Swap, ...]:
    """Compare-and-swaps that make visible what was staged."""
    return tuple(
        Swap(
            name,
            before.location if before else None,
            now.location if now else None,
            (now or before).kind,  # type: ignore[union-attr]
        )
        for name, (before, now) in bench.staged().items()
    )


def publication_of(swaps: tuple[Swap, ...], results: Sequence[MemberResult]) -> Publication:
    return Publication(
        swaps=swaps,
        updated=tuple(result.table for result in results),
        history=tuple(result.history for result in results),
    )


def up_to_date(unit: Iterable[StreamTable], results: Iterable[MemberResult], now: datetime) -> list[StreamTable]:
    """Members that had nothing to do are as fresh as the others: their schedules begin again, too."""
    refreshed = {result.table.name for result in results}
    return [
        replace(table, last_refresh_at=now)
        for table in unit
        if table.name not in refreshed and table.effective_mode is not RefreshMode.IMMEDIATE
    ]


def timed(result: MemberResult, started: float, *, alone: bool) -> MemberResult:
    """A single refresh is billed for pinning, too; members of a group for their own work."""
    if not alone:
        return result
    elapsed = (time.perf_counter() - started) * 1000
    return replace(
        result,
        outcome=replace(result.outcome, duration_ms=elapsed),
        history=replace(result.history, duration_ms=elapsed),
    )
