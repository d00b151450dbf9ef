from __future__ import annotations

from datetime import timedelta

import pytest

from spark_trickle.errors import UserError
from spark_trickle.model.schedule import Calculated, Cron, Every, parse_duration, parse_schedule


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("5m", 300), ("1h30m", 5400), ("1d", 86_400), ("2w", 1_209_600), (" 1H ", 3600)]
)
def test_durations_are_read(text: str, seconds: int) -> None:
    assert parse_schedule(text) == Every(timedelta(seconds=seconds))


@pytest.mark.parametrize("text", ["* * * * *", "*/5 * * * 1-5", "30 * * * * *"])
def test_cron_lines_are_kept_as_written(text: str) -> None:
    assert parse_schedule(text) == Cron(text)


def test_nicknames_stand_for_cron_lines() -> None:
    assert parse_schedule("@hourly") == Cron("0 * * * *")
    assert parse_schedule("@Daily") == Cron("0 0 * * *")


def test_calculated_is_its_own_kind() -> None:
    assert parse_schedule("CALCULATED") == Calculated()


@pytest.mark.parametrize("text", ["", "5", "m5", "5x", "1m1h", "-5m", "99 * * * *", "@never", "0s", "1.5h"])
def test_what_is_no_schedule_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(UserError, match=r"schedule|cron") as caught:
        parse_schedule(text)
    assert f"'{text}'" in str(caught.value)


def test_a_duration_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="shortest is 1s"):
        parse_duration("0m")
