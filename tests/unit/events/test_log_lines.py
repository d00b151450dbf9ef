"""Log lines: their forms, and the file they go to."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import spark_trickle
from spark_trickle.config import LogFormat, LogLevel
from spark_trickle.errors import ConfigError
from spark_trickle.events import Noticed, RefreshFailed, RefreshFinished, Step, StepReached
from spark_trickle.logs import configure, log_event
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome

DONE = RefreshOutcome(
    name="sales.`odd\nname`", action=Action.DIFFERENTIAL, status=Outcome.COMPLETED, mode="DIFFERENTIAL", rows_inserted=2
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    logger = logging.getLogger("spark_trickle")
    handlers, level = list(logger.handlers), logger.level
    yield
    for handler in set(logger.handlers) - set(handlers):
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)


def test_a_line_of_text_begins_with_date_and_level(tmp_path: Path) -> None:
    file = tmp_path / "made" / "a.log"
    configure(str(file), LogFormat.TEXT, LogLevel.INFO)
    log_event(StepReached(Step.STAGED, "t"))
    log_event(RefreshFinished(DONE))
    log_event(RefreshFailed("t", "boom"))
    first, second = file.read_text().splitlines()[0], file.read_text().splitlines()[-1]
    assert first[:4].isdigit() and first[19:26] == " INFO r", first
    assert second.endswith("ERROR refresh of t failed: boom")


def test_json_has_one_object_a_line_with_the_facts_as_fields(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    configure(str(file), LogFormat.JSON, LogLevel.DEBUG)
    configure(str(file), LogFormat.JSON, LogLevel.DEBUG)
    log_event(StepReached(Step.STAGED, "t"))
    log_event(RefreshFinished(DONE))
    log_event(Noticed("t", 'mind "this"'))
    step, done, notice = [json.loads(line) for line in file.read_text().splitlines()]
    assert (step["level"], step["event"], step["table"]) == ("DEBUG", "step", "t")
    assert (done["table"], done["action"], done["rows_inserted"]) == (DONE.name, "DIFFERENTIAL", 2)
    assert notice["message"] == 't: mind "this"'
    assert done["time"].endswith("+00:00")


def test_a_file_that_cannot_be_written_is_refused_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"log file .* cannot be written"):
        spark_trickle.connect(str(tmp_path / "lake"), log_file=str(tmp_path / "file" / "below"))


def test_a_file_that_was_moved_away_is_made_again(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    configure(str(file), LogFormat.TEXT, LogLevel.INFO)
    log_event(Noticed("t", "one"))
    file.rename(tmp_path / "a.log.1")
    log_event(Noticed("t", "two"))
    assert "two" in file.read_text() and "two" not in (tmp_path / "a.log.1").read_text()
