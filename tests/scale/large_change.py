"""A driver with little memory, on a cluster, under a change of millions of rows. Started as
`-m tests.scale.large_change MASTER WAREHOUSE CATALOG`; commands as in `tests/faults/on_cluster.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from spark_trickle.engine import Engine
from tests.faults.on_cluster import CONF, obey
from tests.faults.soak import java_process

QUERIES = {
    "by_shop": "SELECT shop, COUNT(*) AS n, SUM(amount) AS total, MAX(amount) AS most FROM sales GROUP BY shop",
    "by_day": "SELECT day, product, SUM(amount) AS total FROM sales GROUP BY day, product",
    "named": "SELECT s.id, s.amount, p.name FROM sales s JOIN products p ON s.product = p.product WHERE s.amount < 500",
}
SALES = """
INSERT INTO sales SELECT id, id % 100000 AS shop, CAST(id % 1009 AS INT) AS product, CAST(id % 365 AS INT) AS day,
  (id * 37) % 1000 AS amount, sha2(CAST(id AS STRING), 256) AS note FROM RANGE({first}, {last}, 1, 16)
"""


def load(engine: Engine, rows: int) -> list[str]:
    engine.sql("CREATE TABLE sales (id BIGINT, shop BIGINT, product INT, day INT, amount BIGINT, note STRING)")
    engine.sql("CREATE TABLE products (product INT, name STRING)")
    engine.sql("INSERT INTO products SELECT CAST(id AS INT), CONCAT('p', id) FROM RANGE(1009)")
    engine.sql(SALES.format(first=0, last=rows))
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, strict=True)
    return list(QUERIES)


def insert(engine: Engine, first: int, rows: int) -> None:
    engine.sql(SALES.format(first=first, last=first + rows))


def delete(engine: Engine, nth: int) -> None:
    """Every nth row goes."""
    engine.sql(f"DELETE FROM sales WHERE id % {nth} = 0")


def refresh(engine: Engine) -> list[tuple[str, str, float, int, int, int]]:
    """Each alone: name, action, milliseconds, jobs, and the rows that came and went."""
    done = [engine.refresh_stream_table(name) for name in QUERIES]
    return [(o.name, str(o.action), round(o.duration_ms), o.jobs, o.rows_inserted, o.rows_deleted) for o in done]


def verify(engine: Engine) -> list[bool]:
    return [engine.verify(name).ok for name in QUERIES]


def memory(engine: Engine) -> dict[str, float]:
    """The most that the driver has ever held, in megabytes: Python, and the JVM."""
    return {"python": most_resident_mb(os.getpid()), "jvm": most_resident_mb(java_process(engine))}


def most_resident_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    (most,) = (line for line in lines if line.startswith("VmHWM:"))
    return round(int(most.split()[1]) / 1024, 1)


def main(master: str, warehouse: str, catalog: str) -> None:
    commands: dict[str, Callable[..., object]] = {
        "load": load,
        "insert": insert,
        "delete": delete,
        "refresh": refresh,
        "verify": verify,
        "memory": memory,
    }
    conf = {**CONF, "spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "8"}
    obey(commands, warehouse, catalog=catalog, spark_master=master, spark_conf=conf, spark_driver_memory="1g")


if __name__ == "__main__":
    main(*sys.argv[1:])
