"""Watermarks in the catalog: advancing, the versions that reached them, groups, and what is published with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.catalog.watermarks import MOST_RECORDED, SPARE
from spark_trickle.errors import ConflictError, NotFoundError, UserError
from spark_trickle.model.gate import Gate, GateChange
from spark_trickle.model.publication import Publication, Swap
from spark_trickle.model.watermark import (
    Advance,
    Looked,
    Recorded,
    ToldStuck,
    Watermark,
    WatermarkColumn,
    WatermarkGroup,
    WatermarkMode,
)
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON

ORDERS = TableName("default", "orders")
LINES = TableName("raw.eu", "order lines")
GROUP = WatermarkGroup(
    name="pipeline",
    sources=(LINES, ORDERS),
    tolerance=timedelta(seconds=1.5),
    mode=WatermarkMode.HOLD_BACK,
    created_at=NOON,
)


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def version(number: int) -> str:
    return f"file:/wh/{number:05d}-x.metadata.json"


def table(catalog: Catalog, name: TableName, number: int | None = 0, before: int | None = None) -> Swap:
    return Swap(name, None if before is None else version(before), None if number is None else version(number))


def advance(source: TableName = ORDERS, hours: float = 0, by: str = "etl", location: str | None = None) -> Advance:
    return Advance(source=source, watermark=at(hours), at=at(hours), by=by, location=location)


@pytest.fixture
def made(catalog: Catalog) -> Catalog:
    catalog.swap([table(catalog, ORDERS), table(catalog, LINES)])
    return catalog


def test_a_watermark_comes_back_equal_with_the_version_that_reached_it(made: Catalog) -> None:
    made.change_watermarks([advance(LINES, 1), advance()])
    lines = Watermark(source=LINES, watermark=at(1), updated_at=at(1), advanced_by="etl", location=version(0))
    assert made.watermarks().latest[LINES] == lines
    assert made.cut().watermarks == made.watermarks()
    assert list(made.watermarks().latest) == [ORDERS, LINES]


def test_backward_is_an_error_and_changes_nothing(made: Catalog) -> None:
    made.change_watermarks([advance(hours=2)])
    before, generation = made.watermarks(), made.generation()
    with pytest.raises(UserError, match="watermark of 'orders' cannot move backward: it is at 2026-03-01 14:00:00"):
        made.change_watermarks([advance(LINES, 5), advance(hours=1)])
    assert made.watermarks() == before and made.generation() == generation


def test_equal_does_nothing_and_does_not_even_touch_when(made: Catalog) -> None:
    made.add_watermark_group(GROUP)
    made.change_watermarks([advance(hours=2)])
    before, generation = made.watermarks(), made.generation()
    again = Advance(source=ORDERS, watermark=at(2), at=at(9), by="somebody")
    assert made.change_watermarks([again]) == before
    assert made.generation() == generation


def test_what_a_column_says_is_passed_over_where_it_is_earlier_and_wakes_nobody(made: Catalog) -> None:
    made.change_watermarks([advance(hours=2)])
    before, generation = made.watermarks(), made.generation()
    for hours in (1, 3):
        found = Advance(
            source=ORDERS, watermark=at(hours), at=at(9), by="column at", location=version(0), automatic=True
        )
        made.change_watermarks([found])
        assert (made.watermarks() == before) is (hours == 1)
    assert made.generation() == generation


def test_a_table_that_is_not_there_or_is_a_view_has_no_watermark(made: Catalog) -> None:
    with pytest.raises(NotFoundError, match=r"table 'nowhere' does not exist. .* create it first"):
        made.change_watermarks([advance(TableName.parse("nowhere"))])
    made.swap([Swap(TableName.parse("v"), None, version(0), kind="VIEW")])
    with pytest.raises(UserError, match="'v' is a view, which has no versions"):
        made.change_watermarks([advance(TableName.parse("v"))])


def test_a_watermark_is_published_with_the_data_that_reached_it_or_not_at_all(made: Catalog) -> None:
    made.add_watermark_group(GROUP)
    made.publish(Publication(swaps=(table(made, ORDERS, 1, before=0),), watermarks=(advance(hours=1),)))
    assert made.cut().watermarks.log == {ORDERS: (Recorded(at(1), version(1)),)}
    with pytest.raises(ConflictError):
        made.publish(Publication(swaps=(table(made, ORDERS, 3, before=2),), watermarks=(advance(hours=2),)))
    with pytest.raises(UserError, match="backward"):
        made.publish(Publication(swaps=(table(made, ORDERS, 2, before=1),), watermarks=(advance(hours=0),)))
    assert made.pointers([ORDERS])[ORDERS].location == version(1)
    assert made.watermarks().latest[ORDERS].watermark == at(1)


def test_the_first_watermark_opens_a_gate_that_was_closed_for_it(made: Catalog) -> None:
    for source, auto in ((ORDERS, True), (LINES, False)):
        made.change_gates([GateChange(source=source, gated=True, at=NOON, by="etl", auto_ungate_on_watermark=auto)])
    made.change_watermarks([advance(hours=1), advance(LINES, 1)])
    assert {name: gate.gated for name, gate in made.gates().items()} == {ORDERS: False, LINES: True}
    assert made.gates()[ORDERS].ungated_at == at(1)
    assert [event.gated for event in made.gate_history(ORDERS)] == [False, True]


def test_what_a_tick_found_in_rows_from_before_a_gate_was_closed_does_not_open_it(made: Catalog) -> None:
    """It looks at a version while somebody closes the gate and begins to load, or the rows were there already: what is
    found says nothing of the load."""

    def found(hours: float, location: str, seen: Gate | None) -> Advance:
        moment, behind = at(hours), None if seen is None else seen.gated_at
        return Advance(
            source=ORDERS, watermark=moment, at=moment, by="c", location=location, automatic=True, behind=behind
        )

    def gated(hours: float, gated: bool) -> Gate:
        change = GateChange(source=ORDERS, gated=gated, at=at(hours), by="etl", auto_ungate_on_watermark=True)
        return made.change_gates([change])[ORDERS]

    first = gated(1, True)
    made.change_watermarks([found(1, version(0), None)])
    made.change_watermarks([found(2, version(0), first)])
    assert made.gates()[ORDERS].gated, "of before it was closed"
    gated(3, False)
    gated(4, True)
    made.swap([table(made, ORDERS, 1, before=0)])
    made.change_watermarks([found(5, version(1), first)])
    assert made.gates()[ORDERS].gated, "of before it was closed again"
    assert made.watermarks().latest[ORDERS].watermark == at(5), "how far it is was said all the same"
    made.change_watermarks([found(6, version(1), made.cut().gates[ORDERS])])
    assert not made.gates()[ORDERS].gated


def test_a_group_comes_back_equal_and_is_dropped(made: Catalog) -> None:
    made.add_watermark_group(GROUP)
    other = WatermarkGroup(name="b", sources=(ORDERS, LINES), created_at=NOON)
    made.add_watermark_group(other)
    assert made.cut().watermarks.groups == (other, GROUP)
    made.drop_watermark_group("pipeline")
    assert made.watermarks().groups == (other,)
    with pytest.raises(NotFoundError, match="watermark group 'pipeline' does not exist"):
        made.drop_watermark_group("pipeline")
    made.add_watermark_group(GROUP)
    assert made.watermarks().groups == (other, GROUP)


def test_columns_and_what_was_told_come_back_equal(made: Catalog) -> None:
    column = WatermarkColumn(source=LINES, column="placed at", delay=timedelta(seconds=90))
    made.set_watermark_column(LINES, column)
    made.publish(Publication(watermarks=(Looked(LINES, version(0)), ToldStuck(ORDERS, stuck=True))))
    marks = made.watermarks()
    assert marks.columns == {LINES: replace(column, looked_at=version(0))}
    assert marks.told_stuck == {ORDERS}
    made.publish(Publication(watermarks=(ToldStuck(ORDERS, stuck=False),)))
    made.set_watermark_column(LINES, None)
    assert not made.watermarks().columns and not made.watermarks().told_stuck


def test_who_reads_the_cut_again_sees_every_change_of_watermarks(made: Catalog) -> None:
    made.set_watermark_column(ORDERS, WatermarkColumn(source=ORDERS, column="at"))
    read = CutReader(made)
    seen = [read().watermarks]
    for change in (
        Advance(source=ORDERS, watermark=at(1), at=at(1), by="column at", location=version(0), automatic=True),
        Looked(ORDERS, version(0)),
        ToldStuck(LINES, stuck=True),
        advance(LINES, 1),
    ):
        made.publish(Publication(watermarks=(change,)))
        assert read().watermarks == made.watermarks() != seen[-1]
        seen.append(read().watermarks)
    made.add_watermark_group(GROUP)
    assert read().watermarks == made.watermarks()
    made.swap([table(made, ORDERS, 1, before=0)])
    assert read().watermarks is read().watermarks == made.watermarks()


def test_what_is_published_is_what_the_cut_would_become(made: Catalog) -> None:
    """The tick takes in what it published itself by the same rules."""
    made.add_watermark_group(GROUP)
    made.set_watermark_column(ORDERS, WatermarkColumn(source=ORDERS, column="at"))
    marks = made.watermarks()
    for change in (
        advance(hours=1, location=version(0)),
        advance(hours=1, by="again", location=version(0)),
        Looked(ORDERS, version(0)),
        ToldStuck(LINES, stuck=True),
        advance(LINES, 1, location=version(0)),
        advance(hours=2, location=version(0)),
        ToldStuck(LINES, stuck=False),
    ):
        marks = marks.after(change)
        made.publish(Publication(watermarks=(change,)))
        assert made.watermarks() == marks


def test_versions_of_a_table_that_was_dropped_are_forgotten(made: Catalog) -> None:
    made.add_watermark_group(GROUP)
    for number in (1, 2):
        made.publish(Publication(swaps=(table(made, ORDERS, number, number - 1),), watermarks=(advance(hours=number),)))
    made.swap([table(made, ORDERS, None, before=2)])
    made.swap([table(made, ORDERS, 0)])
    made.change_watermarks([advance(hours=3)])
    assert made.watermarks().log[ORDERS] == (Recorded(at(3), version(0)),)


def test_old_versions_are_forgotten_but_not_the_one_that_a_group_still_needs(made: Catalog) -> None:
    made.add_watermark_group(GROUP)
    made.change_watermarks([advance(LINES, 2)])
    moves = [advance(hours=n / 10, location=version(0)) for n in range(MOST_RECORDED + SPARE + 1)]
    made.change_watermarks(moves)
    kept = [each.watermark for each in made.watermarks().log[ORDERS]]
    assert kept[0] == at(2), "the group is complete until then"
    assert kept[1:] == [move.watermark for move in moves[-MOST_RECORDED:]]
