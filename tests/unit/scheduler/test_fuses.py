"""Fuses on the toy lake: when they blow, what that holds, and the three ways out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_trickle.errors import FuseBlownError, UserError
from spark_trickle.events import FuseBlown, Noticed
from spark_trickle.fusing import Fusing
from spark_trickle.model.fuse import MOST_ROWS, ChangedRows
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import Fuse, StreamTable
from spark_trickle.names import TableName
from tests.support.scheduling import StoppedClock, Yard, names, skipped, yard

T = TableName.parse


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        made.base("orders", "lines")
        yield made


def table(y: Yard, name: str = "a") -> StreamTable:
    return y.catalog.get(T(name))


def fusing(y: Yard) -> Fusing:
    return Fusing(y.catalog, StoppedClock(y), y.refresher.fuse_default_ceiling)


def write(y: Yard, rows: int, deleted: int = 0, base: str = "orders") -> None:
    y.lake.write(T(base), rows=rows, deleted=deleted)


def blown(y: Yard, ceiling: int = 10, **options: Any) -> None:
    """A stream table whose fuse has just blown, on 11 of 10 rows."""
    y.stream("a", "orders", fuse=Fuse.ON, fuse_ceiling=ceiling, **options)
    y.tick()
    write(y, ceiling + 1, 5)
    y.tick(1)


def test_it_blows_past_its_ceiling_and_not_before(y: Yard) -> None:
    y.stream("a", "orders", fuse=Fuse.ON, fuse_ceiling=10)
    write(y, 1_000_000)
    assert names(y.tick()) == ["a"], "a first load is not a change"
    write(y, 10)
    assert names(y.tick(1)) == ["a"]
    before = y.holds("a")
    write(y, 6)
    write(y, 5, 2)
    for _ in range(3):
        report = y.tick(1)
        assert skipped(report) == {"a": ("fuse",)} and not report.failed
    reason = "its fuse has blown: 11 changed rows are pending (2 of them deleted), and its ceiling is 10"
    assert report.skipped[0].reason == reason
    assert y.holds("a") == before and table(y).consecutive_errors == 0
    assert [row.reason for row in y.catalog.history(T("a")) if row.status == "SKIPPED"] == [reason]
    (told,) = [event for event in y.events if isinstance(event, FuseBlown)]
    assert told.because.startswith(f"'a' is not refreshed: {reason}")
    answer = str(y.why("a"))
    assert "the fuse of 'a' has blown at 2026-03-01 12:00:02 UTC: 11 changed rows are pending" in answer
    assert all(way in answer for way in ("reset_fuse('a', 'apply')", "'reinitialize'", "'skip_changes'"))


def test_without_a_ceiling_of_its_own_that_of_the_settings_counts(y: Yard) -> None:
    y.stream("a", "orders", fuse=Fuse.ON)
    y.tick()
    write(y, 1_000_000)
    assert names(y.tick(1)) == ["a"], "no ceiling at all"
    y.default_ceiling(100)
    write(y, 101)
    assert skipped(y.tick(1)) == {"a": ("fuse",)}


def test_a_unit_is_held_whole_and_others_go_on(y: Yard) -> None:
    y.stream("totals", "orders")
    y.stream("counts", "orders", fuse=Fuse.ON, fuse_ceiling=10)
    y.stream("report", "totals", "counts")
    y.stream("other", "orders")
    y.tick()
    write(y, 11)
    report = y.tick(1)
    assert names(report) == ["other"]
    assert skipped(report) == dict.fromkeys(["totals", "counts", "report"], ("fuse",))
    assert "'counts' holds it: its fuse has blown" in next(s.reason for s in report.skipped if s.name == "report")


def test_only_its_own_pending_changes_count(y: Yard) -> None:
    y.stream("slow", "orders", fuse=Fuse.ON, fuse_ceiling=10, schedule="1h")
    y.stream("quick", "orders", fuse=Fuse.ON, fuse_ceiling=10)
    y.tick()
    for _ in range(3):
        write(y, 5)
        assert names(y.tick(1)) == ["quick"]
    assert skipped(y.tick(7200)) == {"slow": ("fuse",)}


def test_a_rewritten_file_is_counted_only_where_it_would_be_too_much(y: Yard) -> None:
    y.lake.rewrites = True
    y.stream("a", "orders", fuse=Fuse.ON, fuse_ceiling=10)
    y.tick()
    write(y, 8, 4)
    y.tick(1)
    assert y.lake.counted == 0
    write(y, 21, 11)
    assert names(y.tick(1)) == ["a"] and y.lake.counted == 1, "ten of them were real"
    write(y, 30, 15)
    assert skipped(y.tick(1)) == {"a": ("fuse",)}
    assert "15 changed rows are pending" in (table(y).fuse.blown or pytest.fail()).reason


def test_where_nobody_can_tell_how_much_it_is_it_blows(y: Yard) -> None:
    y.stream("a", "orders", fuse=Fuse.ON, fuse_ceiling=10)
    y.tick()
    y.lake.lost.add(y.catalog.pointers([T("orders")])[T("orders")].location)
    write(y, 1)
    report = y.tick(1)
    assert skipped(report) == {"a": ("fuse",)}
    assert "how much has changed cannot be told: snapshot" in report.skipped[0].reason
    fusing(y).reset("a", "apply")
    assert names(y.tick(1)) == ["a"]


def test_auto_learns_what_is_usual_and_judges_deletes_on_their_own(y: Yard) -> None:
    y.stream("a", "orders", fuse=Fuse.AUTO)
    y.tick()
    for rows in (5, 100_000, 3):
        write(y, rows)
        assert names(y.tick(1)) == ["a"], "not enough is known"
    y.stream("b", "lines", fuse=Fuse.AUTO, fuse_sensitivity=2.0)
    y.tick(1)
    for rows in (2000, 2400, 1600, 2000, 2000):
        write(y, rows, 10, base="lines")
        assert names(y.tick(1)) == ["b"]
    write(y, 3000, 10, base="lines")
    report = y.tick(1)
    assert report.skipped[0].reason == (
        "its fuse has blown: 3,000 changed rows are pending (10 of them deleted), and its last 5 changes had 2,000 on "
        "average: up to 2,505 are usual"
    )
    fusing(y).reset("b", "apply")
    assert names(y.tick(1)) == ["b"]
    write(y, 1500, 1200, base="lines")
    assert "1,200 deleted rows are pending, and its last 6 changes deleted 10 on average: up to 1,000 are usual" in (
        y.tick(1).skipped[0].reason
    )
    assert table(y, "b").fuse.changes[-1] == ChangedRows(3000, 10)
    fusing(y).reset("b", "apply")
    for rows in range(30):
        write(y, rows, base="lines")
        y.tick(1)
    assert [change.rows for change in table(y, "b").fuse.changes] == list(range(10, 30)), "the last twenty"


def test_apply_lets_exactly_that_change_through(y: Yard) -> None:
    blown(y)
    row = fusing(y).reset("a", "apply")
    assert (row.fuse_state, row.effective_ceiling) == ("armed", 10)
    write(y, 10)
    assert names(y.tick(1)) == ["a"], "what came since is usual"
    assert not table(y).fuse.accepted
    write(y, 11)
    assert skipped(y.tick(1)) == {"a": ("fuse",)}
    fusing(y).reset("a", "apply")
    write(y, 11)
    report = y.tick(1)
    assert skipped(report) == {"a": ("fuse",)}, "what came since is too much in itself"
    assert "11 changed rows are pending" in report.skipped[0].reason
    fusing(y).reset("a", "apply")
    assert names(y.tick(1)) == ["a"]


def test_apply_works_where_the_change_comes_from_its_own_unit(y: Yard) -> None:
    y.stream("totals", "orders")
    y.stream("counts", "orders")
    y.stream("report", "totals", "counts", fuse=Fuse.ON, fuse_ceiling=10)
    y.tick()
    y.lake.grows[T("totals")] = (50, 0)
    write(y, 1)
    assert set(skipped(y.tick(1))) == {"totals", "counts", "report"}, "nothing of it was published"
    fusing(y).reset("report", "apply")
    assert set(names(y.tick(1))) == {"totals", "counts", "report"}
    write(y, 1)
    y.tick(1)
    fusing(y).reset("report", "skip_changes")
    before = table(y, "report").data_timestamp
    y.lake.grows[T("totals")] = (1, 0)
    y.tick(1)
    assert table(y, "report").diverged is not None and table(y, "report").data_timestamp == before
    assert not skipped(y.tick(1)), "it goes on with what comes later"


def test_reinitialize_computes_everything_again(y: Yard) -> None:
    blown(y, strict=True)
    fusing(y).reset("a", "reinitialize")
    (outcome,) = y.tick(1).refreshed
    assert outcome.action is Action.REINITIALIZE and outcome.reason == "its fuse was reset by 'reinitialize'"
    assert not y.tick(1).refreshed, "once"


def test_skip_changes_moves_its_own_frontier_only_and_is_told_until_it_is_rebuilt(y: Yard) -> None:
    y.stream("b", "orders", schedule="1h")
    blown(y)
    before, others = y.holds("a"), table(y, "b")
    fusing(y).reset("a", "skip_changes")
    skipped_to = table(y)
    assert skipped_to.frontier.pins[0].location == y.catalog.pointers([T("orders")])[T("orders")].location
    assert table(y, "b") == others
    assert not y.tick(1).refreshed and y.holds("a") == before
    assert "had 11 changed rows skipped" in str(skipped_to.diverged)
    write(y, 1)
    assert names(y.tick(1)) == ["a"]
    assert table(y).diverged == skipped_to.diverged, "a change does not mend it"
    y.refresher.refresh([T("a")], y.full)
    assert table(y).diverged is None


def test_by_hand_it_is_refused_with_the_same_words_and_blows_the_same(y: Yard) -> None:
    y.stream("a", "orders", fuse=Fuse.ON, fuse_ceiling=10)
    y.tick()
    write(y, 11)
    for mode in (None, y.full):
        with pytest.raises(
            FuseBlownError, match=r"'a' is not refreshed: its fuse has blown: 11 changed rows .* 'apply'"
        ):
            y.refresher.refresh([T("a")], mode)
    assert table(y).fuse.blown is not None
    assert skipped(y.tick(1)) == {"a": ("fuse",)}
    assert len([event for event in y.events if isinstance(event, FuseBlown)]) == 1
    fusing(y).reset("a", "apply")
    y.refresher.refresh([T("a")], None)
    assert table(y).fuse.blown is None


def test_turned_off_it_holds_nothing(y: Yard) -> None:
    blown(y)
    y.definitions.alter(T("a"), {"fuse": "off"})
    assert names(y.tick(1)) == ["a"]
    y.definitions.alter(T("a"), {"fuse": "on"})
    assert not y.tick(1).skipped


def test_turned_off_together_with_another_mode_it_has_not_blown_any_more(y: Yard) -> None:
    blown(y)
    y.definitions.alter(T("a"), {"fuse": "off", "refresh_mode": "DIFFERENTIAL"})
    assert table(y).fuse.blown is None, "in the same commit, not with the next refresh"
    y.definitions.alter(T("a"), {"fuse": "on", "fuse_ceiling": 0, "refresh_mode": "AUTO"})
    told = [event.notice for event in y.events if isinstance(event, Noticed)]
    assert "it never blows" in told[-1] and told[-1] in table(y).notices


def test_what_cannot_be_is_refused(y: Yard) -> None:
    blown(y)
    with pytest.raises(UserError, match=r"action cannot be 'forget'. Choose one of 'apply', 'reinitialize', 'skip_"):
        fusing(y).reset("a", "forget")
    fusing(y).reset("a", "apply")
    with pytest.raises(UserError, match="the fuse of 'a' is not blown"):
        fusing(y).reset("a", "apply")
    with pytest.raises(UserError, match="stream table 'nothing' does not exist"):
        fusing(y).reset("nothing", "apply")
    with pytest.raises(UserError, match=r"fuse_ceiling cannot be more than 9,223,372,036,854,775,807"):
        y.definitions.alter(T("a"), {"fuse_ceiling": 2**63})
    for wrong in (0, -1, "much", True):
        with pytest.raises(UserError, match="fuse_sensitivity must be a number above 0"):
            y.definitions.alter(T("a"), {"fuse_sensitivity": wrong})


def test_a_sensitivity_beyond_all_measure_lets_everything_through(y: Yard) -> None:
    y.stream("a", "orders", fuse=Fuse.AUTO, fuse_sensitivity=1e308)
    y.tick()
    for rows in (2000, 1, 90_000, 2000, 2000, 10**9):
        write(y, rows)
        assert names(y.tick(1)) == ["a"]
    assert fusing(y).status()[0].expected_rows == MOST_ROWS


def test_a_fuse_that_never_blows_is_told(y: Yard) -> None:
    y.stream("a", "orders")
    altered = y.definitions.alter(T("a"), {"fuse": "on"})
    assert altered.notices == (
        "its fuse is on and has no ceiling, so it never blows: set fuse_ceiling, or the setting fuse_default_ceiling",
    )
    assert y.definitions.alter(T("a"), {"fuse_ceiling": 5}).notices == ()
