"""One value shown as text or as JSON, results on standard output, errors and progress on standard error.

On a terminal, tables are drawn by rich; elsewhere they are aligned lines without borders or colours, for pipes and
logs. What a value means is not known here beyond which of its fields make good columns.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from typing import IO, Protocol

from spark_trickle.cli.phrasing import as_commands
from spark_trickle.clock import SystemClock
from spark_trickle.errors import StreamTableError
from spark_trickle.holds.fuse_report import FuseStatus
from spark_trickle.holds.gate_report import BootstrapGateStatus, SourceGate
from spark_trickle.holds.stale import shown
from spark_trickle.holds.watermark_report import SourceWatermark, WatermarkStatus
from spark_trickle.model.refresh import HistoryRow, RefreshOutcome, Verification
from spark_trickle.names import TableName
from spark_trickle.sla import Sla
from spark_trickle.views import StreamTableStatus, WhyAnswer, as_json


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    truncated: bool = False
    """There are more rows than were fetched."""


class Output(Protocol):
    """Where commands put what they have to say."""

    def show(self, value: object) -> None: ...
    def error(self, err: Exception, hint: str | None = None) -> None: ...
    def progress(self, message: str) -> None:
        """One line about work under way; not part of the result."""
        ...


class _Streams:
    """The two streams of the process, or others."""

    def __init__(self, out: IO[str] | None = None, err: IO[str] | None = None) -> None:
        self._given_out = out
        self._given_err = err

    # Looked up each time: a live screen puts itself in the place of both while it is shown.
    @property
    def _out(self) -> IO[str]:
        return self._given_out or sys.stdout

    @property
    def _err(self) -> IO[str]:
        return self._given_err or sys.stderr

    def progress(self, message: str) -> None:
        self._err.write(message + "\n")
        self._err.flush()


class JsonOutput(_Streams):
    """One JSON document per value."""

    def show(self, value: object) -> None:
        self._out.write(json.dumps(as_json(_by_names(value)), indent=2, ensure_ascii=False) + "\n")

    def line(self, value: object) -> None:
        """One of many, as it happens: a document in one line."""
        self._out.write(json.dumps(as_json(value), ensure_ascii=False) + "\n")
        self._out.flush()

    def error(self, err: Exception, hint: str | None = None) -> None:
        facts = err.as_dict() if isinstance(err, StreamTableError) else _unknown(err)
        if hint is not None:
            facts["hint"] = hint
        self._err.write(json.dumps(as_json(facts), ensure_ascii=False) + "\n")


class TextOutput(_Streams):
    """Text for people: tables on a terminal, aligned lines elsewhere."""

    def show(self, value: object) -> None:
        match value:
            case Rows():
                self._table(value.columns, [[_cell(cell) for cell in row] for row in value.rows])
                if value.truncated:
                    self._write(f"... only the first {len(value.rows)} rows; --limit shows more")
            case list() | tuple():
                self._list(value)
            case _ if type(value) in COLUMNS:
                self._list([value])
            case _ if type(value).__str__ is object.__str__ and is_dataclass(value):
                names = [f.name for f in fields(value)]
                width = max(map(len, names), default=0)
                for name in names:
                    self._write(f"{name.ljust(width)}  {_cell(getattr(value, name))}".rstrip())
            case WhyAnswer():
                self._write(as_commands(str(value)))
            case _:
                self._write(str(value))

    def error(self, err: Exception, hint: str | None = None) -> None:
        known = isinstance(err, StreamTableError)
        self._err.write(f"error: {as_commands(str(err))}\n" if known else f"error: {type(err).__name__}: {err}\n")
        if hint is not None:
            self._err.write(hint + "\n")

    def _list(self, values: Sequence[object]) -> None:
        if not values:
            self._write("nothing to show")
            return
        columns = COLUMNS.get(type(values[0]))
        if columns is None and is_dataclass(values[0]):
            columns = tuple((f.name, _getter(f.name)) for f in fields(values[0]))
        if columns is None:
            for value in values:
                self._write(_cell(value))
            return
        self._table([title for title, _ in columns], [[_cell(get(value)) for _, get in columns] for value in values])

    def _table(self, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        if self._out.isatty():
            _draw(self._out, titles, rows)
            return
        for line in aligned(titles, rows):
            self._write(line)

    def _write(self, line: str) -> None:
        self._out.write(line + "\n")


def output_for(format: OutputFormat) -> Output:
    return JsonOutput() if format is OutputFormat.JSON else TextOutput()


@contextmanager
def spinner(output: Output, message: str) -> Iterator[None]:
    """Say that something takes a while: a spinner on a terminal, one plain line elsewhere."""
    if not sys.stderr.isatty():
        output.progress(message)
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


def aligned(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines: columns padded and two spaces apart, numbers to the right.

    >>> aligned(["name", "n"], [["a", "10"], ["long", "5"]])
    ['name   n', 'a     10', 'long   5']
    """
    flat = [[cell.replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *flat, strict=True)]
    numeric = [bool(flat) and all(_is_number(row[i]) for row in flat) for i in range(len(titles))]
    return [
        "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True)).rstrip()
        for row in (titles, *flat)
    ]


