"""What the catalog promises, on each database it can live in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, text

from spark_trickle.catalog import history, pointers, stream_tables
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.database import Database
from spark_trickle.catalog.tables import ICEBERG_TABLES
from spark_trickle.errors import (
    AlreadyExistsError,
    ConflictError,
    InternalError,
    NotFoundError,
    StreamTableError,
    UnavailableError,
)
from spark_trickle.model.frontier import Frontier, Pointer
from spark_trickle.model.publication import Publication, Swap
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


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/trickle.db"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    opened = Catalog.open(url, busy_timeout_seconds=5)
    yield opened
    opened.close()


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
    )


# -- stream tables


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


def test_failures_in_a_row_end_in_error_with_the_last_message(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    catalog.count_failure(TOTALS, "one")
    catalog.count_failure(TOTALS, "two")
    assert (catalog.get(TOTALS).status, catalog.get(TOTALS).consecutive_errors) == (Status.ACTIVE, 2)
    catalog.count_failure(TOTALS, "three")
    assert (catalog.get(TOTALS).status, catalog.get(TOTALS).status_reason) == (Status.ERROR, "three")


# -- history


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


# -- pointers


def test_a_new_catalog_has_the_two_namespaces_and_nothing_in_them(catalog: Catalog) -> None:
    assert catalog.namespaces() == ("default", "trickle_internal")
    assert catalog.pointers() == {}
    with catalog.read() as connection:
        rows = pointers.all_rows(connection)
    assert rows.tables == ()
    assert sorted(rows.namespaces, key=str) == [
        ("lake", "default", "exists", "true"),
        ("lake", "trickle_internal", "exists", "true"),
    ]


def test_a_pointer_is_inserted_moved_and_deleted(catalog: Catalog) -> None:
    catalog.swap([Swap(ORDERS, None, "m1")])
    assert catalog.pointers() == {ORDERS: Pointer(ORDERS, "m1", "TABLE")}
    catalog.swap([Swap(ORDERS, "m1", "m2")])
    with catalog.read() as connection:
        assert pointers.all_rows(connection).tables == (("lake", "default", "orders", "m2", "m1", "TABLE"),)
    catalog.swap([Swap(ORDERS, "m2", None)])
    assert catalog.pointers() == {}


@pytest.mark.parametrize(
    ("expected", "new"), [(None, "m9"), ("m0", "m9"), ("m0", None)], ids=["insert", "move", "delete"]
)
def test_a_swap_that_misses_is_a_conflict_that_tells_what_was_found(
    catalog: Catalog, expected: str | None, new: str | None
) -> None:
    catalog.swap([Swap(ORDERS, None, "m1")])
    with pytest.raises(ConflictError) as caught:
        catalog.swap([Swap(ORDERS, expected, new)])
    assert caught.value.facts == {"table": "orders", "expected": expected, "found": "m1"}
    assert catalog.pointers()[ORDERS].location == "m1"


def test_a_table_is_not_swapped_as_a_view(catalog: Catalog) -> None:
    catalog.swap([Swap(ORDERS, None, "m1", "VIEW")])
    with pytest.raises(ConflictError):
        catalog.swap([Swap(ORDERS, "m1", "m2", "TABLE")])
    catalog.swap([Swap(ORDERS, "m1", "m2", "VIEW")])
    assert catalog.pointers()[ORDERS] == Pointer(ORDERS, "m2", "VIEW")


def test_a_row_of_icebergs_older_schema_counts_as_a_table(catalog: Catalog) -> None:
    with catalog.write() as connection:
        _iceberg_row(connection, "orders", "m1", kind=None)
    assert catalog.pointers()[ORDERS].kind == "TABLE"
    catalog.swap([Swap(ORDERS, "m1", "m2")])
    assert catalog.pointers()[ORDERS].location == "m2"


def test_rows_of_another_iceberg_catalog_are_neither_seen_nor_moved(catalog: Catalog) -> None:
    with catalog.write() as connection:
        _iceberg_row(connection, "orders", "m1", catalog_name="other")
    assert catalog.pointers() == {}
    with pytest.raises(ConflictError):
        catalog.swap([Swap(ORDERS, "m1", "m2")])


def test_pointers_of_many_names_and_of_few_are_the_same(catalog: Catalog) -> None:
    names = [TableName("default", f"t{number}") for number in range(700)]
    catalog.swap([Swap(name, None, name.name) for name in names])
    assert len(catalog.pointers()) == 700
    assert set(catalog.pointers([*names[:650], ORDERS])) == set(names[:650])
    assert set(catalog.pointers([names[3], ORDERS])) == {names[3]}
    assert catalog.pointers([]) == {}


def test_a_namespace_can_be_added_twice(catalog: Catalog) -> None:
    with catalog.write() as connection:
        pointers.add_namespace(connection, "a.b")
        pointers.add_namespace(connection, "a.b")
    assert catalog.namespaces() == ("a.b", "default", "trickle_internal")


# -- cuts and publications


def test_a_publication_lands_whole(catalog: Catalog) -> None:
    catalog.publish(
        Publication(
            namespaces=("sales",),
            swaps=(Swap(TOTALS, None, "m1"), Swap(TableName("trickle_internal", "s"), None, "s1")),
            created=(stream_table("totals"),),
            history=(history_row("totals"),),
        )
    )
    cut = catalog.cut()
    assert {name.name: pointer.location for name, pointer in cut.pointers.items()} == {"totals": "m1", "s": "s1"}
    assert cut.tables == {TOTALS: stream_table("totals")}
    assert "sales" in cut.namespaces
    assert len(catalog.history(TOTALS)) == 1


@pytest.mark.parametrize("miss", ["pointer", "version", "name"])
def test_a_publication_of_which_one_part_misses_leaves_nothing(catalog: Catalog, miss: str) -> None:
    catalog.swap([Swap(ORDERS, None, "m1")])
    kept = catalog.insert(stream_table("kept"))
    before = (catalog.cut(), catalog.history())
    with pytest.raises(StreamTableError):
        catalog.publish(
            Publication(
                namespaces=("sales",),
                swaps=(Swap(TOTALS, None, "t1"), Swap(ORDERS, "m0" if miss == "pointer" else "m1", "m2")),
                created=(stream_table("kept" if miss == "name" else "totals"),),
                updated=(replace(kept, version=7 if miss == "version" else 0, epoch=1),),
                history=(history_row("totals"),),
            )
        )
    assert (catalog.cut(), catalog.history()) == before


def test_cuts_of_the_same_versions_have_the_same_id_and_others_do_not(catalog: Catalog) -> None:
    catalog.swap([Swap(ORDERS, None, "m1")])
    first = catalog.cut()
    catalog.record([history_row("totals")])
    assert catalog.cut().id == first.id
    catalog.swap([Swap(ORDERS, "m1", "m2")])
    assert catalog.cut().id != first.id


# -- transactions


def test_an_exception_rolls_back_everything(catalog: Catalog) -> None:
    with pytest.raises(KeyError), catalog.write() as connection:
        pointers.swap(connection, ORDERS, None, "m1")
        stream_tables.insert(connection, stream_table("totals"))
        history.append(connection, history_row("totals"))
        raise KeyError("stop")
    assert catalog.pointers() == {}
    assert catalog.stream_tables() == ()
    assert catalog.history() == ()


def test_a_read_sees_one_moment_although_others_write(catalog: Catalog, url: str) -> None:
    catalog.swap([Swap(ORDERS, None, "m1")])
    other = Catalog.open(url)
    with catalog.read() as connection:
        assert pointers.read(connection)[ORDERS].location == "m1"
        other.swap([Swap(ORDERS, "m1", "m2"), Swap(TOTALS, None, "t1")])
        assert {name.name: pointer.location for name, pointer in pointers.read(connection).items()} == {"orders": "m1"}
        assert catalog.cut(connection).pointers[ORDERS].location == "m1"
    assert catalog.pointers()[ORDERS].location == "m2"
    other.close()


def test_a_read_cannot_write(catalog: Catalog) -> None:
    with pytest.raises(StreamTableError), catalog.read() as connection:
        pointers.swap(connection, ORDERS, None, "m1")
    assert catalog.pointers() == {}
    catalog.swap([Swap(ORDERS, None, "m1")])


def test_a_write_inside_a_write_of_the_same_thread_is_refused_at_once(catalog: Catalog) -> None:
    with pytest.raises(InternalError, match="inside another"), catalog.write():
        catalog.swap([Swap(ORDERS, None, "m1")])
    assert catalog.pointers() == {}


def test_a_writer_that_waits_too_long_for_another_is_told_that_the_catalog_is_busy(url: str) -> None:
    patient, hasty = Database.open(url), Database.open(url, busy_timeout_seconds=0.2)
    with patient.write(), pytest.raises(UnavailableError, match="busy"), hasty.write():
        pytest.fail("two writers at once")
    with hasty.write() as connection:
        pointers.swap(connection, ORDERS, None, "m1")
    patient.close()
    hasty.close()


def test_an_error_that_was_swallowed_does_not_look_like_a_commit(catalog: Catalog) -> None:
    if catalog.database.backend == "sqlite":
        # There a statement that failed leaves the transaction as it was.
        return
    with pytest.raises(InternalError, match="not let through"), catalog.write() as connection:
        pointers.swap(connection, ORDERS, None, "m1")
        try:
            connection.execute(text("SELECT 1/0"))
        except Exception:  # noqa: BLE001, S110
            pass
    assert catalog.pointers() == {}


def test_of_many_threads_that_swap_the_same_pointer_exactly_one_wins(catalog: Catalog) -> None:
    catalog.swap([Swap(ORDERS, None, "m0")])
    start, won, lost = threading.Barrier(8), [], []

    def race(number: int) -> None:
        start.wait()
        try:
            catalog.swap([Swap(ORDERS, "m0", f"m{number}")])
            won.append(f"m{number}")
        except ConflictError as err:
            lost.append(err.facts["found"])

    threads = [threading.Thread(target=race, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert lost == won * 7
    assert catalog.pointers()[ORDERS].location == won[0]


def _iceberg_row(
    connection: Connection, name: str, location: str, *, kind: str | None = "TABLE", catalog_name: str = "lake"
) -> None:
    connection.execute(
        insert(ICEBERG_TABLES).values(
            catalog_name=catalog_name,
            table_namespace="default",
            table_name=name,
            metadata_location=location,
            iceberg_type=kind,
        )
    )
