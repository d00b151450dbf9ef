"""How the demo looks: a live screen on a terminal, timestamped lines elsewhere. Both show a `View`; neither counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import IO, TYPE_CHECKING, Protocol, Self

from spark_trickle.cli.demo_board import TableLine, Totals, View, speed

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.live import Live


class Screen(Protocol):
    """Shows the demo while it runs."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def say(self, text: str) -> None:
        """Something that happened once."""
        ...

    def refreshed(self, view: View) -> None:
        """A refresh was published."""
        ...


class LineScreen:
    """One line for each thing that happens."""

    def __init__(self, out: IO[str], now: Callable[[], datetime]) -> None:
        self._out = out
        self._now = now

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def say(self, text: str) -> None:
        self._out.write(f"{self._now():%H:%M:%S}  {text}\n")
        self._out.flush()

    def refreshed(self, view: View) -> None:
        parts = [
            f"{line.name} {_shown_mode(line)} +{line.last.rows_inserted} -{line.last.rows_deleted}"
            for line in view.tables
            if line.last is not None
        ]
        took = f"{view.refresh_ms[-1]:,.0f} ms" if view.refresh_ms else "no time"
        self.say(
            f"refreshed in {took}: {'; '.join(parts)} | {_shown_totals(view.totals)} | {view.checks} checks, "
            f"{len(view.violations)} violations | {_shown_writes(view)}"
        )


class LiveScreen:
    """The whole board, redrawn several times a second."""

    def __init__(self, view: Callable[[], View], out: IO[str]) -> None:
        self._view = view
        self._out = out
        self._began = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(get_renderable=self._render, console=Console(file=self._out), refresh_per_second=6)
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(text, style="dim", highlight=False)

    def refreshed(self, view: View) -> None:
        """Nothing to do: the screen is redrawn anyway."""

    def _render(self) -> RenderableType:
        return board(self._view(), time.monotonic() - self._began)


def board(view: View, elapsed_seconds: float) -> Group:
    """The screen at one moment."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    title = Text.assemble(
        ("spark-trickle demo", "bold"),
        f"   {int(elapsed_seconds) // 60:02d}:{int(elapsed_seconds) % 60:02d}   ",
        (view.phase, "cyan"),
    )
    return Group(
        title,
        Panel(_source_line(view), title="source", title_align="left", border_style="blue"),
        Panel(_tables(view), title="stream tables, refreshed at one cut and published together", title_align="left"),
        Panel(
            _consistency(view),
            title="consistency",
            title_align="left",
            border_style="red" if view.violations else "green",
        ),
        Panel(
            _bars(view),
            title="incremental against recomputing",
            title_align="left",
            border_style="yellow",
        ),
    )


def _bars(view: View) -> RenderableType:
    """The two medians as lengths, then in words."""
    from rich.text import Text

    refresh_ms, full_ms = view.median_refresh_ms, view.median_full_ms
    if refresh_ms is None or full_ms is None:
        return Text("a full recompute is measured in the course of the run")
    longest = max(refresh_ms, full_ms)
    lines = Text()
    for title, millis, style in (("refresh", refresh_ms, "green"), ("recompute", full_ms, "yellow")):
        lines.append(f"{title:<10}")
        lines.append("█" * max(1, round(40 * millis / longest)), style=style)
        lines.append(f" {millis:,.0f} ms\n")
    lines.append(speed(refresh_ms, full_ms), style="dim")
    return lines


def _source_line(view: View) -> RenderableType:
    from rich.text import Text

    writes = view.writes
    return Text.assemble(
        ("sales", "bold"),
        f"  {writes.rows:,} rows   {writes.commits} commits   ",
        (f"+{writes.inserted:,} inserted", "green"),
        "   ",
        (f"~{writes.updated:,} updated", "yellow"),
        "   ",
        (f"-{writes.deleted:,} deleted", "red"),
    )


def _tables(view: View) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", expand=True)
    for title in ("name", "last mode"):
        table.add_column(title)
    for title in ("refreshes", "+rows", "-rows", "ms", "jobs"):
        table.add_column(title, justify="right")
    for line in view.tables:
        last = line.last
        mode = _shown_mode(line)
        style = {"DIFFERENTIAL": "green", "FULL": "yellow"}.get(mode, "")
        numbers = (
            ("", "", "", "")
            if last is None
            else (f"{last.rows_inserted:,}", f"{last.rows_deleted:,}", f"{last.duration_ms:,.0f}", str(last.jobs))
        )
        table.add_row(line.name, Text(mode, style=style), str(line.refreshes), *numbers)
    return table


def _consistency(view: View) -> RenderableType:
    from rich.text import Text

    if view.totals is None:
        return Text("no check yet")
    mark = ("  ✓ equal", "bold green") if view.totals.agree else ("  ✗ DIFFERENT", "bold red")
    return Text.assemble(
        "regional_total ",
        (f"{view.totals.regional:,}", "bold"),
        "   product_total ",
        (f"{view.totals.product:,}", "bold"),
        mark,
        f"\n{view.checks} checks by a concurrent reader, {len(view.violations)} violations",
    )


def _shown_mode(line: TableLine) -> str:
    return "" if line.last is None else str(line.last.action)


def _shown_totals(totals: Totals | None) -> str:
    if totals is None:
        return "totals not read yet"
    return f"{totals.regional} = {totals.product} ok" if totals.agree else f"DIFFERENT: {totals}"


def _shown_writes(view: View) -> str:
    writes = view.writes
    return f"sales +{writes.inserted} ~{writes.updated} -{writes.deleted}"
