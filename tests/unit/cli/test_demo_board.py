"""The demo's bookkeeping and how it is shown."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from decimal import Decimal

from rich.console import Console

from spark_trickle.cli.demo_board import Board, Totals, speed, summary_of
from spark_trickle.cli.demo_screen import LineScreen
from spark_trickle.cli.demo_screen import board as drawn
from spark_trickle.model.refresh import Action, Outcome, RefreshOutcome

AGREE = Totals(*[Decimal("10.00")] * 4)
SPLIT = Totals(Decimal("10.00"), Decimal("9.00"), Decimal("10.00"), Decimal("10.00"))


def outcome(name: str, action: Action = Action.DIFFERENTIAL, inserted: int = 0) -> RefreshOutcome:
    return RefreshOutcome(
        name=name, action=action, status=Outcome.COMPLETED, mode=str(action), rows_inserted=inserted, jobs=2
    )


def good_run() -> Board:
    board = Board(["a", "b"])
    board.loaded(100)
    board.wrote(inserted=10)
    board.wrote(deleted=4)
    board.refreshed([outcome("a", inserted=3), outcome("b")], 200.0)
    board.refreshed([outcome("a", Action.NO_DATA), outcome("b", Action.NO_DATA)], 1.0)
    board.recomputed(400.0)
    board.checked(AGREE)
    board.verified("a", True)
    board.verified("b", True)
    return board


def test_a_good_run_is_summed_up_from_what_was_counted() -> None:
    summary = summary_of(good_run().view(), ["a", "b"])
    assert summary.ok
    assert (summary.writes, summary.rows_inserted, summary.rows_deleted) == (2, 10, 4)
    assert (summary.refreshes, summary.median_refresh_ms) == (1, 200.0)
    assert summary.actions == {"DIFFERENTIAL": 2, "NO_DATA": 2}
    assert "2.0 times faster" in str(summary)


def test_rows_of_the_source_are_counted_on_from_what_was_loaded() -> None:
    assert good_run().view().writes.rows == 106


def test_a_refresh_with_nothing_to_do_does_not_improve_the_median() -> None:
    assert good_run().view().refresh_ms == (200.0,)


def test_one_violation_spoils_the_run() -> None:
    board = good_run()
    board.checked(SPLIT)
    summary = summary_of(board.view(), ["a", "b"])
    assert not summary.ok
    assert summary.violations == 1


def test_a_run_without_checks_or_with_an_unverified_table_is_not_ok() -> None:
    unchecked = Board(["a"])
    unchecked.verified("a", True)
    assert not summary_of(unchecked.view(), ["a"]).ok
    assert not summary_of(good_run().view(), ["a", "b", "c"]).ok
    wrong = good_run()
    wrong.verified("b", False)
    assert not summary_of(wrong.view(), ["a", "b"]).ok
    assert "NOT equal to their queries: b" in str(summary_of(wrong.view(), ["a", "b"]))


def test_totals_that_are_missing_do_not_agree() -> None:
    assert not Totals(None, None, None, None).agree


def test_speed_is_honest_when_recomputing_is_faster() -> None:
    assert "2.0 times slower" in speed(800.0, 400.0)
    assert "not measured" in speed(None, 400.0)


def test_lines_tell_mode_rows_totals_checks_and_writes() -> None:
    out = io.StringIO()
    LineScreen(out, lambda: datetime(2026, 7, 1, 12, 0, 5, tzinfo=UTC)).refreshed(good_run().view())
    line = out.getvalue()
    assert line.startswith("12:00:05  refreshed in 200 ms: a DIFFERENTIAL +3 -0; b DIFFERENTIAL +0 -0")
    assert "10.00 = 10.00 ok | 1 checks, 0 violations | sales +10 ~0 -4" in line


def test_the_screen_shows_the_numbers_and_a_violation_in_red_words() -> None:
    console = Console(file=io.StringIO(), width=110, record=True)
    board = good_run()
    board.checked(SPLIT)
    console.print(drawn(board.view(), 12.0))
    text = console.export_text()
    for piece in ("00:12", "106 rows", "+10 inserted", "DIFFERENTIAL", "DIFFERENT", "2 checks", "1 violations"):
        assert piece in text


def test_the_screen_can_be_drawn_before_anything_happened() -> None:
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(drawn(Board(["a"]).view(), 0.0))
    assert "no check yet" in console.export_text()
