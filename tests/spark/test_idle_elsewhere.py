"""A tick over a thousand tables of a REST catalog in which nothing happened: it costs little, and does nothing."""

from __future__ import annotations

import json
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
from tests.support.gate import guarding
from tests.support.rest_server import RestServer
from tests.support.spent import measured

TABLES = 1_000
SECONDS = 2.0
"""For the quickest of three: processor time of this process and of the server together, and by the clock where nobody
else uses the machine."""

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
            rounds = []
            for minute in range(3):
                with measured(server.process) as spent:
                    report = engine.tick(datetime.now(UTC) + timedelta(minutes=minute))
                assert (report.refreshed, report.skipped, report.failed, report.units) == ((), (), (), TABLES)
                rounds.append(spent)
            assert any(each.within(SECONDS) for each in rounds), rounds
            assert not sessions.started
            assert_each_is_asked_once(server, tmp_path / "lake", conf)
            # What is no longer answered is noticed by the same tick.
            server.stop()
            report = engine.tick(datetime.now(UTC) + timedelta(minutes=9))
            assert len(report.skipped) == TABLES and report.skipped[0].codes == ("away",)
            assert not sessions.started
    finally:
        server.stop()


def assert_each_is_asked_once(server: RestServer, lake: Path, conf: dict[str, str]) -> None:
    """One question for each table; from the second time on all that is said is that nothing happened."""
    with guarding(server.address) as gate:
        conf = {**conf, "spark.sql.catalog.far.uri": gate.address}
        with spark_trickle.connect(str(lake), spark_conf=conf) as engine:
            # The first time the server is asked what it wants of its clients, too.
            for minute, answers in ((4, {200: TABLES + 1}), (5, {304: TABLES})):
                gate.answered.clear()
                report = engine.tick(datetime.now(UTC) + timedelta(minutes=minute))
                assert (report.refreshed, report.skipped, report.failed) == ((), (), ())
                assert gate.answered == {(False, status): times for status, times in answers.items()}