def _draw(out: IO[str], titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for i, title in enumerate(titles):
        number = bool(rows) and all(_is_number(row[i]) for row in rows)
        table.add_column(title, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console(file=out).print(table)


_STYLES = {
    "ACTIVE": "green",
    "COMPLETED": "green",
    "DIFFERENTIAL": "green",
    "ok": "green",
    "ERROR": "red",
    "FAILED": "red",
    "WRONG": "bold red",
    "problem": "red",
    "FULL": "yellow",
    "REINITIALIZE": "yellow",
    "SUSPENDED": "yellow",
}


def _is_number(cell: str) -> bool:
    return cell == "" or cell.replace(",", "").replace(".", "", 1).removeprefix("-").isdecimal()


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.1f}"
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S")
        case list() | tuple():
            return ", ".join(_cell(item) for item in value)
        case _:
            return str(value)


def _getter(name: str) -> Callable[[object], object]:
    return lambda value: getattr(value, name)


def _refreshed(status: StreamTableStatus) -> str:
    if status.refreshing_since is not None:
        return f"now, for {_long(_seconds_since(status.refreshing_since))}"
    if status.last_refresh_at is None:
        return "never"
    return f"{_long(_seconds_since(status.last_refresh_at))} ago"


def _stale(status: StreamTableStatus) -> str:
    seconds = status.staleness_seconds
    return "" if seconds is None else _long(seconds) if seconds else "no"


def _seconds_since(moment: datetime) -> float:
    return max(0.0, (SystemClock().now() - moment).total_seconds())


def _long(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


def _mode(status: StreamTableStatus) -> str:
    wanted, got = status.refresh_mode, status.effective_mode
    return str(got) if wanted == got else f"{got} ({wanted})"


_STATUS: tuple[tuple[str, Callable[[StreamTableStatus], object]], ...] = (
    ("name", lambda s: s.name),
    ("status", lambda s: s.status),
    ("mode", _mode),
    ("schedule", lambda s: s.schedule),
    ("refreshed", _refreshed),
    ("stale", _stale),
    ("rows", lambda s: s.rows),
    ("epoch", lambda s: s.epoch),
    ("errors", lambda s: s.consecutive_errors),
    ("reads", lambda s: s.sources),
    ("reason", lambda s: s.said),
)
_HISTORY: tuple[tuple[str, Callable[[HistoryRow], object]], ...] = (
    ("started", lambda h: h.started_at),
    ("name", lambda h: h.name),
    ("action", lambda h: h.action),
    ("status", lambda h: h.status),
    ("+rows", lambda h: h.rows_inserted),
    ("-rows", lambda h: h.rows_deleted),
    ("ms", lambda h: round(h.duration_ms)),
    ("jobs", lambda h: h.jobs),
    ("by", lambda h: h.initiated_by),
    ("why", lambda h: h.error or h.reason),
)
_OUTCOME: tuple[tuple[str, Callable[[RefreshOutcome], object]], ...] = (
    ("name", lambda o: o.name),
    ("action", lambda o: o.action),
    ("status", lambda o: o.status),
    ("+rows", lambda o: o.rows_inserted),
    ("-rows", lambda o: o.rows_deleted),
    ("ms", lambda o: round(o.duration_ms)),
    ("jobs", lambda o: o.jobs),
    ("reason", lambda o: o.reason),
)
_VERIFICATION: tuple[tuple[str, Callable[[Verification], object]], ...] = (
    ("name", lambda v: v.name),
    ("verified", lambda v: "ok" if v.ok else "WRONG"),
    ("missing rows", lambda v: v.missing_rows),
    ("unexpected rows", lambda v: v.unexpected_rows),
    ("at", lambda v: str(v.frontier)),
    ("sample", lambda v: v.sample),
    ("diverged", lambda v: v.diverged),
    ("notices", lambda v: v.notices),
)

_GATE: tuple[tuple[str, Callable[[SourceGate | BootstrapGateStatus], object]], ...] = (
    ("source", lambda g: str(TableName(g.schema_name, g.source_table))),
    ("gated", lambda g: g.gated),
    ("since", lambda g: g.gated_at),
    ("until", lambda g: g.ungated_at),
    ("by", lambda g: g.gated_by),
)
_GATE_STATUS: tuple[tuple[str, Callable[[BootstrapGateStatus], object]], ...] = (
    *_GATE,
    ("for", lambda g: shown(g.gate_duration) + (" (stale)" if g.stale else "")),
    ("stream tables", lambda g: g.affected_stream_tables),
)

_WATERMARK: tuple[tuple[str, Callable[[SourceWatermark], object]], ...] = (
    ("source", lambda w: str(TableName(w.schema_name, w.source_table))),
    ("watermark", lambda w: w.watermark),
    ("since", lambda w: w.updated_at),
    ("by", lambda w: w.advanced_by),
    ("column", lambda w: w.column),
    ("delay", lambda w: w.delay_secs),
)
_WATERMARK_STATUS: tuple[tuple[str, Callable[[WatermarkStatus], object]], ...] = (
    ("group", lambda w: w.group_name),
    ("mode", lambda w: w.mode),
    ("aligned", lambda w: w.aligned),
    ("min", lambda w: w.min_watermark),
    ("max", lambda w: w.max_watermark),
    ("lag s", lambda w: w.lag_secs),
    ("sources", lambda w: f"{w.sources_with_watermark} of {w.sources_total}"),
    ("stuck", lambda w: w.stuck),
    ("stream tables", lambda w: w.governed),
)

_FUSE: tuple[tuple[str, Callable[[FuseStatus], object]], ...] = (
    ("name", lambda f: f.stream_table),
    ("fuse", lambda f: f.fuse_mode),
    ("state", lambda f: f.fuse_state),
    ("ceiling", lambda f: f.effective_ceiling),
    ("expected rows", lambda f: f.expected_rows),
    ("expected deleted", lambda f: f.expected_deleted),
    ("blown at", lambda f: f.blown_at),
    ("why", lambda f: f.blow_reason or f.diverged),
)

_SLA: tuple[tuple[str, Callable[[Sla], object]], ...] = (
    ("name", lambda s: s.name),
    ("schedule", lambda s: s.schedule if s.promised else "none is written"),
    ("day kept", lambda s: _kept(s.day_percent, s.day_kept, s.day_missed)),
    ("day worst", lambda s: None if s.day_worst_seconds is None else _long(s.day_worst_seconds)),
    ("week kept", lambda s: _kept(s.week_percent, s.week_kept, s.week_missed)),
    ("week worst", lambda s: None if s.week_worst_seconds is None else _long(s.week_worst_seconds)),
    ("unknown", lambda s: s.week_unknown),
    ("counted since", lambda s: s.counted_since),
)


def _kept(percent: float | None, kept: int, missed: int) -> str:
    return "" if percent is None else f"{percent:g}% ({kept} of {kept + missed})"


COLUMNS: dict[type, tuple[tuple[str, Callable[..., object]], ...]] = {
    StreamTableStatus: _STATUS,
    HistoryRow: _HISTORY,
    RefreshOutcome: _OUTCOME,
    Verification: _VERIFICATION,
    SourceGate: _GATE,
    BootstrapGateStatus: _GATE_STATUS,
    SourceWatermark: _WATERMARK,
    WatermarkStatus: _WATERMARK_STATUS,
    FuseStatus: _FUSE,
    Sla: _SLA,
}
"""What a list of these values shows in text; JSON always has every field. Other values show all their fields."""


def _by_names(value: object) -> object:
    """Rows, wherever they are in a value, by the names of their columns."""
    match value:
        case Rows():
            return [dict(zip(value.columns, row, strict=True)) for row in value.rows]
        case list():
            return [_by_names(each) for each in value]
        case _ if is_dataclass(value) and any(isinstance(getattr(value, f.name), Rows) for f in fields(value)):
            return {f.name: _by_names(getattr(value, f.name)) for f in fields(value)}
        case _:
            return value


def _unknown(err: Exception) -> dict[str, object]:
    return {"error": type(err).__name__, "message": str(err), "facts": {}, "retryable": False}
