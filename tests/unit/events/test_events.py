from __future__ import annotations

import logging

import pytest

from spark_trickle.events import Event, Noticed, RefreshFailed, RefreshFinished, Retrying, Step, StepReached
from spark_trickle.logs import log_event
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome

FULL = RefreshOutcome(
    name="totals", action=Action.FULL, status=Outcome.COMPLETED, mode="FULL", reason="first", rows_inserted=2
)


@pytest.mark.parametrize(
    ("event", "level", "words"),
    [
        (StepReached(Step.STAGED, "totals"), "DEBUG", "step staged totals"),
        (RefreshFinished(FULL), "INFO", "refreshed totals: FULL (first), +2 -0 rows"),
        (RefreshFailed("totals", "boom"), "ERROR", "refresh of totals failed: boom"),
        (Retrying(("a", "b"), 2, "busy"), "INFO", "attempt 2 at a, b starts over: busy"),
        (Noticed("totals", "mind this"), "WARNING", "totals: mind this"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_event_is_one_log_line_of_its_level(
    event: Event, level: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="spark_trickle"):
        log_event(event)
    (record,) = caplog.records
    assert record.levelname == level
    assert words in record.getMessage()
