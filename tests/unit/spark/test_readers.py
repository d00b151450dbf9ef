"""Who will need the same change is told from what refreshes have shown."""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.spark.execution.readers import MOST_READERS, Readers

A, B, C = (TableName.parse(name) for name in ("a", "b", "c"))
ORDERS = Pin(TableName.parse("orders"), "u-1", 10, 0, "v10.json")
LATER = replace(ORDERS, snapshot_id=11, location="v11.json")


def test_those_wait_that_are_where_the_change_begins() -> None:
    readers = Readers()
    readers.note(ORDERS, A, ("k",))
    readers.note(ORDERS, B, ("k", "price"))
    assert readers.waiting(ORDERS, LATER) == {A: ("k",), B: ("k", "price")}
    readers.note(LATER, A, ("k",))
    assert readers.waiting(ORDERS, LATER) == {B: ("k", "price")}
    assert readers.waiting(LATER, LATER) == {A: ("k",)}


def test_nobody_waits_for_another_table_or_for_columns_that_may_be_others() -> None:
    readers = Readers()
    readers.note(ORDERS, A, ("k",))
    assert readers.waiting(replace(ORDERS, uuid="u-2"), replace(LATER, uuid="u-2")) == {}
    assert readers.waiting(ORDERS, replace(LATER, schema_id=1)) == {}


def test_what_each_reader_reads_of_a_source_is_known() -> None:
    readers = Readers()
    readers.note(ORDERS, A, ("k",))
    readers.note(ORDERS, B, ("k", "price"))
    readers.note(LATER, A, ("k", "note"))
    assert sorted(readers.columns("u-1")) == [("k", "note"), ("k", "price")] and readers.columns("u-2") == []


def test_readers_that_come_and_go_are_forgotten_and_those_that_stay_are_not() -> None:
    readers = Readers()
    for number in range(3 * MOST_READERS):
        passing = TableName.parse(f"t{number}")
        readers.note(ORDERS, passing, ("k",))
        readers.note(ORDERS, A, ("k",))
    waiting = readers.waiting(ORDERS, LATER)
    assert A in waiting and len(waiting) == MOST_READERS
    readers.forget(A)
    assert A not in readers.waiting(ORDERS, LATER)
