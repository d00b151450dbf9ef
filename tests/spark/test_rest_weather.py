"""A REST catalog whose server has bad days, and tables with names that nobody would choose: Iceberg's own server, with
a gate before it. Catalogs are given by `spark_conf` alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import UnavailableError
from spark_trickle.model.refresh import Action
from spark_trickle.model.tick import TickReport
from tests.spark.engines import values
from tests.support.gate import CLIENT, SECRET, Gate, by_icebergs_client, guarding
from tests.support.rest_server import RestServer

ODD = """db.`in ner`.`o'r"d``e.r s é`"""
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"


PATIENCE_SECONDS = 60.0


@dataclass
class Lake:
    engine: Engine
    others: SparkSession
    """They have the server to themselves."""
    gate: Gate
    log: Path
    folder: Path
    minutes: int = 0

    def tick(self) -> TickReport:
        self.minutes += 10
        return self.engine.tick(datetime.now(UTC) + timedelta(minutes=self.minutes))

    def tick_when_back(self) -> TickReport:
        """A server that kept us waiting is left alone for five times as long."""
        until = time.monotonic() + PATIENCE_SECONDS
        while (report := self.tick()).skipped and time.monotonic() < until:
            time.sleep(0.2)
        return report

    def insert(self, number: int) -> None:
        for catalog in ("far", "default", "Lake"):
            self.others.sql(f"INSERT INTO {catalog}.{ODD} VALUES ({number}, {number})")
        self.engine.sql(f"INSERT INTO near VALUES ({number}, {number})")

    def assert_right(self, numbers: int) -> None:
        assert values(self.engine, "SELECT n FROM lake.default.far_one") == [(numbers,)]
        assert values(self.engine, "SELECT COUNT(*) FROM lake.default.all_of_them") == [(numbers,)]
        for name in ("far_one", "all_of_them", "beside"):
            assert self.engine.verify(name).ok


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    server = RestServer(tmp_path / "server")
    server.start()
    others = spark.newSession()
    log = tmp_path / "all.log"
    watched = logging.getLogger("spark_trickle")
    before = watched.level
    watched.addHandler(handler := logging.FileHandler(log))
    watched.setLevel(logging.DEBUG)
    try:
        with guarding(server.address) as gate:
            gate.token = "t0ken-number-one"
            # Catalogs that are called as our namespace is, and nearly as our catalog.
            kinds = {
                "far": {"type": "rest", "uri": gate.address, "credential": f"{CLIENT}:{SECRET}"},
                "default": {"type": "hadoop", "warehouse": f"{tmp_path}/hadoop"},
                "Lake": {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/far.db", "warehouse": f"{tmp_path}/jdbc"},
            }
            kinds["far"] |= {"rest.client.max-retries": "1", "oauth2-server-uri": f"{gate.address}/v1/oauth/tokens"}
            kinds["Lake"] |= {"jdbc.schema-version": "V1"}
            conf = {f"spark.sql.catalog.{name}": ICEBERG for name in kinds}
            conf |= {
                f"spark.sql.catalog.{name}.{key}": value
                for name, settings in kinds.items()
                for key, value in settings.items()
            }
            for key, value in conf.items():
                others.conf.set(key, value)
            for key in ("credential", "oauth2-server-uri"):
                others.conf.unset(f"spark.sql.catalog.far.{key}")
            others.conf.set("spark.sql.catalog.far.uri", server.address)
            for name in kinds:
                others.conf.set(f"spark.sql.catalog.{name}.cache-enabled", "false")
                others.sql(f"CREATE NAMESPACE {name}.db")
                others.sql(f"CREATE NAMESPACE {name}.db.`in ner`")
                others.sql(f"CREATE TABLE {name}.{ODD} (id INT, v INT) USING iceberg")
            with spark_trickle.connect(str(tmp_path / "lake"), spark_conf=conf) as engine:
                yield Lake(engine, others, gate, log, tmp_path / "lake")
    finally:
        server.stop()
        watched.removeHandler(handler)
        watched.setLevel(before)
        handler.close()


def test_a_server_with_bad_days_holds_its_readers_and_nothing_is_lost_or_told(lake: Lake) -> None:
    engine, gate = lake.engine, lake.gate
    engine.sql("CREATE TABLE near (id INT, v INT)")
    engine.create_stream_table("far_one", f"SELECT COUNT(*) AS n, SUM(v) AS s FROM far.{ODD}", strict=True)
    engine.create_stream_table(
        "all_of_them",
        f"SELECT a.id, a.v + b.v + c.v AS v FROM far.{ODD} a JOIN default.{ODD} b ON a.id = b.id "
        f"JOIN Lake.{ODD} c ON a.id = c.id JOIN lake.default.near ON a.id = near.id",
        strict=True,
    )
    engine.create_stream_table("beside", "SELECT id FROM lake.default.near", strict=True)
    lake.insert(1)
    assert {o.action for o in lake.tick().refreshed} == {Action.DIFFERENTIAL}
    lake.assert_right(1)
    number = 1
    for day in (busy(500), busy(503), nonsense, login_page, cut_short, locked_out):
        number += 1
        lake.insert(number)
        day(gate)
        report = lake.tick()
        assert [o.name for o in report.refreshed] == ["beside"] and not report.failed, (day, report)
        assert {skip.name: skip.codes for skip in report.skipped} == {"far_one": ("away",), "all_of_them": ("away",)}
        for told in (report.skipped[0].reason, str(engine.why("far_one"))):
            assert "catalog 'far' " in told
        with pytest.raises(UnavailableError, match="catalog 'far' "):
            engine.refresh_stream_table("far_one")
        gate.calm()
        report = lake.tick_when_back()
        assert {o.action for o in report.refreshed} == {Action.DIFFERENTIAL} and not report.skipped, (day, report)
        lake.assert_right(number)
    for day in (slow, new_token):
        number += 1
        lake.insert(number)
        day(gate)
        report = lake.tick()
        assert {o.name: o.action for o in report.refreshed} == dict.fromkeys(
            ("far_one", "all_of_them", "beside"), Action.DIFFERENTIAL
        ), (day, report)
        gate.calm()
        lake.assert_right(number)
    in_the_middle(lake, number + 1)
    nothing_is_told(lake)


def in_the_middle(lake: Lake, number: int) -> None:
    """Where tables are is answered, and then they are not given: that is tried again for as long as it takes."""
    engine, gate = lake.engine, lake.gate
    lake.insert(number)
    for at, day in enumerate((busy(500), locked_out, nonsense, busy(500))):
        day(gate)
        gate.whom = by_icebergs_client
        report = lake.tick()
        assert {each.name for each in report.failed} == {"far_one", "all_of_them"}, (at, report)
        assert all("catalog 'far' " in each.error for each in report.failed), report
        gate.calm()
        gate.token = f"t0ken-number-{at}"
    assert "catalog 'far' " in str(engine.why("far_one"))
    report = lake.tick()
    assert {o.action for o in report.refreshed} == {Action.DIFFERENTIAL} and len(report.refreshed) == 2, report
    lake.assert_right(number)


def nothing_is_told(lake: Lake) -> None:
    """Neither the credential nor any token is in a file of the lake, a log, or an answer."""
    engine = lake.engine
    told = [repr(engine.status("far_one")), repr(engine.history("far_one")), str(engine.why("far_one"))]
    told += [repr(engine.explain("far_one")), engine.graph(), repr(engine.stream_tables())]
    files = [path for path in lake.folder.rglob("*") if path.is_file()]
    assert len(files) > 20 and lake.log.stat().st_size > 0
    places = [*(each.encode() for each in told), lake.log.read_bytes(), *(path.read_bytes() for path in files)]
    for secret in (SECRET, "t0ken-number"):
        assert not any(secret.encode() in place for place in places), secret


def busy(status: int) -> Callable[[Gate], None]:
    def day(gate: Gate) -> None:
        gate.status = status

    return day


def nonsense(gate: Gate) -> None:
    gate.status, gate.says = 200, b"<html>please log in</html>"


def login_page(gate: Gate) -> None:
    gate.status, gate.says = 404, b"<html>no such page</html>"


def cut_short(gate: Gate) -> None:
    gate.cut_short = True


def locked_out(gate: Gate) -> None:
    """Tokens have expired, and no new ones are given."""
    gate.token, gate.gives_tokens = "t0ken-number-of-nobody", False


def slow(gate: Gate) -> None:
    gate.delay = 0.3


def new_token(gate: Gate) -> None:
    gate.token = "t0ken-number-new"
