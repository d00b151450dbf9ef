"""A tick over a thousand tables of a REST catalog in which nothing happened: it costs little, and does nothing."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import Request, urlopen

import spark_trickle
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.stream_table import Source
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, stream_table
from tests.support.rest_server import RestServer

TABLES = 1_000
SECONDS = 2.0
"""By the clock, for the quickest of three: others may use the machine, too."""

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}


def asked(server: RestServer, path: str, body: object) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    request = Request(f"{server.address}/v1/{path}", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=60) as answer:
        found: dict[str, str] = json.load(answer)
        return found


def test_an_idle_tick_over_a_thousand_tables_asks_for_each_and_does_nothing_else(tmp_path: Path) -> None:
    server = RestServer(tmp_path / "server")
    server.start()
    try:
        asked(server, "namespaces", {"namespace": ["db"]})

        def make(number: int) -> str:
            made = asked(server, "namespaces/db/tables", {"name": f"t{number}", "schema": SCHEMA})
            return made["metadata-location"]

        with ThreadPoolExecutor(4) as pool:
            places = list(pool.map(make, range(TABLES)))
        conf = {
            "spark.sql.catalog.far": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.far.type": "rest",
            "spark.sql.catalog.far.uri": server.address,
        }
        with spark_trickle.connect(str(tmp_path / "lake"), spark_conf=conf) as engine:
            catalog, sessions = engine._parts.catalog, engine._parts.sessions
            with catalog.write() as conn:
                for number, place in enumerate(places):
                    source = TableName.elsewhere("far", ["db"], f"t{number}")
                    table = stream_table(
                        f"s{number}",
                        sources=(Source(table=source, kind="TABLE"),),
                        frontier=Frontier((Pin(source, "uuid", None, 0, place),)),
                    )
                    catalog.insert(replace(table, data_timestamp=NOON, last_refresh_at=NOON), conn)
            spent, walls = [], []
            for minute in range(3):
                started, wall = time.process_time(), time.perf_counter()
                report = engine.tick(datetime.now(UTC) + timedelta(minutes=minute))
                spent.append(time.process_time() - started)
                walls.append(time.perf_counter() - wall)
                assert (report.refreshed, report.skipped, report.failed, report.units) == ((), (), (), TABLES)
            assert min(walls) < SECONDS and not sessions.started, (spent, walls)
            # What is no longer answered is noticed by the same tick.
            server.stop()
            report = engine.tick(datetime.now(UTC) + timedelta(minutes=9))
            assert len(report.skipped) == TABLES and report.skipped[0].codes == ("away",)
            assert report.duration_ms < 60_000 and not sessions.started
    finally:
        server.stop()
