"""Events as log lines of the standard logger `spark_trickle`, and how lines are written: as text or as JSON.

A program configures that logger as any other. What is here beside that is for who does not: the settings `log_file`,
`log_format` and `log_level`, and `trickle run`, whose lines go to standard error.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path

from spark_trickle.config import LogFormat, LogLevel
from spark_trickle.errors import ConfigError
from spark_trickle.events import (
    Event,
    FuseBlown,
    Late,
    Noticed,
    RefreshFailed,
    RefreshFinished,
    Retrying,
    StepReached,
    TickFinished,
)

NAME = "spark_trickle"
_LOG = logging.getLogger(NAME)


def log_event(event: Event) -> None:
    """An observer: one line each."""
    match event:
        case StepReached(step, table):
            _say(logging.DEBUG, "step", f"step {step.value} {table or ''}".rstrip(), table=table, step=step.value)
        case RefreshFinished(outcome):
            because = f" ({outcome.reason})" if outcome.reason else ""
            rows = f"+{outcome.rows_inserted} -{outcome.rows_deleted} rows"
            cost = f"{outcome.duration_ms:.0f} ms, {outcome.jobs} jobs"
            _say(
                logging.INFO,
                "refreshed",
                f"refreshed {outcome.name}: {outcome.action.value}{because}, {rows}, {cost}",
                table=outcome.name,
                action=outcome.action.value,
                mode=outcome.mode,
                reason=outcome.reason,
                rows_inserted=outcome.rows_inserted,
                rows_deleted=outcome.rows_deleted,
                duration_ms=round(outcome.duration_ms, 1),
                jobs=outcome.jobs,
            )
        case RefreshFailed(table, error, trace):
            text = f"refresh of {table} failed: {error}"
            _say(logging.ERROR, "failed", text + (f"\n{trace}" if trace else ""), table=table, error=error)
        case Retrying(tables, attempt, because):
            text = f"attempt {attempt} at {', '.join(tables)} starts over: {because}"
            _say(logging.INFO, "retrying", text, tables=list(tables), attempt=attempt)
        case Noticed(table, text):
            _say(logging.WARNING, "notice", f"{table}: {text}", table=table)
        case FuseBlown(table, because):
            _say(logging.WARNING, "fuse", f"{table}: {because}", table=table)
        case Late(table, because, since):
            _say(logging.WARNING, "late", f"{table} is late: {because}", table=table, since=since.isoformat())
        case TickFinished(report):
            _say(logging.DEBUG, "tick", str(report).partition("\n")[0])


def configure(file: str, format: LogFormat, level: LogLevel) -> None:
    """Let the lines also go to a file, if one is named. Several engines of a process may name the same one."""
    if not file:
        return
    path = str(Path(file).expanduser().absolute())
    known = (each for each in _LOG.handlers if isinstance(each, logging.FileHandler))
    handler = next((each for each in known if each.baseFilename == path), None)
    if handler is None:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            # Whoever rotates logs moves it away: a new one is opened for the next line.
            handler = WatchedFileHandler(path, encoding="utf-8")
        except OSError as err:
            raise ConfigError(
                f"the log file '{file}' cannot be written: {err.strerror}", hint="Check the setting 'log_file'"
            ) from err
        _LOG.addHandler(handler)
    written_as(handler, format, level)


def written_as(handler: logging.Handler, format: LogFormat, level: LogLevel) -> logging.Handler:
    """The handler, writing lines of that kind from that level on."""
    handler.setFormatter(_AsJson() if format is LogFormat.JSON else _AsText())
    handler.setLevel(level.value)
    if not _LOG.isEnabledFor(handler.level):
        _LOG.setLevel(handler.level)
    return handler


class _AsText(logging.Formatter):
    """`2026-11-18 20:15:02 INFO refreshed totals: ...`; times are UTC, as everywhere else."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_moment(record):%Y-%m-%d %H:%M:%S} {record.levelname} {record.getMessage()}"


class _AsJson(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {"time": _moment(record).isoformat(), "level": record.levelname, "logger": record.name}
        facts |= {"message": record.getMessage(), **getattr(record, "facts", {})}
        return json.dumps(facts, ensure_ascii=False, default=str)


def _moment(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _say(level: int, event: str, text: str, **facts: object) -> None:
    _LOG.log(level, "%s", text, extra={"facts": {"event": event, **facts}})
