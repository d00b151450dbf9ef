"""A change of ten million rows stays in the cluster: the driver, with 1 GB of heap, holds as much as for a small one.
`TRICKLE_SCALE_ROWS` is how many rows change.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.faults.driver import driving
from tests.scale.large_change import QUERIES
from tests.scale.test_tpch_on_a_cluster import ask, say
from tests.support import cluster

ROWS = int(os.environ.get("TRICKLE_SCALE_ROWS", "10000000"))
SMALL = 1000
MOST_MORE_MB = 256
"""By how much the large changes may raise what Python holds at the most: a hundredth of the rows would be more."""


def test_a_change_of_ten_million_rows_is_not_brought_to_the_driver(tmp_path: Path) -> None:
    catalog = f"sqlite:///{tmp_path}/trickle.db"
    with (
        cluster.running(2, "1500m") as spark,
        driving("tests.scale.large_change", tmp_path / "driver.log", spark.url, tmp_path / "lake", catalog) as driver,
    ):
        ask(driver, "load", ROWS)
        ask(driver, "insert", ROWS, SMALL)
        ask(driver, "refresh")
        before, tasks = ask(driver, "memory"), spark.tasks_of_workers()
        ask(driver, "insert", 2 * ROWS, ROWS)
        refreshed(ask(driver, "refresh"))
        ask(driver, "delete", 2)
        refreshed(ask(driver, "refresh"))
        after = ask(driver, "memory")
        say(f"tasks of each worker: {[now - then for now, then in zip(spark.tasks_of_workers(), tasks, strict=True)]}")
        assert min(now - then for now, then in zip(spark.tasks_of_workers(), tasks, strict=True)) > 0
        assert ask(driver, "verify") == [True] * len(QUERIES)
    assert isinstance(before, dict) and isinstance(after, dict)
    assert after["python"] < before["python"] + MOST_MORE_MB


def refreshed(outcomes: object) -> None:
    assert isinstance(outcomes, list)
    assert [outcome[1] for outcome in outcomes] == ["DIFFERENTIAL"] * len(QUERIES), outcomes
