"""Declared refresh groups: what is refused, and how it is said."""

from __future__ import annotations

from typing import Any

import pytest

from spark_trickle.errors import AlreadyExistsError, NotFoundError, UserError
from spark_trickle.graph.declaring import declare
from spark_trickle.model.groups import DeclaredGroup, Isolation
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON

A, B, C, D = (TableName.parse(name) for name in "abcd")
EXISTING = DeclaredGroup(name="old", members=(C, D))


def declared(name: Any = "g", members: Any = ("a", "b"), isolation: Any = "read_committed", timeout: Any = 0) -> Any:
    return declare(name, members, isolation, timeout, tables={A, B, C, D}, declared=[EXISTING], now=NOON)


def test_a_group_keeps_what_was_said_in_the_order_it_was_said() -> None:
    assert declared("g", ["b", "lake.default.a"], "Repeatable_Read", 10) == DeclaredGroup(
        name="g", members=(B, A), isolation=Isolation.REPEATABLE_READ, snapshot_timeout_ms=10, created_at=NOON
    )


@pytest.mark.parametrize("name", ["", "  ", None])
def test_a_group_needs_a_name(name: object) -> None:
    with pytest.raises(UserError, match="a refresh group needs a name"):
        declared(name)


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\udc80"])
def test_a_name_can_be_kept_by_every_database(name: str) -> None:
    with pytest.raises(UserError, match="is not a name of a group: it has"):
        declared(name)
    assert declared("é" * 255).name == "é" * 255


def test_a_name_is_taken_once() -> None:
    with pytest.raises(AlreadyExistsError, match=r"refresh group 'old' already exists.*drop_refresh_group\('old'\)"):
        declared("old")


def test_an_unknown_member_is_named() -> None:
    with pytest.raises(NotFoundError, match="stream table 'orders' does not exist"):
        declared(members=["a", "orders"])


def test_a_member_of_another_group_is_named_with_that_group() -> None:
    with pytest.raises(UserError, match="'c' is already a member of refresh group 'old'") as caught:
        declared(members=["a", "c"])
    assert caught.value.facts == {"member": "c", "group": "old"}


@pytest.mark.parametrize(("members", "found"), [([], "none"), (["a"], "only one")])
def test_fewer_than_two_members_are_refused(members: list[str], found: str) -> None:
    with pytest.raises(UserError, match=f"at least two members, and 'g' would have {found}"):
        declared(members=members)


def test_a_member_named_twice_is_refused_however_it_is_spelled() -> None:
    with pytest.raises(UserError, match="'a' is named twice"):
        declared(members=["a", "b", "default.a"])


def test_a_text_where_a_list_belongs_is_refused() -> None:
    with pytest.raises(UserError, match="a list of names"):
        declared(members="ab")


def test_an_unknown_isolation_names_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"isolation cannot be 'serializable'.*'read_committed', 'repeatable_read'"):
        declared(isolation="serializable")


@pytest.mark.parametrize("timeout", [-1, 1.5, True, "10"])
def test_a_timeout_is_a_whole_number_of_milliseconds(timeout: object) -> None:
    with pytest.raises(UserError, match="snapshot_timeout_ms"):
        declared(timeout=timeout)
