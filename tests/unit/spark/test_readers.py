"""Who will need the same change is told from what refreshes have shown."""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.spark.readers import MOST_READERS, Readers

A, B, C = (TableName.parse(name) for name in ("a", "b", "c"))
ORDERS = Pin(TableName.parse("orders"), "u-1", 10, 0, "v10.json")
LATER = replace(ORDERS, snapshot_id=11, location="v11.json")


def test_those_wait_that_are_where_the_change_begins() -> None:
    readers = Readers()
    readers.note(ORDERS, A, ("k",), kept=False)
    readers.note(ORDERS, B, ("k", "price"), kept=True)
    assert readers.waiting(ORDERS, LATER) == {A: ("k",), B: ("k", "price")}
    readers.note(LATER, A, ("k",), kept=True)
    assert readers.waiting(ORDERS, LATER) == {B: ("k", "price")}
    assert readers.waiting(LATER, LATER) == {A: ("k",)}


def test_nobody_waits_for_another_table_or_for_columns_that_may_be_others() -> None:
    readers = Readers()
    readers.note(ORDERS, A, ("k",), kept=True)
    assert readers.waiting(replace(ORDERS, uuid="u-2"), replace(LATER, uuid="u-2")) == {}
    assert readers.waiting(ORDERS, replace(LATER, schema_id=1)) == {}


def test_who_looks_up_rows_is_who_did_and_who_has_not_been_seen() -> None:
    readers = Readers()
    readers.note(ORDERS, A, ("k",), kept=True)
    readers.note(ORDERS, B, ("k", "price"), kept=True)
    readers.looks(ORDERS, "k", A, "o_k")
    among = {A: ("k",), B: ("k", "price"), C: ("note",)}
    assert readers.looking(LATER, "k", among) == {A: ("k",), C: ("note",)}
    readers.note(ORDERS, C, ("note",), kept=True)
    assert readers.looking(LATER, "k", among) == {A: ("k",)}
    readers.note(LATER, A, ("k",), kept=False)
    assert readers.looking(LATER, "k", among) == {A: ("k",)}, "made anew, it still looks up the same"


def test_keys_have_the_names_that_those_gave_them_who_look_up_rows() -> None:
    readers = Readers()
    readers.looks(ORDERS, "k", A, "o_k")
    readers.looks(ORDERS, "k", A, "l_k")
    readers.looks(ORDERS, "k", B, "p_k")
    readers.looks(ORDERS, "price", C, "cost")
    assert readers.called(LATER, "k", {A: ("k",), C: ("k",)}) == {"o_k", "l_k"}


def test_readers_that_come_and_go_are_forgotten_and_those_that_stay_are_not() -> None:
    readers = Readers()
    for number in range(3 * MOST_READERS):
        passing = TableName.parse(f"t{number}")
        readers.note(ORDERS, passing, ("k",), kept=True)
        readers.looks(ORDERS, "k", passing, "o_k")
        readers.note(ORDERS, A, ("k",), kept=True)
        readers.looks(ORDERS, "k", A, "a_k")
    waiting = readers.waiting(ORDERS, LATER)
    assert A in waiting and len(waiting) == MOST_READERS
    assert readers.called(ORDERS, "k", [A]) == {"a_k"}
    assert len(readers.looking(ORDERS, "k", waiting)) == MOST_READERS
    readers.forget(A)
    assert A not in readers.waiting(ORDERS, LATER) and readers.called(ORDERS, "k", [A]) == set()
