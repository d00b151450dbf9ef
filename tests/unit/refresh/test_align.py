"""A refresh by hand of whoever reads a base table on several paths takes along what is behind on those paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_trickle.errors import SuspendedError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode
from spark_trickle.names import TableName
from tests.support.scheduling import LOOSE, Yard, yard

T = TableName.parse


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path, 1) as made:
        made.base("a", "other")
        made.stream("b", "a")
        made.stream("c", "a", "other")
        made.stream("d", "b", "c")
        made.tick()
        yield made


def refreshed(y: Yard, *names: str, mode: RefreshMode | None = None) -> dict[str, Action]:
    outcomes = y.refresher.refresh([T(name) for name in names], mode)
    return {outcome.name: outcome.action for outcome in outcomes}


def test_a_convergence_is_never_split_by_refreshes_by_hand(y: Yard) -> None:
    y.write("a")
    assert refreshed(y, "b") == {"b": Action.DIFFERENTIAL}
    assert refreshed(y, "d") == {"c": Action.DIFFERENTIAL, "d": Action.DIFFERENTIAL}
    assert y.holds("d") == {**y.holds("a"), **y.holds("other")}


def test_whoever_reads_a_base_table_directly_too_sees_one_version(y: Yard) -> None:
    y.stream("e", "a", "b")
    y.tick()
    y.write("a")
    assert set(refreshed(y, "e")) == {"b", "e"}
    assert y.holds("e") == y.holds("a")


def test_members_that_are_not_behind_are_left_alone(y: Yard) -> None:
    y.write("other")
    assert set(refreshed(y, "d")) == {"c", "d"}
    assert set(refreshed(y, "d")) == {"d"}


def test_an_intermediate_goes_alone(y: Yard) -> None:
    y.write("a")
    assert set(refreshed(y, "c")) == {"c"}


def test_where_splits_are_allowed_nobody_is_taken_along(y: Yard) -> None:
    y.stream("loose", "b", "c", diamond_consistency=LOOSE)
    y.tick()
    y.write("a")
    assert set(refreshed(y, "loose")) == {"loose"}


def test_the_mode_that_was_asked_for_concerns_who_was_named(y: Yard) -> None:
    y.write("a")
    assert refreshed(y, "d", mode=RefreshMode.FULL) == {
        "b": Action.DIFFERENTIAL,
        "c": Action.DIFFERENTIAL,
        "d": Action.FULL,
    }


def test_a_suspended_member_is_named(y: Yard) -> None:
    y.definitions.suspend(T("c"))
    y.write("a")
    with pytest.raises(SuspendedError, match="'c'"):
        refreshed(y, "d")
    assert y.holds("d") != y.holds("a")


def test_the_epoch_of_a_group_advances_when_all_of_it_was_brought_along(y: Yard) -> None:
    before = y.catalog.group_epochs()["diamond:d"]
    y.write("a")
    refreshed(y, "b")
    assert y.catalog.group_epochs()["diamond:d"] == before
    refreshed(y, "d")
    assert y.catalog.group_epochs()["diamond:d"] == before + 1
