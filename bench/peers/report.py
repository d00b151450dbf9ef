"""What was measured of each engine, as values, and the table that is printed. Measures nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.process import Memory

HEAD = ("query", "engine", "first answer", "change", "CPU", "memory", "peak", "again", "answers")


@dataclass(frozen=True, slots=True)
class Change:
    """One batch."""

    latency_s: float | None
    """None: the engine does not say when it is done, and the answer is the same as before."""
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Story:
    """One engine with one query."""

    engine: str
    query: int
    first_s: float
    """From the start of the process to the first answer."""
    first_cpu_s: float
    changes: tuple[Change, ...]
    memory: Memory
    """After the last change."""
    again_s: float
    """From its start after a crash to an answer that has a change made meanwhile."""
    again_cpu_s: float
    wrong: tuple[str, ...] = ()

    @property
    def cpu_s(self) -> float:
        """Of a change. The first warms up."""
        return statistics.median(change.cpu_s for change in self.changes[1:] or self.changes)

    @property
    def latency_s(self) -> float | None:
        """Of a change, among those that can be seen."""
        seen = [each.latency_s for each in self.changes[1:] or self.changes if each.latency_s is not None]
        return statistics.median(seen) if seen else None


def show(stories: Sequence[Story]) -> str:
    """The table, query by query, and what is wrong."""
    rows = [HEAD, *(_row(story) for story in sorted(stories, key=lambda story: story.query))]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    wrong = [f"WRONG: {each.engine} q{each.query:02} {said}" for each in stories for said in each.wrong]
    return "\n".join([*lines, "", *_totals(stories), *wrong])


def _row(story: Story) -> tuple[str, ...]:
    answers = len(story.changes) + 2
    latency = story.latency_s
    return (
        f"q{story.query:02}",
        story.engine,
        f"{story.first_s:,.1f} s ({story.first_cpu_s:,.1f})",
        "not seen" if latency is None else f"{latency * 1000:,.0f} ms",
        f"{story.cpu_s:.2f} s",
        f"{story.memory.now_mb:,.0f} MB",
        f"{story.memory.peak_mb:,.0f} MB",
        f"{story.again_s:,.1f} s ({story.again_cpu_s:,.1f})",
        f"{answers - len(story.wrong)} of {answers} right",
    )


def _totals(stories: Sequence[Story]) -> list[str]:
    lines = []
    for engine in dict.fromkeys(story.engine for story in stories):
        of = [story for story in stories if story.engine == engine]
        lines.append(
            f"{engine}: {sum(story.cpu_s for story in of):.2f} s of processor time a change for {len(of)} queries, "
            f"{sum(story.first_cpu_s for story in of):.1f} s to the first answers, "
            f"{sum(story.again_cpu_s for story in of):.1f} s to start again"
        )
    return lines
