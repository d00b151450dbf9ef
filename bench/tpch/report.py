"""What was measured, as values, and the text that is printed. Knows the targets; measures nothing."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.tpch.queries import NUMBERS, stream_table

AUTO_MOST = 1.2
"""So many times as long as in full may AUTO take, at the most."""
AUTO_COUNTED = 3
"""So many of the last refreshes that were not strict count: those before teach AUTO what either way takes."""


@dataclass(slots=True)
class Query:
    """One query's measurements, in milliseconds."""

    number: int
    refused: str | None = None
    """Why there is no stream table, or why its refresh failed."""
    create_ms: float = 0
    fulls_ms: list[float] = field(default_factory=list)
    """Recomputations, one a cycle."""
    cycles_ms: list[float] = field(default_factory=list)
    """Differential refreshes, one a cycle."""
    cycles_cpu_s: list[float] = field(default_factory=list)
    """Their processor time."""
    fulls_cpu_s: list[float] = field(default_factory=list)
    autos_ms: list[float] = field(default_factory=list)
    """Refreshes that were not strict, one a cycle."""
    auto_action: str = ""
    jobs: int = 0
    commits: int = 0
    wrong: list[str] = field(default_factory=list)
    """Verifications that failed, and refreshes that were not differential."""

    @property
    def measured(self) -> bool:
        return self.refused is None and bool(self.cycles_ms)

    @property
    def differential_ms(self) -> float:
        return _median(self.cycles_ms)

    @property
    def full_ms(self) -> float:
        return _median(self.fulls_ms) if self.fulls_ms else 0

    @property
    def auto_ms(self) -> float:
        return statistics.median(self.autos_ms[-AUTO_COUNTED:])

    @property
    def ratio(self) -> float:
        return self.full_ms / self.differential_ms


@dataclass(slots=True)
class Run:
    """All queries at one scale."""

    scale: float
    changed_rows: int
    total_rows: int
    queries: list[Query]
    together_ms: list[float] = field(default_factory=list)
    """Refreshes of all in one call."""
    together_cpu_s: list[float] = field(default_factory=list)
    together_jobs: list[int] = field(default_factory=list)
    together_wrong: list[str] = field(default_factory=list)

    @property
    def kept(self) -> list[Query]:
        return [query for query in self.queries if query.measured]

    @property
    def wrong(self) -> list[str]:
        return [said for query in self.queries for said in query.wrong] + self.together_wrong


@dataclass(frozen=True, slots=True)
class Target:
    what: str
    met: bool

    def __str__(self) -> str:
        return f"{'met    ' if self.met else 'NOT MET'}  {self.what}"


