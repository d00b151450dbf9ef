"""What the demo does to the lake: the tables, a writer that changes the source, a reader that checks, a yardstick.

All of it is real: Spark SQL against Iceberg tables, in threads of their own. Showing it is the screen's.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_trickle.cli.demo_board import Board, Totals

if TYPE_CHECKING:
    from spark_trickle.engine import Engine

BY_REGION, BY_PRODUCT, SUMMARY = "revenue_by_region", "revenue_by_product", "exec_summary"
NAMES = (BY_REGION, BY_PRODUCT, SUMMARY)
SALES = "lake.default.sales"

QUERIES = {
    BY_REGION: "SELECT region, SUM(amount) AS revenue, COUNT(*) AS sale_count FROM sales GROUP BY region",
    BY_PRODUCT: "SELECT product_id, SUM(amount) AS revenue, COUNT(*) AS sale_count FROM sales GROUP BY product_id",
    SUMMARY: (
        f"SELECT 'total' AS label, (SELECT SUM(revenue) FROM {BY_REGION}) AS regional_total, "
        f"(SELECT SUM(revenue) FROM {BY_PRODUCT}) AS product_total"
    ),
}

_REGIONS = ("north", "south", "east", "west", "islands")
_PRODUCTS = 500

_CREATE_SALES = f"""
CREATE TABLE {SALES} (id BIGINT, region STRING, product_id BIGINT, amount DECIMAL(12,2), created_at TIMESTAMP)
USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read',
  'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')
"""

_CHECK = f"""
SELECT regional_total, product_total,
  (SELECT SUM(revenue) FROM {BY_REGION}) AS by_region, (SELECT SUM(revenue) FROM {BY_PRODUCT}) AS by_product
FROM {SUMMARY}
"""


def create_source(engine: Engine, rows: int) -> None:
    """The table `sales`, with some rows."""
    engine.sql(_CREATE_SALES)
    engine.sql(_insert(0, rows, files=32))


def create_stream_tables(engine: Engine) -> None:
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, schedule="2s", strict=True)


def _insert(first: int, after: int, files: int = 1) -> str:
    """Rows with ids from `first` up to `after`; everything else of a row follows from its id."""
    regions = ", ".join(f"'{region}'" for region in _REGIONS)
    return (
        f"INSERT INTO {SALES} SELECT id, "
        f"element_at(array({regions}), 1 + CAST(pmod(hash(id), {len(_REGIONS)}) AS INT)), "
        f"CAST(pmod(hash(id, 7), {_PRODUCTS}) AS BIGINT), CAST(pmod(hash(id, 11), 100000) / 100 AS DECIMAL(12,2)), "
        f"current_timestamp() FROM range({first}, {after}, 1, {files})"
    )


class Writer:
    """Changes `sales` until told to stop. It is the only one, so it knows how many rows each statement touches."""

    def __init__(self, engine: Engine, board: Board, rows: int, stop: threading.Event, seed: int = 7) -> None:
        self._engine = engine
        self._board = board
        self._stop = stop
        self._random = random.Random(seed)
        self._alive = bytearray(b"\x01" * rows)
        self._steps = (self._insert, self._update, self._insert, self._move, self._delete)

    def one_of_each(self) -> None:
        for step in self._steps:
            step()

    def run(self, pause_seconds: float = 0.6) -> None:
        while not self._stop.is_set():
            for step in self._steps:
                if _paced(step, self._stop, pause_seconds):
                    return

    def _insert(self) -> None:
        first, count = len(self._alive), self._random.randint(20, 200)
        self._engine.sql(_insert(first, first + count))
        self._alive.extend(b"\x01" * count)
        self._board.wrote(inserted=count)

    def _update(self) -> None:
        first, last = self._some_ids()
        raised = self._random.randint(1, 500)
        self._engine.sql(f"UPDATE {SALES} SET amount = amount + {raised}.00 WHERE id BETWEEN {first} AND {last}")
        self._board.wrote(updated=sum(self._alive[first : last + 1]))

    def _move(self) -> None:
        first, last = self._some_ids()
        region = self._random.choice(_REGIONS)
        self._engine.sql(f"UPDATE {SALES} SET region = '{region}' WHERE id BETWEEN {first} AND {last}")
        self._board.wrote(updated=sum(self._alive[first : last + 1]))

    def _delete(self) -> None:
        first, last = self._some_ids()
        self._engine.sql(f"DELETE FROM {SALES} WHERE id BETWEEN {first} AND {last}")
        gone = sum(self._alive[first : last + 1])
        self._alive[first : last + 1] = bytes(last + 1 - first)
        self._board.wrote(deleted=gone)

    def _some_ids(self) -> tuple[int, int]:
        first = self._random.randrange(len(self._alive))
        return first, min(first + self._random.randint(5, 60), len(self._alive) - 1)


def check(engine: Engine) -> Totals:
    """Read all three stream tables in one consistent snapshot."""
    with engine.snapshot(NAMES) as snapshot:
        row = snapshot.sql(_CHECK).collect()[0]
    return Totals(row["regional_total"], row["product_total"], row["by_region"], row["by_product"])


def keep_checking(engine: Engine, board: Board, stop: threading.Event, pause_seconds: float = 0.4) -> None:
    """Check until told to stop."""
    while not _paced(lambda: board.checked(check(engine)), stop, pause_seconds):
        pass


def _paced(work: Callable[[], None], stop: threading.Event, pause_seconds: float) -> bool:
    """Work, then rest at least as long, so that refreshes get their share of a small machine; whether to stop."""
    began = time.monotonic()
    work()
    return stop.wait(max(pause_seconds, time.monotonic() - began))


def recompute_everything(engine: Engine) -> float:
    """Compute the same three results whole, as somebody without stream tables would; milliseconds of wall clock."""
    spark = engine.spark
    began = time.perf_counter()
    for name, query in QUERIES.items():
        whole = query.replace(BY_REGION, f"recomputed_{BY_REGION}").replace(BY_PRODUCT, f"recomputed_{BY_PRODUCT}")
        spark.sql(f"CREATE OR REPLACE TABLE lake.default.recomputed_{name} USING iceberg AS {whole}")
    return (time.perf_counter() - began) * 1000
