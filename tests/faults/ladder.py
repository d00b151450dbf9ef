"""One half of the lake of the long runs: diamonds one below the other over two sources.

In each diamond the same money is added up by region and by product, so that wherever one version of the sources is seen
all totals are one number. `alone` is in no diamond. The other half is in `market`, what goes on in both in `run`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlparse

from spark_trickle.engine import Engine

SOURCES = ("sales", "returns")
POISON = -666
"""An amount that the first diamond cannot compute with."""


def totals(depth: int) -> tuple[str, ...]:
    return tuple(f"total{i}" for i in range(depth))


def names(depth: int) -> tuple[str, ...]:
    """All stream tables."""
    return (*(f"{by}{i}" for i in range(depth) for by in ("region", "product", "total")), "alone")


def build(engine: Engine, depth: int) -> None:
    for source in SOURCES:
        engine.sql(f"CREATE TABLE {source} (id INT, region STRING, product STRING, amount BIGINT)")
    engine.sql("INSERT INTO sales VALUES (0, 'n', 'a', 10), (1, 's', 'b', 20), (2, NULL, 'a', NULL)")
    engine.sql("INSERT INTO returns VALUES (3, 'n', 'b', -5)")
    moved = " UNION ALL ".join(f"SELECT region, product, amount FROM {source}" for source in SOURCES)
    for i in range(depth):
        above = f" CROSS JOIN total{i - 1}" if i else ""
        amount = "amount" if i else f"amount DIV IF(amount = {POISON}, 0, 1)"
        for by in ("region", "product"):
            query = f"SELECT {by}, SUM({amount}) AS revenue FROM ({moved}) AS moved{above} GROUP BY {by}"
            engine.create_stream_table(f"{by}{i}", query)
        sums = ", ".join(f"(SELECT SUM(revenue) FROM {by}{i}) AS {by}_total" for by in ("region", "product"))
        engine.create_stream_table(f"total{i}", f"SELECT {sums}", strict=True)
    engine.create_stream_table("alone", "SELECT COUNT(*) AS n FROM sales")


def write_once(engine: Engine, dice: random.Random, number: int) -> None:
    source = dice.choice(SOURCES)
    row = f"({number}, '{dice.choice('ns')}', '{dice.choice('abc')}', {dice.randrange(100)})"
    match dice.randrange(6):
        case 0:
            engine.sql(f"DELETE FROM {source} WHERE id = {dice.randrange(number)}")
        case 1:
            # Rewrites most files into one, so that there are never very many.
            # What is poison stays poison until it is mended: somebody waits for the failure.
            which = f"region = '{dice.choice('ns')}' AND NOT amount <=> {POISON}"
            engine.sql(f"UPDATE {source} SET amount = amount + 1 WHERE {which}")
        case 2:
            with engine.transaction() as tx:
                for each in SOURCES:
                    tx.sql(f"INSERT INTO {each} VALUES {row}")
        case _:
            engine.sql(f"INSERT INTO {source} VALUES {row}")


def hide_newest_file(engine: Engine, until: Callable[[], bool], seconds: float) -> None:
    """A new row, whose file is away until then. Whoever reads it meanwhile fails."""
    before = _files(engine)
    engine.sql("INSERT INTO sales VALUES (-1, 'n', 'a', 1)")
    hidden = [Path(name) for name in _files(engine) - before]
    for path in hidden:
        path.rename(f"{path}.away")
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        time.sleep(0.1)
    for path in hidden:
        path.with_name(f"{path.name}.away").rename(path)


def _files(engine: Engine) -> set[str]:
    return {
        urlparse(row[0]).path for row in engine.spark.sql("SELECT file_path FROM lake.default.sales.files").collect()
    }
