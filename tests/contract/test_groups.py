"""Refresh groups in the catalog, and epochs of groups: written with what is published, or not at all."""

from __future__ import annotations

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.clock import SystemClock
from spark_trickle.errors import AlreadyExistsError, ConflictError, NotFoundError, UserError
from spark_trickle.grouping import Grouping
from spark_trickle.model.groups import DeclaredGroup, Isolation
from spark_trickle.model.publication import Publication, Swap
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, stream_table

B2, C2, D = (TableName.parse(name) for name in ("b2", "sales.`c 2`", "d"))
GROUP = DeclaredGroup(
    name="positions and prices",
    members=(C2, B2),
    isolation=Isolation.REPEATABLE_READ,
    snapshot_timeout_ms=5_000_000_000,
    created_at=NOON,
)


@pytest.fixture
def grouping(catalog: Catalog) -> Grouping:
    """B2 and C2 over tables of their own, and D over both."""
    catalog.insert(stream_table("b2", ("b1",)))
    catalog.insert(stream_table("sales.`c 2`", ("c1",)))
    catalog.insert(stream_table("d", ("b2", "sales.`c 2`")))
    return Grouping(catalog, SystemClock())


def test_a_declared_group_comes_back_equal_in_every_field(catalog: Catalog, grouping: Grouping) -> None:
    catalog.add_refresh_group(GROUP)
    assert catalog.refresh_groups() == (GROUP,)
    assert catalog.cut().groups == (GROUP,)


def test_refresh_group_create_drop(catalog: Catalog, grouping: Grouping) -> None:
    made = grouping.create("g", ["d", "b2"], isolation="REPEATABLE_READ", snapshot_timeout_ms=250)
    assert grouping.declared() == [made]
    assert (made.members, made.member_count, made.isolation) == (("d", "b2"), 2, Isolation.REPEATABLE_READ)
    grouping.drop("g")
    assert grouping.declared() == []
    assert [table.name for table in catalog.stream_tables()] == [B2, D, C2]


def test_refresh_group_member_conflict(grouping: Grouping) -> None:
    grouping.create("g", ["b2", "sales.`c 2`"])
    with pytest.raises(UserError, match="'b2' is already a member of refresh group 'g'"):
        grouping.create("h", ["d", "b2"])
    with pytest.raises(AlreadyExistsError, match="refresh group 'g' already exists"):
        grouping.create("g", ["d", "b2"])
    assert [group.group_name for group in grouping.declared()] == ["g"]


def test_a_group_that_is_refused_leaves_nothing(catalog: Catalog, grouping: Grouping) -> None:
    before = catalog.cut().generation
    for members in (["b2"], ["b2", "nobody"], ["b2", "b2"], []):
        with pytest.raises(UserError):
            grouping.create("g", members)
    assert grouping.declared() == []
    assert catalog.cut().generation == before


def test_dropping_a_group_that_does_not_exist_says_so(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError, match="refresh group 'g' does not exist"):
        catalog.drop_refresh_group("g")


def test_a_stream_table_that_is_dropped_is_a_member_no_more(catalog: Catalog, grouping: Grouping) -> None:
    catalog.add_refresh_group(GROUP)
    catalog.delete(catalog.get(B2))
    assert catalog.refresh_groups()[0].members == (C2,)
    assert grouping.all() == []


def test_other_processes_are_told_when_groups_are_made_and_dropped(catalog: Catalog, grouping: Grouping) -> None:
    seen = [catalog.cut().generation]
    grouping.create("g", ["b2", "d"])
    seen.append(catalog.cut().generation)
    grouping.drop("g")
    seen.append(catalog.cut().generation)
    assert seen == sorted(set(seen))


def test_the_epoch_of_a_group_advances_with_each_publication_of_it(catalog: Catalog) -> None:
    assert catalog.group_epochs() == {}
    catalog.publish(Publication(groups=("diamond:d", "declared:g")))
    catalog.publish(Publication(groups=("diamond:d",)))
    catalog.publish(Publication())
    assert catalog.group_epochs() == {"diamond:d": 2, "declared:g": 1}


def test_the_epoch_stays_when_the_publication_fails(catalog: Catalog) -> None:
    catalog.publish(Publication(groups=("diamond:d",)))
    with pytest.raises(ConflictError):
        catalog.publish(Publication(swaps=(Swap(D, "elsewhere", "new"),), groups=("diamond:d",)))
    assert catalog.group_epochs() == {"diamond:d": 1}


def test_diamond_groups_sql_function(catalog: Catalog) -> None:
    """Members with their group's epoch, the convergence marked; stream tables of their own are left out."""
    for name, reads in (("sales.b", "a"), ("c", "a"), ("d", "sales.b c"), ("solo", "a")):
        catalog.insert(stream_table(name, tuple(reads.split())))
    catalog.publish(Publication(groups=("diamond:d",)))
    rows = Grouping(catalog, SystemClock()).members()
    assert [(row.member_schema, row.member_name, row.is_convergence) for row in rows] == [
        ("default", "c", False),
        ("sales", "b", False),
        ("default", "d", True),
    ]
    assert {(row.group_id, row.epoch, row.schedule_policy.value) for row in rows} == {("diamond:d", 1, "fastest")}
