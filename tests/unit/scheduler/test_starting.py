"""Starting what computes takes long: whom that is billed to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_trickle.model.standing import Standing
from spark_trickle.names import TableName
from tests.support.scheduling import Yard, names, yard

T = TableName.parse


@pytest.fixture
def y(tmp_path: Path) -> Iterator[Yard]:
    with yard(tmp_path) as made:
        yield made


def test_what_spark_takes_to_start_is_billed_to_no_refresh_and_slows_no_schedule(y: Yard) -> None:
    seconds = [0.0]
    y.stopwatch = lambda: seconds[0]
    y.base("orders")
    y.stream("a", "orders", schedule="10s")
    y.tick()
    y.write("orders")

    class Slow:
        def ready(self) -> None:
            seconds[0] += 30

        def workbench(self, *arguments: Any) -> Any:
            return y.lake.workbench(*arguments)

        def published(self, *arguments: Any) -> None:
            pass

    y.refresher = replace(y.refresher, lake=Slow())
    assert names(y.tick(60)) == ["a"]
    assert y.catalog.standings().get(T("a"), Standing(table=T("a"))).slowed == 1
    (row, *_) = y.catalog.history(T("a"))
    assert row.started_at == y.now + timedelta(seconds=30), "it began when Spark was there"
    assert y.catalog.get(T("a")).last_refresh_at == y.now, "and is due by its schedule"
