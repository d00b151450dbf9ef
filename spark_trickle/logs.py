"""Events as log lines of the standard logger `spark_trickle`. Configure it as any other."""

from __future__ import annotations

import logging

from spark_trickle.events import Event, Noticed, RefreshFailed, RefreshFinished, Retrying, StepReached

_LOG = logging.getLogger("spark_trickle")


def log_event(event: Event) -> None:
    """An observer."""
    match event:
        case StepReached(step, table):
            _LOG.debug("step %s %s", step.value, table or "")
        case RefreshFinished(outcome):
            because = f" ({outcome.reason})" if outcome.reason else ""
            _LOG.info(
                "refreshed %s: %s%s, +%d -%d rows, %.0f ms, %d jobs",
                outcome.name,
                outcome.action.value,
                because,
                outcome.rows_inserted,
                outcome.rows_deleted,
                outcome.duration_ms,
                outcome.jobs,
            )
        case RefreshFailed(table, error, trace):
            _LOG.error("refresh of %s failed: %s%s", table, error, f"\n{trace}" if trace else "")
        case Retrying(tables, attempt, because):
            _LOG.info("attempt %d at %s starts over: %s", attempt, ", ".join(tables), because)
        case Noticed(table, text):
            _LOG.warning("%s: %s", table, text)
