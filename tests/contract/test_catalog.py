"""Stream tables and history: what is written comes back, and two writers cannot both win."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.elsewhere.heads import missing
from spark_trickle.elsewhere.jdbc import JdbcHeads
from spark_trickle.elsewhere.settings import ICEBERG, CatalogSettings
from spark_trickle.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    StreamTableError,
)
from spark_trickle.model.frontier import Frontier, Pin, Pointer
from spark_trickle.model.gate import GateChange
from spark_trickle.model.publication import Away, Cut, Swap
from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.model.stream_table import (
    BootstrapGating,
    DiamondConsistency,
    DiamondSchedulePolicy,
    Fuse,
    Options,
    RefreshMode,
    Source,
    Status,
    StreamTable,
)
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, history_row, pin, stream_table

ORDERS = TableName("default", "orders")
TOTALS = TableName("default", "totals")


def everything() -> StreamTable:
    """A value whose every field differs from its default."""
    return stream_table(
        "sales.`odd.name`",
        query="select 'é\n' from orders",
        options=Options(
            schedule="5m",
            refresh_mode=RefreshMode.IMMEDIATE,
            diamond_consistency=DiamondConsistency.NONE,
            diamond_schedule_policy=DiamondSchedulePolicy.SLOWEST,
            bootstrap_gating=BootstrapGating.IGNORE,
            strict=True,
            fuse=Fuse.AUTO,
            fuse_ceiling=5_000_000_000,
        ),
        status=Status.SUSPENDED,
        status_reason="asked to",
        effective_mode=RefreshMode.FULL,
        mode_reason="RAND()",
        sources=(
            Source(table=ORDERS, kind="TABLE"),
            Source(table=TableName("a.b", "v"), kind="VIEW"),
            Source(table=ORDERS, kind="TABLE"),
        ),
        internal_tables=(TableName("trickle_internal", "x.y"),),
        explanation="Scan\n  Δ ⋈",
        frontier=Frontier((pin("orders", 8_000_000_000_000_000_001), pin("a.b.v", None))),
        published=(pin("odd", 3), pin("trickle_internal.s", 4)),
        version=3,
        epoch=9,
        consecutive_errors=2,
        last_refresh_at=NOON + timedelta(microseconds=1),
        data_timestamp=NOON + timedelta(days=1),
        notices=("mind 'this'", "and that"),
        fixpoint_iterations=12,
        fixpoint_at=NOON + timedelta(hours=1),
    )


def test_a_stream_table_comes_back_equal_in_every_field(catalog: Catalog) -> None:
    catalog.insert(everything())
    assert catalog.get(everything().name) == everything()


def test_times_come_back_aware_in_utc_whatever_zone_they_were_given_in(catalog: Catalog) -> None:
    kolkata = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    catalog.insert(stream_table("totals", created_at=kolkata))
    found = catalog.get(TOTALS).created_at
    assert found == NOON
    assert found.tzinfo is UTC


def test_a_time_without_zone_is_refused(catalog: Catalog) -> None:
    with pytest.raises(StreamTableError, match="no time zone"):
        catalog.insert(stream_table("totals", created_at=datetime(2026, 1, 1)))  # noqa: DTZ001
    assert catalog.stream_tables() == ()


def test_a_name_can_be_taken_once(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    with pytest.raises(AlreadyExistsError, match="stream table 'totals' already exists"):
        catalog.insert(stream_table("totals", query="select 2"))
    assert catalog.get(TOTALS).query == "select * from orders"


def test_getting_what_is_not_there_is_an_error_and_finding_it_is_not(catalog: Catalog) -> None:
    assert catalog.find(TOTALS) is None
    with pytest.raises(NotFoundError, match="stream table 'totals' does not exist"):
        catalog.get(TOTALS)


def test_stream_tables_are_listed_by_name_whatever_the_database_thinks_of_case(catalog: Catalog) -> None:
    for name in ("b", "B", "a", "z.a", "_"):
        catalog.insert(stream_table(name))
    assert [str(table.name) for table in catalog.stream_tables()] == ["B", "_", "a", "b", "z.a"]


def test_updating_advances_the_version_and_replaces_the_sources(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals", reads=("orders", "customers")))
    read = catalog.get(TOTALS)
    written = catalog.update(replace(read, sources=(Source(table=TableName.parse("stock"), kind="TABLE"),), epoch=1))
    assert written.version == read.version + 1
    assert catalog.get(TOTALS) == written
    assert catalog.dependents(ORDERS) == ()
    assert catalog.dependents(TableName.parse("stock")) == (TOTALS,)


def test_who_reads_itself_is_told_by_what_is_above_it(catalog: Catalog) -> None:
    reads = {"a": "b x", "b": "c", "c": "a", "own": "own y", "below": "a", "plain": "x"}
    for name, sources in reads.items():
        catalog.insert(stream_table(name, reads=tuple(sources.split())))
    # What a view reads is listed beside it; the view itself is no way.
    catalog.insert(stream_table("v1", sources=(Source(table=TableName.parse("v1"), kind="VIEW"),)))
    found = [name for name in (*reads, "v1", "nothing") if catalog.reads_itself(TableName.parse(name))]
    assert found == ["a", "b", "c", "own"]


def test_of_two_updates_of_the_same_version_the_second_is_a_conflict(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    read = catalog.get(TOTALS)
    catalog.update(replace(read, epoch=1))
    with pytest.raises(ConflictError) as caught:
        catalog.update(replace(read, epoch=2))
    assert caught.value.facts == {"table": "totals", "expected": "version 0", "found": "version 1"}
    assert catalog.get(TOTALS).epoch == 1


def test_deleting_takes_the_sources_along_and_leaves_the_history(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    catalog.record([history_row("totals")])
    catalog.delete(catalog.get(TOTALS))
    assert catalog.find(TOTALS) is None
    assert catalog.dependents(ORDERS) == ()
    assert len(catalog.history(TOTALS)) == 1


def test_deleting_another_version_than_was_read_is_a_conflict(catalog: Catalog) -> None:
    read = catalog.insert(stream_table("totals"))
    catalog.update(read)
    with pytest.raises(ConflictError):
        catalog.delete(read)
    assert catalog.find(TOTALS) is not None


def test_updating_what_was_dropped_meanwhile_says_so(catalog: Catalog) -> None:
    read = catalog.insert(stream_table("totals"))
    catalog.delete(read)
    with pytest.raises(NotFoundError):
        catalog.update(read)


def test_a_history_row_comes_back_equal_in_every_field(catalog: Catalog) -> None:
    row = history_row(
        "totals",
        action=Action.SKIP,
        status=Outcome.FAILED,
        mode=None,
        reason="because",
        error="boom",
        cut=None,
        group="diamond:1",
        rows_inserted=5_000_000_000,
        fixpoint_iteration=3,
        generation=5_000_000_000,
    )
    catalog.record([row])
    assert catalog.history() == (row,)


def test_history_is_newest_first_limited_and_of_one_table_where_asked(catalog: Catalog) -> None:
    catalog.record([history_row(name, epoch=number) for number, name in enumerate(["totals", "other"] * 3)])
    assert [row.epoch for row in catalog.history(limit=4)] == [5, 4, 3, 2]
    assert [row.epoch for row in catalog.history(TOTALS)] == [4, 2, 0]


def test_history_of_a_name_that_never_was_is_an_error(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError):
        catalog.history(TOTALS)


def test_pruning_forgets_only_what_started_before(catalog: Catalog) -> None:
    catalog.record([history_row("totals", started_at=NOON - timedelta(days=days), epoch=days) for days in (3, 2, 1)])
    assert catalog.prune_history(NOON - timedelta(days=2)) == 1
    assert [row.epoch for row in catalog.history()] == [1, 2]


def test_a_table_of_another_catalog_comes_back_as_what_it_was(catalog: Catalog) -> None:
    far = TableName.elsewhere("prod", ["a.b", "é"], "or`ders")
    read = Pin(far, "uuid", 7, 0, "s3://there/v1.metadata.json")
    table = stream_table("totals", sources=(Source(table=far, kind="TABLE"),), frontier=Frontier((read,)))
    catalog.insert(table)
    found = catalog.get(TOTALS)
    assert found.sources[0].table == far and found.frontier.of(far) == read
    assert found.frontier["prod.`a.b`.é.`or``ders`"] == 7
    assert catalog.dependents(far) == (TOTALS,)
    catalog.change_gates([GateChange(source=far, gated=True, at=NOON, by="etl")])
    cut = catalog.cut()
    assert list(cut.gates) == [far] and cut.elsewhere == {far} and far not in cut.pointers


def test_a_cut_is_the_same_again_until_a_table_of_another_catalog_moves(url: str) -> None:
    far, place = TableName.elsewhere("prod", ["db"], "orders"), {"at": "m1"}

    def elsewhere(cut: Cut) -> Cut:
        if place["at"] == "":
            return replace(cut, away={far: Away("gone", "wait")})
        return replace(cut, id=f"{cut.id}{place['at']}", pointers={**cut.pointers, far: Pointer(far, place["at"])})

    catalog = Catalog.open(url, busy_timeout_seconds=5, elsewhere=elsewhere)
    read = CutReader(catalog)
    first = read()
    assert first.pointers[far].location == "m1" and read() is first
    place["at"] = "m2"
    second = read()
    assert second is not first and second.pointers[far].location == "m2" and read() is second
    place["at"] = ""
    assert read().away[far].reason == "gone" and read() is read()
    catalog.close()


def test_pointers_of_a_jdbc_catalog_are_read_without_java(catalog: Catalog) -> None:
    catalog.swap([Swap(ORDERS, None, "m1")])
    database = catalog.database
    given = {f"jdbc.{key}": value for key, value in database.jdbc_properties().items()}
    heads = JdbcHeads.made_of(CatalogSettings("lake", ICEBERG, {"uri": database.jdbc_url(), **given}))
    there, not_there = (TableName.elsewhere("lake", ["default"], name) for name in ("orders", "others"))
    assert heads is not None and heads.of([there, not_there]) == {there: "m1", not_there: missing(not_there)}
    heads.close()
