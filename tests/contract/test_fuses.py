"""Fuses in the catalog: what they remember comes back equal, and a stream table that diverged says so."""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.model.fuse import Blown, ChangedRows, Diverged, FuseState, PendingChange
from spark_trickle.model.publication import Publication
from spark_trickle.model.stream_table import Fuse, Options
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, pin, stream_table

PENDING = (
    PendingChange(pin("raw.`order lines`", 7), ChangedRows(12_000_000_000, 3)),
    PendingChange(pin("orders", None), ChangedRows(0, 0)),
)
STATES = (
    FuseState(),
    FuseState(blown=Blown(at=NOON, reason="'größer' als \"nötig\"", pending=PENDING)),
    FuseState(accepted=PENDING, changes=tuple(ChangedRows(n, n // 2) for n in range(20))),
    FuseState(reinitialize=True),
    FuseState(skipping=(TableName("a b", "c"), TableName.parse("d"))),
)


def test_what_a_fuse_remembers_comes_back_equal(catalog: Catalog) -> None:
    options = Options(fuse=Fuse.AUTO, fuse_ceiling=10**12, fuse_sensitivity=2.5)
    table = catalog.insert(stream_table("t", options=options))
    for state in STATES:
        catalog.publish(Publication(updated=(replace(table, fuse=state),)))
        table = catalog.get(table.name)
        assert table.fuse == state and table.options == options
        assert catalog.cut().tables[table.name] == table


def test_a_fuse_that_blows_wakes_nobody_and_another_sensitivity_does(catalog: Catalog) -> None:
    table = catalog.insert(stream_table("t"))
    generation = catalog.generation()
    catalog.publish(Publication(updated=(replace(table, fuse=STATES[1]),)))
    assert catalog.generation() == generation
    table = catalog.get(table.name)
    catalog.publish(Publication(updated=(replace(table, options=Options(fuse_sensitivity=1.0)),)))
    assert catalog.generation() == generation + 1


def test_since_when_and_by_whom_it_diverged_comes_back_equal(catalog: Catalog) -> None:
    table = catalog.insert(stream_table("t"))
    diverged = Diverged(since=NOON, by="Ann-Zoë", what="had 12 changed rows skipped")
    catalog.publish(Publication(updated=(replace(table, diverged=diverged),)))
    table = catalog.get(table.name)
    assert table.diverged == diverged
    assert str(diverged) == (
        "it has not equalled its query since 2026-03-01 12:00:00 UTC: Ann-Zoë had 12 changed rows skipped"
    )
    catalog.publish(Publication(updated=(replace(table, diverged=None),)))
    assert catalog.get(table.name).diverged is None
