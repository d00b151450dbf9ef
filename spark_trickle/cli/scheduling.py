"""Commands of the scheduler: one pass, or the loop."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import typer

from spark_trickle.cli.session import quiet_children, session_of
from spark_trickle.model.schedule import parse_duration
from spark_trickle.model.tick import TickReport

SOME_FAILED = 1


def tick(context: typer.Context) -> None:
    """Refresh what is due, once; exit code 1 if a refresh failed, 4 if another scheduler is at work."""
    session = session_of(context)
    # Spark starts only if something is due.
    with quiet_children(session.debug), session.working("refreshing what is due ..."):
        report = session.engine.tick()
    session.output.show(report)
    if report.failed:
        raise typer.Exit(SOME_FAILED)


def run(
    context: typer.Context,
    duration: Annotated[str | None, typer.Option("--for", help="Stop after this long: 30s, 5m, 1h30m.")] = None,
) -> None:
    """Refresh what is due until SIGTERM or Ctrl-C; waits while another scheduler is at work."""
    session = session_of(context)
    limit = None if duration is None else parse_duration(duration)
    shown: set[tuple[str, str]] = set()

    def told(report: TickReport) -> None:
        # A line when something happened; a skip when it begins, not every second.
        skipped = {(each.name, each.reason) for each in report.skipped}
        if not report.idle or skipped - shown:
            session.output.progress(f"{_now()} {report}")
        shown.clear()
        shown.update(skipped)

    session.output.progress(f"{_now()} scheduling; Ctrl-C stops")
    with quiet_children(session.debug):
        session.engine.run(None if limit is None else _until(limit), told)
    session.output.progress(f"{_now()} stopped")


def _until(limit: timedelta) -> datetime:
    return datetime.now().astimezone() + limit


def _now() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
