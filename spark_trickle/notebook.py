"""In notebooks: how values look, `%load_ext spark_trickle` with `%%trickle` for SQL, the progress of what takes long.

IPython is needed by none of the rest; it is imported only where it runs already.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import UserError
from spark_trickle.events import Event, RefreshFailed, RefreshFinished, Retrying, StepReached
from spark_trickle.html import Markup, bold, card, code, coloured, folded, listed, looks, paragraph, table
from spark_trickle.model.refresh import HistoryRow, Outcome, RefreshOutcome, Verification
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.model.tick import TickReport
from spark_trickle.sla import Sla
from spark_trickle.sql.statements import (
    AlterStreamTable,
    CreateStreamTable,
    ExplainStreamTable,
    RefreshStreamTable,
    ShowStreamTables,
    parse_statement,
    split_statements,
)
from spark_trickle.views import Explanation, StreamTableStatus, WhyAnswer

if TYPE_CHECKING:
    from spark_trickle.engine import Engine

MAGIC = "trickle"
ROWS = 20
"""How many rows of an answer are shown."""
_WORTH_SHOWING_SECONDS = 1.0

_STATUS_COLOURS = {Status.ACTIVE: "good", Status.ERROR: "bad", Status.SUSPENDED: "warn", Status.INITIALIZING: "warn"}
_OUTCOME_COLOURS = {Outcome.COMPLETED: "good", Outcome.FAILED: "bad", Outcome.SKIPPED: "warn"}


def _stream_table(each: StreamTable) -> str:
    facts = {
        "status": coloured(each.status, _STATUS_COLOURS[each.status]),
        "because": each.status_reason,
        "kept": f"{each.effective_mode} ({each.mode_reason})" if each.mode_reason else each.effective_mode,
        "schedule": each.options.schedule,
        "reads": [str(source.table) for source in each.sources],
        "refreshed": _moment(each.last_refresh_at),
        "epoch": each.epoch,
    }
    notices = [paragraph(notice, "warn") for notice in each.notices]
    return card(bold(f"stream table {each.name}"), facts, code(each.query), *notices)


def _outcome(each: RefreshOutcome) -> str:
    facts = {
        "action": each.action,
        "why": each.reason,
        "rows": f"+{each.rows_inserted:,} −{each.rows_deleted:,}",
        "took": f"{each.duration_ms:,.0f} ms, {each.jobs} jobs",
        "rounds": each.fixpoint_iteration,
    }
    return card(Markup(f"{bold(each.name)} {coloured(each.status, _OUTCOME_COLOURS[each.status])}"), facts)


def _verification(each: Verification) -> str:
    facts = {"diverged": each.diverged, "note": "; ".join(each.notices) or None}
    if each.ok:
        return card(Markup(f"{bold(each.name)} {coloured('✓ equals its query at its frontier', 'good')}"), facts)
    said = f"✗ {each.missing_rows:,} rows are missing, {each.unexpected_rows:,} should not be there"
    sample = [code("\n".join(each.sample))] if each.sample else []
    return card(Markup(f"{bold(each.name)} {coloured(said, 'bad')}"), facts, *sample)


def _why(each: WhyAnswer) -> str:
    if not each.reasons and not each.waits:
        return card(coloured(str(each), "good"), {})
    title, colour = (f"'{each.name}' is not refreshing", "bad")
    if not each.reasons:
        title, colour = (f"nothing is wrong with '{each.name}'", "good")
    lines = [
        Markup(f"<li>{paragraph(reason.text)}{paragraph(f'to do: {reason.next_step}', 'quiet')}</li>")
        for reason in (*each.reasons, *each.waits)
    ]
    return card(bold(coloured(title, colour)), {}, Markup(f"<ol>{''.join(lines)}</ol>"))


def _explanation(each: Explanation) -> str:
    incremental = each.mode is not RefreshMode.FULL
    how = (
        coloured("kept incrementally", "good") if incremental else coloured("recomputed whole at each refresh", "warn")
    )
    facts = {
        "mode": each.mode,
        "why": each.reason,
        "suggestion": each.suggestion,
        "reads": each.sources,
        "published with": each.diamond_group,
        "circle": " → ".join(each.circle),
        "diverged": each.diverged,
        "fuse": each.fuse,
        "watermark groups": each.watermark_groups,
        "state tables": each.internal_tables,
        "meaning": each.meaning,
    }
    parts = (("operators", each.tree), ("what a refresh runs", each.delta_sql))
    more = [folded(title, code(text.strip("\n"))) for title, text in parts if text.strip()]
    notices = [paragraph(notice, "warn") for notice in each.notices]
    title = Markup(f"{bold(each.name or 'this query')}: {how}")
    return card(title, facts, code(each.query), *notices, *more)


def _status_cells(each: StreamTableStatus) -> list[object]:
    stale = each.staleness_seconds
    return [
        bold(each.name),
        coloured(each.status, _STATUS_COLOURS[each.status]),
        each.effective_mode,
        each.schedule,
        f"being refreshed since {_moment(each.refreshing_since)}"
        if each.refreshing_since
        else _moment(each.last_refresh_at),
        None if stale is None else f"{stale:,.0f} s" if stale else "no",
        None if each.rows is None else f"{each.rows:,}",
        each.sources,
        each.held or each.status_reason,
    ]


_STATUS_TITLES = ("name", "status", "mode", "schedule", "refreshed", "stale", "rows", "reads", "why")


def _history_cells(each: HistoryRow) -> list[object]:
    return [
        _moment(each.started_at),
        bold(each.name),
        each.action,
        coloured(each.status, _OUTCOME_COLOURS[each.status]),
        f"+{each.rows_inserted:,} −{each.rows_deleted:,}",
        f"{each.duration_ms:,.0f} ms",
        each.initiated_by,
        each.error or each.reason,
    ]


def _outcome_cells(each: RefreshOutcome) -> list[object]:
    rows = f"+{each.rows_inserted:,} −{each.rows_deleted:,}"
    status = coloured(each.status, _OUTCOME_COLOURS[each.status])
    return [bold(each.name), each.action, status, rows, f"{each.duration_ms:,.0f} ms", each.reason]


def _sla_cells(each: Sla) -> list[object]:
    percent = [None if found is None else f"{found:g}%" for found in (each.day_percent, each.week_percent)]
    return [bold(each.name), each.schedule if each.promised else "none is written", *percent, each.week_unknown]


def _tick(each: TickReport) -> str:
    said = (
        f"{len(each.refreshed)} refreshed, {len(each.skipped)} skipped, {len(each.failed)} failed, {each.units} units"
    )
    lines: list[list[object]] = [
        [bold(done.name), coloured(done.action, "good"), f"+{done.rows_inserted:,} −{done.rows_deleted:,}"]
        for done in each.refreshed
    ]
    lines += [[bold(skip.name), coloured("skipped", "warn"), skip.reason] for skip in each.skipped]
    lines += [[bold(fail.name), coloured("failed", "bad"), fail.error] for fail in each.failed]
    return card(f"tick: {said}, {each.duration_ms:,.0f} ms", {}, *([table(("", "", ""), lines)] if lines else []))


def _moment(moment: Any) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def say_how_values_look() -> None:
    """Register all of it; doing so twice changes nothing."""
    looks(StreamTable, _stream_table)
    looks(RefreshOutcome, _outcome)
    looks(Verification, _verification)
    looks(WhyAnswer, _why)
    looks(Explanation, _explanation)
    looks(TickReport, _tick)
    looks(StreamTableStatus, lambda each: table(_STATUS_TITLES, [_status_cells(each)]))
    listed(StreamTableStatus, _STATUS_TITLES, _status_cells)
    listed(HistoryRow, ("started", "name", "action", "status", "rows", "took", "by", "why"), _history_cells)
    listed(RefreshOutcome, ("name", "action", "status", "rows", "took", "why"), _outcome_cells)
    listed(Sla, ("name", "schedule", "kept in a day", "in a week", "unknown"), _sla_cells)
    listed(
        StreamTable,
        ("name", "status", "kept", "reads"),
        lambda each: [bold(each.name), each.status, each.effective_mode, [str(s.table) for s in each.sources]],
    )


class Progress:
    """An observer that shows how far a refresh is, once it has taken a moment. One line, which changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began: float | None = None
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        match event:
            case StepReached(step, table):
                said = f"{step.value.replace('_', ' ')}{f' {table}' if table else ''}"
            case Retrying(_, attempt, because):
                said = f"attempt {attempt} starts over: {because}"
            case RefreshFinished() | RefreshFailed():
                self._over()
                return
            case _:
                return
        with self._lock:
            now = time.monotonic()
            self._began = self._began or now
            took = now - self._began
            if took >= _WORTH_SHOWING_SECONDS:
                self._show(f"{said} … {took:.0f} s")

    def _over(self) -> None:
        with self._lock:
            if self._handle is not None and self._began is not None:
                self._show(f"done in {time.monotonic() - self._began:.0f} s")
            self._began = self._handle = None

    def _show(self, said: str) -> None:
        from IPython.display import HTML, display

        line = HTML(paragraph(said, "quiet"))  # type: ignore[no-untyped-call]
        if self._handle is None:
            self._handle = display(line, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(line)


def in_notebook() -> bool:
    """Whether a kernel runs this: then there is somewhere to show progress."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def load(shell: Any) -> None:
    """`%load_ext spark_trickle`."""
    say_how_values_look()

    def trickle(line: str, cell: str | None = None) -> object:
        return _run(shell, line, cell)

    shell.register_magic_function(trickle, "line_cell", MAGIC)


def _run(shell: Any, line: str, cell: str | None) -> object:
    """`%%trickle [ENGINE] [--limit N] [--into NAME]` with SQL below; `%trickle SQL` for one line."""
    words, limit, into, name = (line.split() if cell is not None else []), ROWS, None, "engine"
    while words:
        word = words.pop(0)
        if word in ("--limit", "--into") and words:
            value = words.pop(0)
            if word == "--into":
                into = value
            elif value.isdecimal() and int(value) > 0:
                limit = int(value)
            else:
                raise UserError(f"--limit cannot be '{value}'", hint="It is a number of rows")
        elif word.isidentifier():
            name = word
        else:
            raise UserError(f"%%trickle does not know '{word}'", hint="%%trickle [ENGINE] [--limit N] [--into NAME]")
    engine = _engine(shell, name)
    answer: object = None
    for text, _line in split_statements(cell if cell is not None else line):
        answer = _answer(engine, text)
    if into is not None:
        shell.user_ns[into] = answer
        return None
    return _Rows(answer, limit) if hasattr(answer, "toPandas") else answer


def _answer(engine: Engine, text: str) -> object:
    """What one statement has to show: a value of ours, or a DataFrame."""
    match parse_statement(text):
        case CreateStreamTable(name=name) | AlterStreamTable(name=name):
            engine.sql(text)
            return engine.status(name)
        case RefreshStreamTable(names):
            return (
                engine.refresh_stream_tables(list(names)) if len(names) > 1 else engine.refresh_stream_table(names[0])
            )
        case ShowStreamTables():
            return engine.status()
        case ExplainStreamTable(name):
            return engine.explain(name)
        case _:
            return engine.sql(text)


class _Rows:
    """The first rows of a DataFrame."""

    def __init__(self, frame: Any, limit: int) -> None:
        self._columns, self._limit = list(frame.columns), limit
        self._rows = fetched(frame, limit + 1) if self._columns else []

    def __repr__(self) -> str:
        shown = [dict(zip(self._columns, row, strict=True)) for row in self._rows[: self._limit]]
        return "\n".join(map(str, shown)) or "no rows"

    def _repr_html_(self) -> str:
        if not self._columns:
            return paragraph("done", "quiet")
        rows = [list(row) for row in self._rows[: self._limit]]
        cut = len(self._rows) > self._limit
        more = paragraph(f"only the first {self._limit} rows; --limit shows more", "quiet") if cut else ""
        return table(self._columns, rows) + more


def _engine(shell: Any, name: str) -> Engine:
    from spark_trickle.engine import Engine

    found = shell.user_ns.get(name)
    if not isinstance(found, Engine):
        raise UserError(
            f"there is no engine called '{name}' in this notebook",
            hint=f'Write {name} = spark_trickle.connect("warehouse") before, or %%trickle NAME',
        )
    return found


def fetched(frame: Any, most: int) -> list[Any]:
    from spark_trickle.spark.session.failures import spark_errors

    with spark_errors("reading the rows"):
        return list(frame.take(most))
