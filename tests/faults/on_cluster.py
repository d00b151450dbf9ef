"""A driver of a real cluster, told by its parent what to do. Started as `-m tests.faults.on_cluster`.

Commands come as lines; each answer is one line of JSON. Before a refresh computes anything it says so, so that
something can be killed in the middle of it.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from spark_trickle.events import Event, Step, StepReached
from tests.spark.engines import rows
from tests.support.delta_writer import write_version

QUERIES = {
    "by_region": "SELECT region, COUNT(*) AS n, SUM(amount) AS total, MAX(amount) AS most FROM orders GROUP BY region",
    "named": "SELECT o.id, o.amount, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id WHERE amount > 90",
    "by_name": "SELECT name, COUNT(*) AS n FROM named GROUP BY name",
}
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
ORDERS = (
    "SELECT id, id % 1200 AS customer, CONCAT('r', id % 7) AS region, (id * 37) % 100 AS amount "
    "FROM RANGE({first}, {last})"
)


def load(engine: Engine, orders: int) -> list[str]:
    engine.sql("CREATE TABLE orders (id BIGINT, customer BIGINT, region STRING, amount BIGINT)")
    engine.sql("CREATE TABLE customers (id BIGINT, name STRING)")
    engine.sql("INSERT INTO customers SELECT id, CONCAT('c', id % 50) FROM RANGE(1000)")
    engine.sql(f"INSERT INTO orders {ORDERS.format(first=0, last=orders)}")
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", schedule="1s")
    return sorted(QUERIES)


def change(engine: Engine, first: int, many: int) -> None:
    """Rows come and go in both tables."""
    engine.sql(f"INSERT INTO orders {ORDERS.format(first=first, last=first + many)}")
    engine.sql(f"DELETE FROM orders WHERE id % 97 = {first % 97}")
    engine.sql(f"UPDATE customers SET name = CONCAT(name, 'x') WHERE id % 11 = {first % 11}")


def refresh(engine: Engine) -> dict[str, str]:
    try:
        return {each.name: str(each.action) for each in engine.refresh_stream_tables(list(QUERIES))}
    except StreamTableError as err:
        return {"error": err.kind}


def verify(engine: Engine) -> list[bool]:
    return [engine.verify(name).ok for name in QUERIES]


def behind(engine: Engine) -> list[str]:
    """Whose rows are not what its query gives now."""
    return [name for name, query in QUERIES.items() if rows(engine, f"SELECT * FROM {name}") != rows(engine, query)]


def abroad(engine: Engine, folder: Path) -> dict[str, object]:
    """Sources of other kinds: a table of another catalog and a Delta table are followed, a folder of files is computed
    whole, all of it by the workers.
    """
    first = write_version(folder / "delta", 0, {"id": list(range(20_000)), "v": [each % 7 for each in range(20_000)]})
    engine.spark.sql("SELECT id, id % 5 AS w FROM RANGE(5000)").write.parquet(f"{folder}/files")
    engine.sql("CREATE NAMESPACE far.db; CREATE TABLE far.db.facts (id BIGINT, amount BIGINT) USING iceberg")
    engine.sql("INSERT INTO far.db.facts SELECT id, id * 3 FROM RANGE(20000)")
    facts, delta, files = "far.db.facts", f"delta.`{folder}/delta`", f"parquet.`{folder}/files`"
    queries = {
        "followed": f"SELECT v, COUNT(*) AS n, SUM(amount) AS total FROM {facts} JOIN {delta} USING (id) GROUP BY v",
        "whole": f"SELECT w, SUM(amount) AS total FROM {facts} JOIN {files} USING (id) GROUP BY w",
    }
    engine.create_stream_table("followed", queries["followed"], refresh_mode="DIFFERENTIAL")
    engine.create_stream_table("whole", queries["whole"])
    engine.sql("INSERT INTO far.db.facts SELECT id, id FROM RANGE(20000, 23000)")
    engine.sql("DELETE FROM far.db.facts WHERE id % 97 = 3")
    kept = [each for each in range(23_000) if each % 89]
    last = write_version(folder / "delta", 1, {"id": kept, "v": [each % 7 for each in kept]}, removed=first)
    engine.spark.sql("SELECT id, id % 5 AS w FROM RANGE(5000, 9000)").write.mode("append").parquet(f"{folder}/files")
    done = {each.name: str(each.action) for each in engine.refresh_stream_tables(list(queries))}
    # Delta's own reader is not here: of that version the last file is all.
    now = {name: query.replace(delta, f"parquet.`{folder}/delta/{last}`") for name, query in queries.items()}
    right = [
        engine.verify(name).ok and rows(engine, f"SELECT * FROM {name}") == rows(engine, query)
        for name, query in now.items()
    ]
    for name in queries:
        engine.drop_stream_table(name)
    return {**done, "right": right}


def schedule(engine: Engine) -> str:
    """Be a scheduler, beside whatever else is asked for."""
    threading.Thread(target=engine.run, daemon=True).start()
    return "scheduling"


def main(master: str, warehouse: str, catalog: str) -> None:
    commands: dict[str, Callable[..., object]] = {
        "load": load,
        "change": change,
        "refresh": refresh,
        "verify": verify,
        "behind": behind,
        "schedule": schedule,
        "abroad": lambda engine: abroad(engine, Path(f"{warehouse}-of-others")),
    }
    far = "spark.sql.catalog.far"
    others = {far: "org.apache.iceberg.spark.SparkCatalog", f"{far}.type": "hadoop"}
    conf = {**CONF, **others, f"{far}.warehouse": f"{warehouse}-of-others/hadoop"}
    # Changes are to be too large for the driver, so that workers compute them.
    obey(commands, warehouse, catalog=catalog, spark_master=master, spark_conf=conf, small_change_rows=10)


def obey(commands: Mapping[str, Callable[..., object]], warehouse: str, **settings: Any) -> None:
    """Open the lake, say which master it is, and do what is asked for."""
    with spark_trickle.connect(warehouse, observers=(_say_computing,), scheduler_lease_seconds=4, **settings) as engine:
        _say(str(engine.spark.sparkContext.master))
        for line in sys.stdin:
            name, *numbers = line.split()
            _say(commands[name](engine, *map(int, numbers)))


def _say_computing(event: Event) -> None:
    if isinstance(event, StepReached) and event.step is Step.COMPUTING:
        _say("computing")


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
