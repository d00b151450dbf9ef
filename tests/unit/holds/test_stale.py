"""Gates that stay closed too long are warned about: once each, and again only after they were closed again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from spark_trickle.holds.stale import is_stale, newly_stale, warning
from spark_trickle.model.gate import Gate
from spark_trickle.names import TableName

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
GATE = Gate(source=TableName.parse("orders"), gated=True, gated_at=NOON, gated_by="etl")


def test_a_gate_is_stale_after_the_limit_and_not_at_it() -> None:
    assert not is_stale(GATE, NOON + HOUR, HOUR)
    assert is_stale(GATE, NOON + HOUR + timedelta(seconds=1), HOUR)


def test_without_a_limit_no_gate_is_ever_stale() -> None:
    assert not is_stale(GATE, NOON + timedelta(days=900), timedelta())


def test_an_open_gate_is_never_stale() -> None:
    opened = Gate(source=GATE.source, gated=False, gated_at=NOON, ungated_at=NOON + 5 * HOUR, gated_by="etl")
    assert not is_stale(opened, NOON + 9 * HOUR, HOUR)
    assert opened.duration(NOON + 9 * HOUR) == 5 * HOUR


def test_a_warning_is_due_once_when_the_limit_is_passed() -> None:
    looks = [None, *(NOON + minutes * timedelta(minutes=1) for minutes in (10, 59, 61, 62, 500))]
    due = [
        len(newly_stale([GATE], before=before, now=now, limit=HOUR))
        for before, now in pairwise(looks)
        if now is not None
    ]
    assert due == [0, 0, 1, 0, 0]


def test_a_gate_that_is_stale_at_the_first_look_is_warned_about() -> None:
    assert newly_stale([GATE], before=None, now=NOON + 2 * HOUR, limit=HOUR) == (GATE,)


def test_the_warning_names_the_source_how_long_and_what_to_do() -> None:
    said = warning(GATE, NOON + 2 * HOUR)
    assert "'orders' has been gated for 2h, by etl" in said
    assert "ungate_source('orders')" in said