def show(run: Run) -> str:
    """The table of one scale, and what the queries come to together."""
    measured = ("full", "differential", "ratio", "first cycle", "CPU", "CPU in full", "AUTO", "jobs", "commits")
    head = ("query", *measured, "created in", "")
    rows = [head, *(_row(query) for query in run.queries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    lines = [
        f"TPC-H at scale {run.scale:g}, {run.changed_rows:,} of {run.total_rows:,} rows changed in each cycle.",
        "Full: CREATE OR REPLACE TABLE … AS, right after the refresh in each cycle.",
        "Medians of the cycles after the first, which warms up. AUTO: not strict, the last three refreshes.",
        "",
    ]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    kept = run.kept
    if kept and not _full(kept):
        alone = _ms(sum(q.differential_ms for q in kept))
        lines += [
            "",
            f"{len(kept)} of {len(run.queries)} kept incrementally; one after the other: {alone}; not run in full",
        ]
    elif kept:
        ratios = [query.ratio for query in kept]
        lines += [
            "",
            f"{len(kept)} of {len(run.queries)} kept incrementally, {_faster(kept)} faster than full; "
            f"median ratio {statistics.median(ratios):.2f}×, from {min(ratios):.2f}× to {max(ratios):.2f}×",
            f"one after the other: {_ms(sum(q.differential_ms for q in kept))}; in full: {_ms(_full(kept))}",
        ]
    if run.together_ms and _full(kept):
        lines.append(
            f"all {len(kept)} in one call at one cut: {_ms(_together(run))} against {_ms(_full(kept))} in full, "
            f"{_full(kept) / _together(run):.2f}×"
        )
    elif run.together_ms:
        lines.append(f"all {len(kept)} in one call at one cut: {_ms(_together(run))}")
    if kept:
        lines.append(f"processor time: {_processor(run)}")
    return "\n".join(lines + [f"WRONG: {said}" for said in run.wrong])


def targets(run: Run, *, small_change: bool) -> list[Target]:
    """What this scale should reach; times only for the change of 0.1 % and when all queries ran."""
    if {query.number for query in run.queries} != set(NUMBERS):
        return []
    kept = run.kept
    found = [Target(f"22 of 22 verified: {len(kept)}", len(kept) == len(NUMBERS) and not run.wrong)]
    if not kept or not small_change or run.scale not in (1, 10):
        return found
    faster, at_once = (12, 3.0) if run.scale == 1 else (20, 8.0)
    found.append(Target(f"{faster} of 22 faster than full: {_faster(kept)}", _faster(kept) >= faster))
    if run.scale == 10:
        median = statistics.median(query.ratio for query in kept)
        found.append(Target(f"median ratio ≥ 5×: {median:.2f}×", median >= 5))
    if run.scale == 1 and all(query.autos_ms and query.full_ms for query in kept):
        worst = max(kept, key=lambda query: query.auto_ms / query.full_ms)
        ratio = worst.auto_ms / worst.full_ms
        name = stream_table(worst.number)
        found.append(Target(f"AUTO never over 1.2× of full: {ratio:.2f}× for {name}", ratio <= AUTO_MOST))
    if run.together_ms:
        ratio = _full(kept) / _together(run)
        met = ratio >= at_once and len(kept) == len(NUMBERS)
        found.append(Target(f"all at once ≥ {at_once:g}×: {ratio:.2f}×", met))
    return found


def growth(small: Run, large: Run) -> tuple[str, Target] | None:
    """How the differential times grow with the tables, when as many rows change."""
    before = {query.number: query.differential_ms for query in small.kept}
    factors = {q.number: q.differential_ms / before[q.number] for q in large.kept if q.number in before}
    if not factors:
        return None
    shown = ", ".join(f"{stream_table(number)} {factor:.2f}" for number, factor in factors.items())
    median = statistics.median(factors.values())
    text = f"growth from scale {small.scale:g} to {large.scale:g} with {large.changed_rows:,} changed rows: {shown}"
    return text, Target(f"growth < 2× in the median: {median:.2f}×", median < 2)


def _row(query: Query) -> tuple[str, ...]:
    name = stream_table(query.number)
    full = _ms(query.full_ms) if query.full_ms else ""
    created = _ms(query.create_ms) if query.create_ms else ""
    if not query.measured:
        return (name, full, "", "", "", "", "", "", "", "", created, (query.refused or "no cycle ran")[:120])
    return (
        name,
        full,
        _ms(query.differential_ms),
        f"{query.ratio:.2f}×" if query.full_ms else "",
        _ms(query.cycles_ms[0]),
        _cpu(query.cycles_cpu_s),
        _cpu(query.fulls_cpu_s),
        f"{_ms(query.auto_ms)} {query.auto_action}" if query.auto_action else "",
        str(query.jobs),
        str(query.commits),
        created,
        "WRONG" if query.wrong else "",
    )


def _median(cycles: Sequence[float]) -> float:
    """The first cycle warms up, if there are others."""
    return statistics.median(cycles[1:] or cycles)


def _processor(run: Run) -> str:
    """What all of them took of the processors."""
    cycles, fulls = [query.cycles_cpu_s for query in run.kept], [query.fulls_cpu_s for query in run.kept]
    said = [f"{sum(map(_median, filter(None, cycles))):.1f} s one after the other"]
    if run.together_cpu_s:
        said.append(f"{_cpu(run.together_cpu_s)} and {run.together_jobs[-1]} jobs all in one call")
    if any(fulls):
        said.append(f"{sum(map(_median, filter(None, fulls))):.1f} s in full")
    return ", ".join(said)


def _cpu(seconds: Sequence[float]) -> str:
    return f"{_median(seconds):.1f} s" if seconds else ""


def _ms(value: float) -> str:
    return f"{value:,.0f} ms"


def _full(queries: Iterable[Query]) -> float:
    return sum(query.full_ms for query in queries)


def _faster(queries: Sequence[Query]) -> int:
    return sum(query.ratio > 1 for query in queries)


def _together(run: Run) -> float:
    return statistics.median(run.together_ms)
