"""Ticks under watermark groups, on the toy lake: who waits, who reads what, and what is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_trickle.errors import ComputeError, UserError
from spark_trickle.events import Noticed
from spark_trickle.model.gate import GateChange
from spark_trickle.model.stream_table import RefreshMode
from spark_trickle.model.watermark import WatermarkColumn, WatermarkMode
from spark_trickle.names import TableName
from spark_trickle.ports import Broken
from tests.support.catalog_values import NOON
from tests.support.scheduling import Yard, names, skipped, yard

T = TableName.parse


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    """A report over two summaries, each over a source of its own."""
    with yard(tmp_path) as made:
        made.base("orders", "lines")
        made.stream("order_summary", "orders")
        made.stream("line_summary", "lines")
        made.stream("order_report", "order_summary", "line_summary")
        yield made


def hour(number: float) -> datetime:
    return NOON + timedelta(hours=number)


def seen(y: Yard, name: str) -> dict[str, set[int]]:
    """Which versions of base tables reached a stream table."""
    return {str(base): set(versions) for base, versions in y.holds(name).items()}


def versions(y: Yard, *bases: str) -> dict[str, set[int]]:
    return {base: set(y.holds(base)[T(base)]) for base in bases}


def notices(y: Yard) -> list[str]:
    return [event.notice for event in y.events if isinstance(event, Noticed)]


def test_a_report_over_two_summaries_waits_while_their_sources_are_apart(y: Yard) -> None:
    y.watermark_group("g", "orders", "lines", tolerance=60)
    report = y.tick()
    assert skipped(report) == {"order_report": ("watermark",)}
    assert names(report) == ["line_summary", "order_summary"], "each of them reads one source of the group only"
    y.advance("orders", hour(1))
    assert skipped(y.tick(1)) == {"order_report": ("watermark",)}, "lines are not ready yet"
    y.advance("lines", hour(1) + timedelta(seconds=60))
    assert names(y.tick(1)) == ["order_report"]
    y.advance("orders", hour(2))
    y.write("orders")
    report = y.tick(1)
    assert names(report) == ["order_summary"] and skipped(report) == {"order_report": ("watermark",)}
    assert report.skipped[0].reason == (
        "watermark group 'g' is misaligned: 'lines' is at 2026-03-01 13:01:00.123456 UTC and 'orders' at 2026-03-01 "
        "14:00:00.123456 UTC, 3540 s apart, and its tolerance is 60 s ('line_summary' depends on it)"
    )


def test_the_history_tells_it_once_though_the_numbers_move(y: Yard) -> None:
    y.watermark_group("g", "orders", "lines")
    y.advance("orders", hour(1))
    y.advance("lines", hour(2))
    for n in range(3, 6):
        y.advance("lines", hour(n))
        y.tick(1)
    assert len([row for row in y.catalog.history(T("order_report")) if row.status == "SKIPPED"]) == 1


def test_a_unit_waits_whole(y: Yard) -> None:
    y.stream("both", "orders", "lines")
    y.group("g", "both", "order_summary")
    y.watermark_group("w", "orders", "lines")
    report = y.tick()
    assert set(skipped(report)) == {"both", "order_summary", "order_report"}
    assert "'both' holds it: watermark group 'w' is not ready" in report.skipped[1].reason


def test_a_source_in_two_groups_waits_for_both(y: Yard) -> None:
    y.base("prices")
    y.stream("valued", "orders", "lines", "prices")
    y.watermark_group("a", "orders", "lines")
    y.watermark_group("b", "orders", "prices")
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    report = y.tick()
    assert skipped(report) == {"valued": ("watermark",)} and "group 'b'" in report.skipped[0].reason
    y.advance("prices", hour(1))
    assert names(y.tick(1)) == ["valued"]


def test_a_gate_comes_before_a_watermark_and_the_first_watermark_opens_it(y: Yard) -> None:
    y.watermark_group("g", "orders", "lines")
    closed = GateChange(source=T("orders"), gated=True, at=NOON, by="etl", auto_ungate_on_watermark=True)
    y.catalog.change_gates([closed])
    report = y.tick()
    assert skipped(report) == {"order_report": ("gated", "watermark"), "order_summary": ("gated",)}
    assert report.skipped[-1].reason.startswith("source 'orders' is gated") or report.skipped[0].reason.startswith(
        "source 'orders' is gated"
    )
    y.advance("orders", hour(1))
    y.advance("lines", hour(1))
    assert set(names(y.tick(1))) == {"order_summary", "order_report"}


def test_held_back_all_of_it_is_read_where_the_slowest_source_is(y: Yard) -> None:
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    assert set(skipped(y.tick())) == {"order_summary", "line_summary", "order_report"}, "not ready"
    y.advance("orders", hour(1))
    y.advance("lines", hour(1))
    first = versions(y, "orders", "lines")
    y.write("orders")
    report = y.tick(1)
    assert len(names(report)) == 3 and not report.skipped
    assert seen(y, "order_report") == first, "what was written since is not complete"
    y.advance("orders", hour(2))
    second = versions(y, "orders")
    y.write("orders", "lines")
    assert not y.tick(1).refreshed, "lines are still at one o'clock"
    assert "has all of that" in y.why("order_report").waits[0].text
    y.advance("lines", hour(2))
    y.advance("lines", hour(3))
    y.write("lines")
    assert len(names(y.tick(1))) == 3
    assert seen(y, "order_report")["orders"] == second["orders"], "as it was at two"
    row = y.catalog.history(T("order_report"), 1)[0]
    assert row.reason == "read at 2026-03-01 14:00:00.123456 UTC, the aligned watermark of 'g'"


def test_what_is_outside_the_group_is_read_at_the_cut_of_the_tick(y: Yard) -> None:
    y.base("customers")
    y.stream("wide", "orders", "lines", "customers")
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    y.write("orders", "customers")
    y.tick()
    y.write("customers")
    assert names(y.tick(1)) == ["wide"]
    assert seen(y, "wide")["customers"] == versions(y, "customers")["customers"]
    assert seen(y, "wide")["orders"] != versions(y, "orders")["orders"]


def test_a_frontier_never_moves_backward(y: Yard) -> None:
    y.tick()
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    y.write("orders")
    y.refresher.refresh([T("order_report")], None, upstream=True)  # by hand: what is newest
    ahead = seen(y, "order_report")
    report = y.tick(1)
    assert set(skipped(report)) == {"order_summary", "order_report"}
    assert "'orders' was read past the aligned watermark of 'g'" in report.skipped[0].reason
    assert seen(y, "order_report") == ahead
    y.advance("orders", hour(2))
    y.advance("lines", hour(2))
    y.write("lines")
    assert not skipped(y.tick(1))
    assert seen(y, "order_report")["orders"] == ahead["orders"]


def test_a_version_that_expired_holds_with_that_reason_until_the_watermark_moves(y: Yard) -> None:
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    old = next(iter(versions(y, "orders")["orders"]))
    y.write("orders")
    y.lake.expired.add(old)
    for _ in range(3):
        report = y.tick(1)
        y.write("lines")
        assert "order_summary" in skipped(report) and "order_report" not in names(report)
    reasons = [row.reason or "" for row in y.catalog.history(T("order_summary"), limit=None)]
    (told,) = [reason for reason in reasons if "has expired" in reason]
    assert told.startswith("the version of 'orders' at the aligned watermark cannot be read any more: its snapshot")
    for source in ("orders", "lines"):
        y.advance(source, hour(2))
    assert len(names(y.tick(1))) == 3


def test_a_report_waits_until_all_that_it_reads_is_of_one_moment(y: Yard) -> None:
    y.stream("slow_summary", "lines", schedule="1h")
    y.stream("slow_report", "order_summary", "slow_summary")
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    y.tick()
    y.write("orders", "lines")
    for source in ("orders", "lines"):
        y.advance(source, hour(2))
    y.failing["line_summary"] = "transient"
    report = y.tick(1)
    assert names(report) == ["order_summary"]
    assert skipped(report) == {"order_report": ("watermark",), "slow_report": ("watermark",)}
    assert "it waits for 'line_summary', so that all that it reads is at 2026-03-01 14:00:00.123456 UTC" in (
        report.skipped[0].reason
    )
    assert "it waits for 'slow_summary'" in str(y.why("slow_report"))
    y.failing.clear()
    assert set(names(y.tick(7200))) == {"line_summary", "order_report", "slow_summary", "slow_report"}
    assert seen(y, "slow_report") == seen(y, "order_report") == versions(y, "orders", "lines")


def test_what_is_immediate_and_caught_up_past_the_aligned_watermark_is_not_read_with_what_waits(y: Yard) -> None:
    """Somebody wrote past us, so that the tick itself brings it further than the others may be."""
    y.stream("at_once", "orders", refresh_mode=RefreshMode.IMMEDIATE)
    y.stream("mixed", "at_once", "line_summary")
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    first = versions(y, "orders", "lines")
    y.tick()
    assert seen(y, "mixed") == first
    y.write("orders")
    for _ in range(2):
        report = y.tick(1)
        assert skipped(report) == {"mixed": ("watermark",)} and seen(y, "mixed") == first
    assert seen(y, "at_once") == versions(y, "orders"), "as what is written through us"
    y.write("lines")
    for source in ("orders", "lines"):
        y.advance(source, hour(2))
    assert "mixed" in names(y.tick(1)) and seen(y, "mixed") == versions(y, "orders", "lines")


def test_groups_that_share_stream_tables_are_brought_down_together(y: Yard) -> None:
    y.base("prices")
    y.stream("valued", "order_summary", "prices")
    y.watermark_group("a", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    y.watermark_group("b", "orders", "prices", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines", "prices"):
        y.advance(source, hour(1))
    at_one = versions(y, "orders", "lines", "prices")
    y.write("orders", "lines", "prices")
    y.advance("orders", hour(2))
    y.advance("lines", hour(2))
    y.tick()
    assert seen(y, "order_report") == {"orders": at_one["orders"], "lines": at_one["lines"]}
    assert seen(y, "valued") == {"orders": at_one["orders"], "prices": at_one["prices"]}
    y.advance("prices", hour(2))
    y.tick(1)
    assert seen(y, "order_report") == versions(y, "orders", "lines")


def test_a_table_that_was_made_again_needs_a_watermark_again(y: Yard) -> None:
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    y.tick()
    y.lake.make_again(T("orders"))
    report = y.tick(1)
    assert "'orders' was made again since its watermark was advanced" in report.skipped[0].reason
    y.advance("orders", hour(2))
    y.advance("lines", hour(2))
    assert set(names(y.tick(1))) == {"order_summary", "order_report"}
    assert seen(y, "order_report")["orders"] == versions(y, "orders")["orders"]


def test_a_table_that_was_made_again_is_not_ready_where_the_others_wait_either(y: Yard) -> None:
    """Its watermark was of the table before, and may begin anew, earlier than that."""
    y.watermark_group("g", "orders", "lines")
    y.write("orders")
    for source in ("orders", "lines"):
        y.advance(source, hour(5))
    y.tick()
    before = seen(y, "order_report")
    y.lake.make_again(T("orders"))
    report = y.tick(1)
    assert skipped(report) == {"order_report": ("watermark",)}
    assert "'orders' was made again since its watermark was advanced" in report.skipped[0].reason
    assert "'orders' was made again since" in str(y.why("order_report"))
    assert seen(y, "order_report") == before
    y.advance("orders", hour(1))
    assert y.catalog.watermarks().latest[T("orders")].watermark == hour(1)
    assert "14400 s apart" in y.tick(1).skipped[0].reason
    with pytest.raises(UserError, match="cannot move backward"):
        y.advance("orders", hour(0))
    y.advance("orders", hour(5))
    assert names(y.tick(1)) == ["order_report"]


def test_a_column_advances_the_watermark_with_the_cut_that_it_was_found_in(y: Yard) -> None:
    y.watermark_group("g", "orders", "lines")
    y.catalog.set_watermark_column(
        T("orders"), WatermarkColumn(source=T("orders"), column="at", delay=timedelta(minutes=5))
    )
    y.advance("lines", hour(1))
    y.lake.values[y.catalog.pointers([T("orders")])[T("orders")].location] = hour(1) + timedelta(minutes=5)
    assert "order_report" in names(y.tick()), "aligned in the tick that found it"
    mark = y.catalog.watermarks().latest[T("orders")]
    assert (mark.watermark, mark.advanced_by) == (hour(1), "column at")
    generation = y.catalog.generation()
    y.write("orders")
    assert "order_report" in names(y.tick(1)), "no newer value: as far as before"
    y.lake.values[y.catalog.pointers([T("orders")])[T("orders")].location] = hour(0)
    y.restart()
    y.tick(1)
    assert y.catalog.watermarks().latest[T("orders")] == mark and y.catalog.generation() == generation
    with pytest.raises(UserError, match="backward"):
        y.advance("orders", hour(0))


def test_a_column_opens_a_gate_by_what_was_loaded_behind_it_and_in_the_same_tick(y: Yard) -> None:
    def holding(moment: datetime) -> None:
        y.lake.values[y.catalog.pointers([T("orders")])[T("orders")].location] = moment

    y.catalog.set_watermark_column(T("orders"), WatermarkColumn(source=T("orders"), column="at"))
    holding(hour(1))
    closed = GateChange(source=T("orders"), gated=True, at=NOON, by="etl", auto_ungate_on_watermark=True)
    y.catalog.change_gates([closed])
    assert skipped(y.tick(1))["order_summary"] == ("gated",), "what was there before says nothing of the load"
    assert y.catalog.watermarks().latest[T("orders")].watermark == hour(1)
    y.write("orders")
    holding(hour(2))
    assert "order_summary" in names(y.tick(1))


def test_a_column_that_cannot_be_read_is_told_once_and_once_that_it_is_again(y: Yard) -> None:
    y.catalog.set_watermark_column(T("orders"), WatermarkColumn(source=T("orders"), column="at"))
    here = y.catalog.pointers([T("orders")])[T("orders")].location
    y.lake.values[here] = ComputeError("the file is away")
    for _ in range(3):
        y.tick(1)
    assert notices(y) == ["its watermark column 'at' cannot be read: the file is away"]
    y.lake.values[here] = hour(1)
    for _ in range(2):
        y.tick(1)
    assert notices(y)[1:] == ["its watermark column 'at' is read again"]
    assert y.catalog.watermarks().latest[T("orders")].watermark == hour(1)
    y.events.clear()
    for _ in range(3):
        y.write("orders")
        y.lake.values[y.catalog.pointers([T("orders")])[T("orders")].location] = Broken("column 'at' is gone")
        y.tick(1)
    assert notices(y) == ["its watermark is not advanced by column 'at': column 'at' is gone"]


def test_a_value_too_far_back_for_its_delay_is_told_and_the_tick_goes_on(y: Yard) -> None:
    column = WatermarkColumn(source=T("orders"), column="at", delay=timedelta(days=1))
    y.catalog.set_watermark_column(T("orders"), column)
    y.lake.values[y.catalog.pointers([T("orders")])[T("orders")].location] = datetime.min.replace(tzinfo=UTC)
    assert "order_summary" in names(y.tick(1))
    (told,) = notices(y)
    assert told.startswith("its watermark is not advanced by column 'at': its largest value, 0001-01-01") and (
        "is too early for a delay of 1 day" in told
    )
    assert not y.catalog.watermarks().latest


def test_why_tells_which_source_holds_the_others_back_and_stands_still(y: Yard) -> None:
    y.stuck_after = timedelta(hours=1)
    y.watermark_group("g", "orders", "lines", mode=WatermarkMode.HOLD_BACK)
    for source in ("orders", "lines"):
        y.advance(source, hour(1))
    y.tick()
    y.write("orders")
    y.advance("orders", hour(2))
    assert "stuck" not in str(y.why("order_report"))
    y.tick(3700)
    for name in ("order_report", "line_summary", "order_summary"):
        answer = str(y.why(name))
        assert "'lines' is at 2026-03-01 13:00:00.123456 UTC and has not advanced for 1h1m: it is stuck" in answer
        assert "to do: advance_watermark('lines', ...) when it is loaded" in answer and "'orders' is at" not in answer


def test_a_source_that_stands_still_is_told_once_and_once_that_it_goes_on(y: Yard) -> None:
    y.stuck_after = timedelta(hours=1)
    y.watermark_group("g", "orders", "lines")
    y.advance("orders", hour(0))
    y.tick(60)
    assert not notices(y)
    for _ in range(3):
        y.tick(1800)
        y.restart()
    assert notices(y) == [
        "'lines' has had no watermark for 1h1m: it is stuck; advance_watermark(...) when it is loaded",
        "the watermark of 'orders' is at 2026-03-01 12:00:00.123456 UTC and has not advanced for 1h1m: it is stuck; "
        "advance_watermark(...) when it is loaded",
    ]
    assert "it is stuck" in str(y.why("order_report"))
    y.events.clear()
    y.advance("orders", hour(2))
    for _ in range(2):
        y.tick(1)
    assert notices(y) == ["the watermark of 'orders' goes on: it is at 2026-03-01 14:00:00.123456 UTC"]
