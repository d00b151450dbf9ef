"""One stream table made and refreshed by hand, alone in its lake and beside ten thousand others: what has nothing to do
with them should not cost more. Processor time, this process's and the JVM's: the clock would tell of the disk.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial

import spark_trickle as trickle
from bench.measure import Line, spent
from bench.ticks import fill
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action

OTHERS = 100_000
TOGETHER = 10
QUERY = "SELECT k, SUM(v) AS total FROM rows_of_mine GROUP BY k"


def run(engine: Engine, repeat: int) -> list[Line]:
    """The first of each warms up."""
    return [*_run(engine, repeat, alone=True), *_run(engine, repeat, alone=False)]


def _run(running: Engine, repeat: int, *, alone: bool) -> list[Line]:
    with tempfile.TemporaryDirectory(prefix="trickle-bench-") as folder:
        where = "alone in its lake"
        if not alone:
            catalog = Catalog.open(f"sqlite:///{folder}/trickle.db")
            where = f"beside {fill(catalog, OTHERS):,} stream tables and {OTHERS:,} tables"
            catalog.close()
        with trickle.connect(folder, spark=running.spark) as engine:
            engine.sql("CREATE TABLE rows_of_mine (k BIGINT, v BIGINT)")
            made = [_cpu(running, partial(engine.create_stream_table, f"a{n}", QUERY)) for n in range(repeat + 1)]
            several = {f"b{n}": QUERY for n in range(TOGETHER)}
            together = _cpu(running, partial(engine.create_stream_tables, several))
            refreshed = []
            for _ in range(repeat + 2):
                engine.sql("INSERT INTO rows_of_mine VALUES (1, 1)")
                refreshed.append(_cpu(running, partial(_refresh, engine)))
    return [
        Line(f"processor time of making one, {where}, ms", statistics.median(made[1:]), None, "", True),
        Line(f"processor time of making {TOGETHER} together, {where}, ms", together, None, "", True),
        Line(f"processor time of a refresh by hand, {where}, ms", statistics.median(refreshed[2:]), None, "", True),
    ]


def _cpu(running: Engine, work: Callable[[], object]) -> float:
    return spent(running, work).cpu_s * 1000


def _refresh(engine: Engine) -> None:
    outcome = engine.refresh_stream_table("a0")
    if outcome.action is not Action.DIFFERENTIAL:
        raise SystemExit(f"a0 ran {outcome.action} ({outcome.reason})")
