"""Pointers, cuts, publications and transactions: one moment is read, and what lands lands whole."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import Connection, insert

from spark_trickle.catalog import history, pointers, stream_tables
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.database import Database
from spark_trickle.catalog.tables import ICEBERG_TABLES
from spark_trickle.errors import (
    ConflictError,
    InternalError,
    StreamTableError,
    UnavailableError,
)
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.publication import Publication, Swap
from spark_trickle.names import TableName
from tests.support.catalog_values import history_row, stream_table

ORDERS = TableName("default", "orders")
TOTALS = TableName("default", "totals")


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
