"""Held by a source of another catalog that is away."""

from __future__ import annotations

from datetime import UTC, datetime

from spark_trickle.holds.rule import Situation
from spark_trickle.holds.rules import held
from spark_trickle.model.hold import HoldCode
from spark_trickle.model.publication import Away, Cut
from spark_trickle.model.stream_table import Source
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table

FAR = TableName.elsewhere("prod", ["db"], "orders")


def test_only_direct_readers_of_a_table_that_is_away_are_held() -> None:
    tables = (
        stream_table("a", sources=(Source(table=FAR, kind="TABLE"),)),
        stream_table("b", reads=("a",)),
        stream_table("c"),
    )
    by_name = {table.name: table for table in tables}
    at = Situation(cut=Cut("", {}, by_name, ()), now=datetime.now(UTC))
    assert held(at) == {}
    away = {FAR: Away("catalog 'prod' cannot be reached: 503", "wait")}
    found = held(Situation(cut=Cut("", {}, by_name, (), away=away), now=at.now))
    assert list(found) == [tables[0].name]
    (hold,) = found[tables[0].name]
    assert (hold.code, hold.cause, hold.next_step) == (HoldCode.AWAY, FAR, "wait")
    assert hold.text == "source 'prod.db.orders' is away: catalog 'prod' cannot be reached: 503"
    assert hold.in_short == "source 'prod.db.orders' is away"
