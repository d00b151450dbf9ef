"""Circles under the scheduler: one unit, due with its fastest member, held and failed whole. On the toy lake."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest

from spark_trickle.errors import ComputeError, SchemaChangedError, SuspendedError, UserError
from spark_trickle.fusing import Fusing
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.model.stream_table import Fuse, Options, Status
from spark_trickle.model.watermark import WatermarkMode
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON
from tests.support.scheduling import StoppedClock, Yard, failed, names, skipped, yard

T = TableName.parse


def ring(y: Yard, **schedules: str) -> None:
    """`a` reads orders and `b`, `b` reads `a` and returns; `after` reads `b`."""
    y.base("orders", "returns")
    y.stream("a", "orders", "b", schedule=schedules.get("a", "1s"))
    y.stream("b", "a", "returns", schedule=schedules.get("b", "1s"))
    y.stream("after", "b")


def test_a_circle_is_loaded_whole_and_its_readers_after_it(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        ring(y)
        assert names(y.tick()) == ["a", "b", "after"]
        both = {**y.holds("orders"), **y.holds("returns")}
        assert y.holds("a") == y.holds("b") == y.holds("after") == both
        y.write("orders")
        report = y.tick(10)
        assert names(report) == ["a", "b", "after"]
        assert y.holds("a") == y.holds("after") == {**y.holds("orders"), **y.holds("returns")}
        rows = {row.name: row for row in y.catalog.history(limit=2 + 1)}
        assert (rows["a"].group, rows["a"].cut) == (rows["b"].group, rows["b"].cut) == ("circle:a", report.cut)
        assert rows["a"].fixpoint_iteration == rows["b"].fixpoint_iteration
        assert (rows["a"].fixpoint_iteration or 0) > 1
        assert rows["after"].fixpoint_iteration is None
        assert y.catalog.group_epochs()["circle:a"] == 2
        assert names(y.tick(10)) == []


def test_a_circle_is_due_with_its_fastest_member(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        ring(y, a="1h", b="10s")
        y.tick()
        y.write("orders")
        assert names(y.tick(5)) == []
        assert names(y.tick(6)) == ["a", "b", "after"]


def test_those_that_are_made_together_differ_by_more_than_case(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("orders")
        with pytest.raises(
            UserError, match="'a' differs from 'A', which is made with it, by upper and lower case only"
        ):
            y.definitions.create_all({T("a"): "orders A", T("A"): "a"}, Options(), meaning=Meaning(), initialize=True)
        assert y.catalog.stream_tables() == ()


def test_what_holds_one_member_holds_the_circle(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        ring(y)
        y.tick()
        before = y.holds("a")
        y.gate("returns", True)
        y.write("orders")
        report = y.tick(10)
        assert set(skipped(report)) == {"a", "b", "after"}
        assert y.holds("a") == y.holds("b") == before
        y.gate("returns", False)
        assert names(y.tick(10)) == ["a", "b", "after"]
        y.definitions.suspend(T("b"))
        y.write("orders")
        assert set(skipped(y.tick(10))) >= {"a", "b"}
        with pytest.raises(SuspendedError):
            y.refresher.refresh([T("a")], None)
        y.definitions.resume(T("b"))
        # Whoever refreshes one by hand refreshes all.
        assert [outcome.name for outcome in y.refresher.refresh([T("b")], None)] == ["a", "b"]


def test_a_member_that_fails_fails_the_circle_and_nothing_is_published(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        ring(y)
        y.tick()
        before = y.holds("a")
        y.write("orders")
        y.failing["b"] = "permanent"
        report = y.tick(10)
        assert sorted(failed(report)) == ["a", "b"]
        assert "in round 1 of the circle" in report.failed[0].error
        assert y.holds("a") == y.holds("b") == y.holds("after") == before
        tables = {str(table.name): table for table in y.catalog.stream_tables()}
        assert tables["a"].status is tables["b"].status is Status.ERROR
        assert tables["after"].status is Status.ACTIVE
        assert {row.name: row.fixpoint_iteration for row in y.catalog.history(limit=2)} == {"a": 0, "b": 0}
        y.failing.clear()
        y.definitions.resume(T("a"))
        assert names(y.tick(10)) == ["a", "b", "after"]


def test_a_member_that_fails_by_hand_fails_the_circle_as_under_the_scheduler(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        ring(y)
        y.tick()
        before = y.holds("a")
        for failing, error, status in (
            ("transient", ComputeError, Status.ACTIVE),
            ("permanent", SchemaChangedError, Status.ERROR),
        ):
            y.write("orders")
            y.failing["b"] = failing
            with pytest.raises(error):
                y.refresher.refresh([T("a")], None)
            assert y.holds("a") == y.holds("b") == before
            tables = {str(table.name): table for table in y.catalog.stream_tables()}
            assert tables["a"].status is tables["b"].status is status
            assert tables["after"].status is Status.ACTIVE
        assert "in round 1 of the circle a -> b -> a" in (tables["a"].status_reason or "")
        assert [row.fixpoint_iteration for row in y.catalog.history(limit=2)] == [0, 0]
        assert set(skipped(y.tick(10))) >= {"a", "b"}
        y.failing.clear()
        y.definitions.resume(T("b"))
        assert names(y.tick(10)) == ["a", "b", "after"]


def test_two_circles_one_after_the_other_are_two_units(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        ring(y)
        y.stream("c", "after", "d")
        y.stream("d", "c")
        assert names(y.tick()) == ["a", "b", "after", "c", "d"]
        y.write("returns")
        assert names(y.tick(10)) == ["a", "b", "after", "c", "d"]
        assert y.holds("d") == {**y.holds("orders"), **y.holds("returns")}
        outcomes = y.refresher.refresh([T("a")], None)
        assert {outcome.action for outcome in outcomes} == {Action.NO_DATA}
        assert {outcome.status for outcome in outcomes} == {Outcome.COMPLETED}


def test_a_circle_in_a_diamond_and_one_in_a_declared_group_are_published_with_them(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("sales", "prices")
        y.stream("left", "sales", "back")
        y.stream("back", "left")
        y.stream("right", "sales")
        y.stream("meet", "back", "right")
        y.stream("quote", "prices", "quote")
        y.stream("other", "prices")
        y.group("together", "quote", "other")
        y.tick()
        y.write("sales", "prices")
        report = y.tick(10)
        assert sorted(names(report)) == ["back", "left", "meet", "other", "quote", "right"]
        rows = {row.name: row.group for row in y.catalog.history(limit=6)}
        assert {rows[name] for name in ("left", "back", "right", "meet")} == {"diamond:meet"}
        assert {rows[name] for name in ("quote", "other")} == {"declared:together"}
        assert y.holds("meet") == y.holds("left") == y.holds("sales")
        assert y.holds("quote") == y.holds("prices")
        y.gate("sales", True)
        y.write("sales", "prices")
        assert sorted(names(y.tick(10))) == ["other", "quote"]


@pytest.mark.parametrize("seed", range(25))
def test_in_any_graph_everybody_holds_the_newest_of_all_that_it_depends_on(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    bases, streams = ["x", "y", "z"], [f"s{number}" for number in range(dice.randint(2, 7))]
    with yard(tmp_path, workers=dice.randint(1, 3)) as y:
        y.base(*bases)
        reads: dict[str, set[str]] = {}
        for name in streams:
            reads[name] = {*dice.sample(streams, dice.randint(0, 2)), *dice.sample(bases, dice.randint(0, 2))}
            reads[name] = reads[name] or {dice.choice(bases)}
        for name in streams:
            y.known.add(T(name))
        for name in streams:
            y.stream(name, *sorted(reads[name]))
        for _ in range(4):
            y.write(*dice.sample(bases, dice.randint(1, 3)))
            y.tick(10)
            for name in streams:
                newest: dict[TableName, frozenset[int]] = {}
                for base in _below(name, reads).intersection(bases):
                    newest |= y.holds(base)
                assert y.holds(name) == newest, (name, reads)


def _below(name: str, reads: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        for source in reads.get(pending.pop(), ()):
            if source not in found:
                found.add(source)
                pending.append(source)
    return found


def test_a_circle_waits_whole_while_its_sources_are_apart(tmp_path: Path) -> None:
    """Each member reads one source of the group itself; both reach both on the way round."""
    with yard(tmp_path) as y:
        ring(y)
        y.watermark_group("g", "orders", "returns", tolerance=60)
        y.advance("orders", NOON)
        assert skipped(y.tick()) == dict.fromkeys(["a", "b", "after"], ("watermark",))
        y.advance("returns", NOON)
        assert names(y.tick(1)) == ["a", "b", "after"]
        y.write("orders", "returns")
        y.advance("orders", NOON + timedelta(minutes=2))
        before = y.holds("a")
        assert skipped(y.tick(1)) == dict.fromkeys(["a", "b", "after"], ("watermark",))
        assert y.holds("a") == y.holds("b") == before
        y.advance("returns", NOON + timedelta(minutes=1))
        assert names(y.tick(1)) == ["a", "b", "after"]


def test_a_circle_is_read_at_the_aligned_watermark_and_held_whole_by_a_fuse(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("x", "z")
        y.known |= {T("a"), T("b")}
        y.stream("a", "x", "b", fuse=Fuse.ON, fuse_ceiling=10)
        y.stream("b", "a", "z")
        y.watermark_group("g", "x", "z", mode=WatermarkMode.HOLD_BACK)
        y.advance("x", NOON)
        y.advance("z", NOON)
        first = y.holds("x"), y.holds("z")
        y.write("x", "z")
        assert set(names(y.tick())) == {"a", "b"}
        assert y.holds("a") == y.holds("b") == {**first[0], **first[1]}, "not what was written since"
        y.lake.write(T("x"), rows=11)
        for base in ("x", "z"):
            y.advance(base, NOON + timedelta(hours=1))
        assert skipped(y.tick(1)) == dict.fromkeys(["a", "b"], ("fuse",))
        assert y.holds("b") == {**first[0], **first[1]}
        Fusing(y.catalog, StoppedClock(y), 0).reset("a", "apply")
        assert set(names(y.tick(1))) == {"a", "b"}
        assert y.holds("a") == {**y.holds("x"), **y.holds("z")}
        assert y.catalog.get(T("a")).fuse.blown is None


def test_what_is_skipped_in_a_circle_is_skipped_by_all_of_its_members_and_by_nobody_else(tmp_path: Path) -> None:
    with yard(tmp_path) as y:
        y.base("x", "z")
        y.known |= {T("a"), T("b")}
        y.stream("a", "x", "b", fuse=Fuse.ON, fuse_ceiling=10)
        y.stream("b", "a", "x", "z")
        y.stream("c", "x", "z")
        y.tick()
        before = y.holds("a"), y.holds("b")
        y.lake.write(T("x"), rows=11)
        assert skipped(y.tick(1)) == dict.fromkeys(["a", "b"], ("fuse",))
        Fusing(y.catalog, StoppedClock(y), 0).reset("a", "skip_changes")
        assert not y.tick(1).refreshed and (y.holds("a"), y.holds("b")) == before
        a, b, c = (y.catalog.get(T(name)) for name in "abc")
        assert a.frontier["x"] == b.frontier["x"] == c.frontier["x"]
        assert "had 11 changed rows skipped (" in str(a.diverged) and c.diverged is None
        assert "had 11 changed rows skipped with 'a', whose circle it is in" in str(b.diverged)
        y.refresher.refresh([T("b")], y.full)
        assert [y.catalog.get(T(name)).diverged for name in "ab"] == [None, None]
        assert y.holds("a") == y.holds("b") == {**y.holds("x"), **y.holds("z")}
