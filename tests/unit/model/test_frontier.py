from __future__ import annotations

import pytest

from spark_trickle.model.frontier import Frontier
from spark_trickle.names import TableName
from tests.support.catalog_values import pin


def test_a_frontier_reads_as_a_mapping_from_source_to_snapshot() -> None:
    frontier = Frontier((pin("orders", 7), pin("sales.stock", None)))
    assert dict(frontier) == {"orders": 7, "sales.stock": None}
    assert frontier["default.orders"] == 7
    assert frontier["lake.sales.stock"] is None
    assert str(frontier) == "orders@7, sales.stock@None"


def test_a_source_it_does_not_have_is_missing_and_not_none() -> None:
    frontier = Frontier((pin("orders", 7),))
    assert "stock" not in frontier
    assert frontier.of(TableName("default", "stock")) is None
    with pytest.raises(KeyError):
        frontier["stock"]


def test_frontiers_of_the_same_pins_are_equal_and_hash_alike() -> None:
    one, other = Frontier((pin("orders", 7),)), Frontier((pin("orders", 7),))
    assert one == other
    assert len({one, other, Frontier((pin("orders", 8),))}) == 2


def test_the_empty_frontier_says_nothing() -> None:
    assert str(Frontier()) == "nothing"
