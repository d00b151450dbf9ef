"""Gates in the catalog: closing, opening, their history, and the number that tells other processes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.elsewhere.pins import with_pointers
from spark_trickle.errors import ConflictError
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.gate import Gate, GateChange
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.standing import Failure
from spark_trickle.model.stream_table import Options, Status
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, history_row, stream_table

ORDERS = TableName("default", "orders")
LINES = TableName("raw.eu", "order lines")
LATER = NOON + timedelta(minutes=20)


def close(source: TableName = ORDERS, by: str = "etl", minutes: int = 0, auto: bool = False) -> GateChange:
    at = NOON + timedelta(minutes=minutes)
    return GateChange(source=source, gated=True, at=at, by=by, auto_ungate_on_watermark=auto)


def open_(source: TableName = ORDERS, by: str = "etl", minutes: int = 20) -> GateChange:
    return GateChange(source=source, gated=False, at=NOON + timedelta(minutes=minutes), by=by)


def test_a_gate_comes_back_equal_in_every_field(catalog: Catalog) -> None:
    catalog.change_gates([close(LINES, by="etl-b", auto=True), close()])
    closed = Gate(source=LINES, gated=True, gated_at=NOON, gated_by="etl-b", auto_ungate_on_watermark=True)
    assert catalog.gates() == {LINES: closed, ORDERS: Gate(source=ORDERS, gated=True, gated_at=NOON, gated_by="etl")}
    catalog.change_gates([open_(LINES)])
    assert catalog.gates()[LINES] == replace(closed, gated=False, ungated_at=LATER)


def test_gate_idempotent(catalog: Catalog) -> None:
    """Double gate / double ungate are no-ops: not even their times move, and nobody is woken."""
    catalog.change_gates([close()])
    once, generation = catalog.gates(), catalog.generation()
    assert catalog.change_gates([close(by="another", minutes=5)]) == once
    assert catalog.generation() == generation
    catalog.change_gates([open_()])
    opened, generation = catalog.gates(), catalog.generation()
    assert catalog.change_gates([open_(minutes=40), open_(LINES)]) == opened
    assert catalog.generation() == generation
    assert [event.gated for event in catalog.gate_history()] == [False, True]


def test_a_gate_can_be_closed_again(catalog: Catalog) -> None:
    catalog.change_gates([close(), open_(), close(by="nightly", minutes=60)])
    again = Gate(source=ORDERS, gated=True, gated_at=NOON + timedelta(minutes=60), gated_by="nightly")
    assert catalog.gates() == {ORDERS: again}


def test_closing_a_closed_gate_can_change_whether_a_watermark_opens_it(catalog: Catalog) -> None:
    catalog.change_gates([close()])
    catalog.change_gates([close(auto=True, by="other")])
    (gate,) = catalog.gates().values()
    assert (gate.auto_ungate_on_watermark, gate.gated_by, gate.gated_at) == (True, "etl", NOON)
    assert len(catalog.gate_history()) == 1


def test_the_history_of_gates_tells_who_and_when_newest_first(catalog: Catalog) -> None:
    catalog.change_gates([close(by="ann"), close(LINES), open_(by="bob")])
    assert [(event.gated, event.by, event.at) for event in catalog.gate_history(ORDERS)] == [
        (False, "bob", LATER),
        (True, "ann", NOON),
    ]
    assert [event.source for event in catalog.gate_history(limit=2)] == [ORDERS, LINES]


def test_a_cut_has_the_closed_gates_of_its_moment(catalog: Catalog) -> None:
    catalog.change_gates([close(), close(LINES), open_(LINES)])
    cut = catalog.cut()
    assert list(cut.gates) == [ORDERS]
    with catalog.read() as conn:
        before = catalog.cut(conn)
        catalog.change_gates([open_()])
        assert list(catalog.cut(conn).gates) == list(before.gates) == [ORDERS]
    assert catalog.cut().gates == {}


def test_a_gate_that_is_closed_while_other_catalogs_are_asked_is_in_the_cut(url: str) -> None:
    """What is found there may have been written behind it. One that is opened meanwhile counts from the next cut on:
    what completes its source may not be in this one."""
    far = TableName.elsewhere("prod", ["sales"], "orders")
    moves = [close(far), open_(LINES)]

    def asked(cut: Cut) -> Cut:
        other.change_gates(moves)
        return with_pointers(cut, {far: Pointer(far, "1.metadata.json")}, {})

    other = Catalog.open(url)
    catalog = Catalog.open(url, elsewhere=asked)
    for read in (catalog.cut, CutReader(catalog)):
        other.change_gates([open_(far), close(LINES)])
        assert set(read().gates) == {far, LINES}
        assert set(read().gates) == {far}
    catalog.close()
    other.close()


def test_a_publication_opens_gates_together_with_its_data_or_not_at_all(catalog: Catalog) -> None:
    catalog.swap([Swap(ORDERS, None, "m1")])
    catalog.change_gates([close()])
    with pytest.raises(ConflictError):
        catalog.publish(Publication(swaps=(Swap(ORDERS, "elsewhere", "m2"),), gates=(open_(),)))
    assert list(catalog.cut().gates) == [ORDERS]
    assert len(catalog.gate_history()) == 1
    catalog.publish(Publication(swaps=(Swap(ORDERS, "m1", "m2"),), gates=(open_(),)))
    cut = catalog.cut()
    assert (cut.gates, cut.pointers[ORDERS].location) == ({}, "m2")


def test_the_generation_advances_with_definitions_and_gates(catalog: Catalog) -> None:
    seen = [catalog.generation()]
    table = stream_table("totals")

    def moved() -> bool:
        seen.append(catalog.generation())
        assert catalog.cut().generation == seen[-1]
        return seen[-1] > seen[-2]

    catalog.publish(Publication(created=(table,)))
    assert moved()
    faster = replace(table, options=Options(schedule="5s"))
    catalog.publish(Publication(updated=(faster,)))
    assert moved()
    catalog.publish(Publication(updated=(replace(faster, version=1, sources=stream_table("t", ("x",)).sources),)))
    assert moved()
    catalog.publish(Publication(updated=(replace(catalog.get(table.name), status=Status.SUSPENDED),)))
    assert moved()
    catalog.publish(Publication(updated=(replace(catalog.get(table.name), status=Status.ACTIVE),)))
    assert moved()
    catalog.publish(Publication(gates=(close(),)))
    assert moved()
    catalog.publish(Publication(dropped=(catalog.get(table.name),)))
    assert moved()


def test_the_generation_stays_with_refreshes_failures_and_history(catalog: Catalog) -> None:
    catalog.publish(Publication(created=(stream_table("totals", status=Status.INITIALIZING),)))
    before = catalog.generation()
    table = replace(catalog.get(TableName.parse("totals")), status=Status.ACTIVE, epoch=1, data_timestamp=NOON)
    catalog.publish(Publication(updated=(table,), history=(history_row("totals"),)))
    for _ in range(3):
        catalog.fail([Failure(table=table.name, error="boom", at=NOON, permanent=True, retry_at=None)], [])
    catalog.record([history_row("totals")])
    catalog.swap([Swap(ORDERS, None, "m1")])
    assert catalog.get(table.name).status is Status.ERROR
    assert catalog.generation() == before


def test_a_publication_that_fails_does_not_move_the_generation(catalog: Catalog) -> None:
    before = catalog.generation()
    with pytest.raises(ConflictError):
        catalog.publish(Publication(created=(stream_table("totals"),), swaps=(Swap(ORDERS, "elsewhere", "m2"),)))
    assert catalog.generation() == before
