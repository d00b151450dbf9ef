"""Commands of the scheduler: one pass, or the loop."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import typer

from spark_trickle.cli.lines import lines_on
from spark_trickle.cli.output import JsonOutput
from spark_trickle.cli.session import session_of
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
    with session.quiet(), session.working("refreshing what is due ..."):
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
        # Refreshes are logged where they happen; a skip when it begins, not every second.
        skipped = {(each.name, each.reason) for each in report.skipped}
        if (not report.idle or skipped - shown) and isinstance(session.output, JsonOutput):
            session.output.line(report)
        for name, reason in sorted(skipped - shown):
            log.info("skipped %s: %s", name, reason)
        shown.clear()
        shown.update(skipped)

    settings = session.engine.settings
    with lines_on(session.output, settings.log_format, settings.log_level) as log:
        log.info("scheduling; Ctrl-C stops")
        with session.quiet():
            session.engine.run(None if limit is None else _until(limit), told)
        log.info("stopped")


def _until(limit: timedelta) -> datetime:
    return datetime.now().astimezone() + limit
