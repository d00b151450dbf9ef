"""Text and JSON output."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from spark_trickle.cli.output import JsonOutput, Rows, TextOutput, aligned
from spark_trickle.errors import CycleError
from spark_trickle.holds.fuse_report import FuseCondition
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome, Verification
from spark_trickle.model.stream_table import RefreshMode, Status
from spark_trickle.views import Reason, StreamTableStatus, WhyAnswer


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def status(name: str, staleness_seconds: float | None) -> StreamTableStatus:
    return StreamTableStatus(
        name=name,
        status=Status.ACTIVE,
        status_reason=None,
        refresh_mode=RefreshMode.AUTO,
        effective_mode=RefreshMode.DIFFERENTIAL,
        schedule="1m",
        populated=True,
        last_refresh_at=None if staleness_seconds is None else datetime.now(UTC) - timedelta(days=10),
        rows=42,
        data_timestamp=None,
        staleness_seconds=staleness_seconds,
        consecutive_errors=0,
        sources=("sales", "shops"),
        frontier=Frontier(),
        epoch=3,
    )


def text(value: object) -> str:
    out = io.StringIO()
    TextOutput(out, io.StringIO()).show(value)
    return out.getvalue()


def as_document(value: object) -> object:
    out = io.StringIO()
    JsonOutput(out, io.StringIO()).show(value)
    return json.loads(out.getvalue())


def test_status_is_a_table_of_aligned_lines_when_not_a_terminal() -> None:
    assert text([status("totals", 90), status("t", None), status("s", 0)]).splitlines() == [
        "name    status  mode                 schedule  refreshed  stale  rows  epoch  errors  reads         reason",
        "totals  ACTIVE  DIFFERENTIAL (AUTO)  1m        10d ago    2m       42      3       0  sales, shops",
        "t       ACTIVE  DIFFERENTIAL (AUTO)  1m        never               42      3       0  sales, shops",
        "s       ACTIVE  DIFFERENTIAL (AUTO)  1m        10d ago    no       42      3       0  sales, shops",
    ]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"fuse": "blown"}, "its fuse has blown"),
        ({"fuse": "blown", "held": "its fuse has blown: 11 rows"}, "its fuse has blown: 11 rows"),
        ({"fuse": "blown", "held": "source 'a' is gated"}, "its fuse has blown; source 'a' is gated"),
        ({"diverged": "it has not equalled its query since then"}, "it has not equalled its query since then"),
        ({"status_reason": "a bug", "held": "it is in error: a bug"}, "it is in error: a bug"),
        ({"effective_mode": RefreshMode.FULL, "mode_reason": "RANK()", "held": "gated"}, "gated; RANK()"),
    ],
)
def test_status_says_what_holds_a_stream_table_and_that_it_does_not_equal_its_query(
    known: dict[str, Any], said: str
) -> None:
    lines = text([replace(status("t", 0), **{**known, "fuse": FuseCondition(known.get("fuse", "armed"))})]).splitlines()
    assert lines[1].endswith(f"  {said}")


def test_plain_lines_have_neither_borders_nor_colour_codes() -> None:
    assert not set(text([status("t", 1)])) & set("\x1b│─┃━")


def test_a_terminal_gets_a_drawn_table_with_the_same_words() -> None:
    out = Terminal()
    TextOutput(out, io.StringIO()).show([Rows(("a",), ((1,),))][0])
    assert "─" in out.getvalue()
    assert "a" in out.getvalue()


def test_square_brackets_in_data_are_not_markup_on_a_terminal() -> None:
    out = Terminal()
    TextOutput(out, io.StringIO()).show(Rows(("x",), (("[red]",),)))
    assert "[red]" in out.getvalue()


def test_json_has_every_field_of_a_value() -> None:
    document = as_document([status("totals", 90)])
    assert isinstance(document, list)
    assert document[0]["sources"] == ["sales", "shops"]
    assert document[0]["staleness_seconds"] == 90


def test_query_results_are_shown_as_table_and_as_json_objects() -> None:
    rows = Rows(("id", "sum"), ((1, Decimal("2.50")), (20, None)), truncated=True)
    assert text(rows).splitlines() == [
        "id   sum",
        " 1  2.50",
        "20",
        "... only the first 2 rows; --limit shows more",
    ]
    assert as_document(rows) == [{"id": 1, "sum": "2.50"}, {"id": 20, "sum": None}]


def test_an_outcome_alone_is_a_table_of_one_line() -> None:
    outcome = RefreshOutcome(
        name="t", action=Action.FULL, status=Outcome.COMPLETED, mode="FULL", reason="first", duration_ms=12.4
    )
    assert text(outcome).splitlines()[1].split() == ["t", "FULL", "COMPLETED", "0", "0", "12", "0", "first"]


def test_a_failed_verification_is_hard_to_overlook() -> None:
    result = Verification(name="t", ok=False, missing_rows=1, unexpected_rows=0, frontier=Frontier(), sample=("+{}",))
    assert "WRONG" in text([result])


def test_values_with_words_of_their_own_are_printed_as_such() -> None:
    answer = WhyAnswer("t", False, (Reason("it is suspended", "resume it", "t"),))
    assert text(answer) == f"{answer}\n"


def test_an_empty_list_says_so() -> None:
    assert text([]) == "nothing to show\n"
    assert as_document([]) == []


def test_errors_go_to_standard_error_in_both_formats() -> None:
    err = CycleError(["a", "b", "a"])
    for output in (TextOutput, JsonOutput):
        out, side = io.StringIO(), io.StringIO()
        output(out, side).error(err, "look here")
        assert out.getvalue() == ""
        assert "a -> b -> a" in side.getvalue()
        assert "look here" in side.getvalue()


def test_a_json_error_carries_kind_and_facts() -> None:
    side = io.StringIO()
    JsonOutput(io.StringIO(), side).error(CycleError(["a", "a"]))
    document = json.loads(side.getvalue())
    assert (document["error"], document["facts"], document["retryable"]) == ("CycleError", {"path": ["a", "a"]}, False)


def test_line_breaks_in_a_cell_do_not_break_the_table() -> None:
    assert aligned(["a", "b"], [["x\ny", "z"]]) == ["a    b", "x y  z"]
