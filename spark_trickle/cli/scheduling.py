"""Commands of the scheduler: one pass, or the loop."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import typer

from spark_trickle.cli.output import JsonOutput
from spark_trickle.cli.session import quiet_children, session_of
from spark_trickle.model.schedule import parse_duration
from spark_trickle.model.stream_table import Status
from spark_trickle.model.tick import TickReport

SOME_FAILED = 1


def tick(context: typer.Context) -> None:
    """Refresh what is due, once.

    Exit code 1 if a refresh failed or a stream table is in ERROR, 4 if another scheduler is at work.
    """
    session = session_of(context)
    # Spark starts only if something is due.
    with quiet_children(session.debug), session.working("refreshing what is due ..."):
        report = session.engine.tick()
    session.output.show(report)
    stopped = [each for each in session.engine.stream_tables() if each.status is Status.ERROR]
    for each in stopped:
        session.output.progress(f"{each.name}: in ERROR: {each.status_reason or 'its history says why'}")
    if report.failed or stopped:
        raise typer.Exit(SOME_FAILED)


def run(
    context: typer.Context,
    duration: Annotated[str | None, typer.Option("--for", help="Stop after this long: 30s, 5m, 1h30m.")] = None,
) -> None:
    """Refresh what is due until SIGTERM or Ctrl-C; waits while another scheduler is at work."""
    session = session_of(context, makes_lake=True)
    limit = None if duration is None else parse_duration(duration)
    shown: set[tuple[str, str]] = set()

    def told(report: TickReport) -> None:
        # A line when something happened; a skip when it begins, not every second.
        skipped = {(each.name, each.reason) for each in report.skipped}
        if not report.idle or skipped - shown:
            if isinstance(session.output, JsonOutput):
                session.output.line(report)
            else:
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
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
