"""Folders of files and tables of databases as sources: they have no versions, and are computed whole. What they have in
common with other kinds is in `test_kinds_of_sources.py`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import create_engine, make_url, text

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import ConflictError, UnavailableError, UserError
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, bag, values

CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"


@dataclass(frozen=True)
class Folder:
    """A folder of Parquet files, which others write."""

    engine: Engine
    spark: SparkSession
    path: Path

    @property
    def name(self) -> str:
        return f"parquet.`{self.path}`"

    def write(self, query: str, mode: str = "append") -> None:
        self.spark.sql(query).coalesce(1).write.mode(mode).parquet(str(self.path))


@pytest.fixture
def folder(engine: Engine, spark: SparkSession, tmp_path: Path) -> Iterator[Folder]:
    made = Folder(engine, spark, tmp_path / "orders of others")
    made.write("SELECT id, CAST(id % 2 AS STRING) AS k, CAST(id AS SMALLINT) AS v FROM range(6)")
    yield made


def later(minutes: int) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=minutes)


def test_a_folder_that_is_gone_empty_or_of_other_columns_is_told(folder: Folder) -> None:
    engine, name, path = folder.engine, folder.name, folder.path
    made = engine.create_stream_table("all_columns", f"SELECT * FROM {name}")
    assert any("column v is read as INT" in notice for notice in made.notices)
    engine.create_stream_table("two", f"SELECT k, v FROM {name}")
    engine.create_stream_table("met", "SELECT a.id, t.v FROM all_columns a JOIN two t ON a.v = t.v", strict=True)
    folder.write("SELECT 6L AS id, '0' AS k, CAST(6 AS SMALLINT) AS v")
    at_once = {o.name: o for o in engine.tick(later(1)).refreshed}
    assert at_once["two"].action is Action.FULL and at_once["met"].action is Action.DIFFERENTIAL
    assert at_once["two"].frontier[name] == at_once["all_columns"].frontier[name]
    assert_equals_query(engine, "met")
    assert not list((Path(engine.settings.warehouse) / "trickle_internal").glob("copied_*"))
    engine.drop_stream_table("met")
    # Files that come while a refresh reads: nothing of it is published.
    cut = engine._parts.refresher.catalog.cut()
    folder.write("SELECT 7L AS id, '0' AS k, CAST(7 AS SMALLINT) AS v")
    two = next(table for table in engine.stream_tables() if table.name.name == "two")
    with engine._parts.lake.workbench(cut) as bench, pytest.raises(ConflictError, match="was changed by somebody else"):
        bench.rebuild(two, {}, datetime.now(UTC))
    engine.refresh_stream_tables(["two", "all_columns"])
    path.rename(path.with_name("away"))
    held = {skip.name: skip for skip in engine.tick(later(1)).skipped}
    assert held["two"].codes == ("away",) and "there is nothing at" in held["two"].reason
    assert str(path) in str(engine.why("two"))
    with pytest.raises(UnavailableError, match="there is nothing at"):
        engine.refresh_stream_table("two")
    with pytest.raises(UnavailableError, match="there is nothing at"):
        engine.create_stream_table("new", f"SELECT k FROM {name}")
    path.mkdir()
    (held_now,) = {skip.reason for skip in engine.tick(later(2)).skipped}
    assert "has no files" in held_now
    path.rmdir()
    path.with_name("away").rename(path)
    assert not engine.tick(later(3)).skipped and engine.verify("two").ok
    folder.write("SELECT 1L AS id, 'a' AS k, 5 AS v, true AS w", "overwrite")
    done = {o.name: (o.action, o.reason) for o in engine.tick(later(4)).refreshed}
    assert done["two"][0] in (Action.FULL, Action.REINITIALIZE)
    assert done["all_columns"][0] is Action.REINITIALIZE and "the columns of" in str(done["all_columns"][1])
    assert values(engine, "SELECT * FROM all_columns") == [(1, "a", 5, True)]
    folder.write("SELECT 1L AS id", "overwrite")
    failed = {o.name for o in engine.tick(later(5)).failed}
    assert failed == {"two"} and "no longer fits its sources" in str(engine.history("two")[0].error)
    shutil.rmtree(path)
    engine.drop_stream_table("two")
    engine.drop_stream_table("all_columns")


def test_tables_of_sparks_own_catalog_are_read_as_their_definition_says(engine: Engine, tmp_path: Path) -> None:
    session, db = engine.spark, "spark_catalog.default"
    session.sql(
        f"CREATE TABLE {db}.parted (id INT, at TIMESTAMP, day DATE) USING csv OPTIONS (header 'true', sep ';') "
        f"PARTITIONED BY (day) LOCATION '{tmp_path}/parted'"
    )
    session.sql(f"CREATE TABLE {db}.more (id INT, w INT) USING orc")
    try:
        with pytest.raises(UnavailableError, match=r"there is nothing at .*make an empty folder there"):
            engine.create_stream_table("both", f"SELECT id FROM {db}.parted")
        (tmp_path / "parted").mkdir()
        engine.create_stream_table(
            "both",
            f"SELECT p.id, CAST(p.at AS STRING) AS at, p.day, m.w FROM {db}.parted p LEFT JOIN {db}.more m USING (id)",
        )
        assert engine.status("both").rows == 0 and list(engine.status("both").frontier) == [
            f"{db}.more",
            f"{db}.parted",
        ]
        part = tmp_path / "parted" / "day=2026-03-01"
        part.mkdir()
        # A text says a moment in the time zone of whoever defined the query, whoever reads it.
        (part / "one.csv").write_text("id;at\n1;2026-03-01 10:00:00\n")
        session.sql(f"ALTER TABLE {db}.parted ADD PARTITION (day = '2026-03-01')")
        session.sql(f"INSERT INTO {db}.more VALUES (1, 10)")
        engine.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        assert engine.refresh_stream_table("both").action is Action.FULL and engine.verify("both").ok
        rows = bag(engine.spark.sql("SELECT id, at, CAST(day AS STRING) AS d, w FROM both"))
        assert list(rows) == list(bag(engine.spark.sql("SELECT 1, '2026-03-01 10:00:00', '2026-03-01', 10")))
        # Columns that come while the files stay; hidden files that nobody reads.
        (part / "_writing.csv").write_text("no")
        assert engine.refresh_stream_table("both").action is Action.NO_DATA
        engine.create_stream_table("wide", f"SELECT * FROM {db}.more")
        session.sql(f"ALTER TABLE {db}.more ADD COLUMNS (x STRING)")
        done = engine.refresh_stream_table("wide")
        assert done.action is Action.REINITIALIZE and values(engine, "SELECT * FROM wide") == [(1, 10, None)]
        session.sql(f"DROP TABLE {db}.more")
        assert {skip.codes for skip in engine.tick(later(1)).skipped} == {("away",)}
        session.sql(f"CREATE TABLE {db}.more (id INT, w INT) USING orc")
        assert not engine.tick(later(2)).skipped and values(engine, "SELECT id, w FROM both") == [(1, None)]
    finally:
        for table in ("parted", "more"):
            session.sql(f"DROP TABLE IF EXISTS {db}.{table}")


def test_a_table_of_a_database_is_computed_again_whenever_it_is_due(
    spark: SparkSession, tmp_path: Path, postgres_url: str
) -> None:
    address = make_url(postgres_url)
    jdbc = f"jdbc:postgresql://{address.host}:{address.port}/{address.database}"
    database, session = create_engine(postgres_url), spark.newSession()
    settings = {"": CATALOG, ".url": jdbc, ".user": address.username or "", ".password": address.password or ""}
    for key, value in {**settings, ".driver": "org.postgresql.Driver"}.items():
        session.conf.set(f"spark.sql.catalog.pg{key}", value)

    def do(*statements: str) -> None:
        with database.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))

    do("CREATE SCHEMA shop", "CREATE TABLE shop.orders (id BIGINT, k TEXT, v INT, at TIMESTAMPTZ)")
    do("INSERT INTO shop.orders VALUES (1, 'a', 10, now()), (2, NULL, 20, NULL)")
    orders, named = "pg.shop.orders", "spark_catalog.default.orders_of_others"
    with spark_trickle.connect(str(tmp_path / "lake"), spark=session) as engine:
        engine.spark.sql(
            f"CREATE TABLE {named} USING jdbc OPTIONS (url '{jdbc}', dbtable 'shop.orders', driver "
            f"'org.postgresql.Driver', user '{address.username}', password '{address.password or ''}')"
        )
        try:
            engine.sql("CREATE TABLE own (k STRING, factor INT)")
            engine.sql("INSERT INTO own VALUES ('a', 2)")
            made = engine.create_stream_table(
                "sums", f"SELECT o.k, SUM(v * factor) AS s FROM {orders} o JOIN own USING (k) GROUP BY 1", schedule="5m"
            )
            reason = f"'{orders}' is a table of a JDBC database and has no versions, so neither what changed in it nor"
            assert (
                made.effective_mode == "FULL" and reason in str(made.mode_reason) and reason in str(engine.why("sums"))
            )
            engine.create_stream_table("pairs", f"SELECT a.id, b.v FROM {orders} a JOIN {named} b ON a.id = b.id")
            do("UPDATE shop.orders SET v = 11 WHERE id = 1", "INSERT INTO shop.orders VALUES (3, 'a', 1, NULL)")
            assert "sums" not in {o.name for o in engine.tick(later(1)).refreshed}
            done = {o.name: (o.action, o.reason) for o in engine.tick(later(6)).refreshed}
            assert done["sums"][0] is Action.FULL and reason in str(done["sums"][1])
            assert values(engine, "SELECT k, s FROM sums") == [("a", 24)]
            found = engine.verify("sums")
            assert found.ok and "compared with its rows of now" in found.notices[0]
            do("DELETE FROM shop.orders")
            assert not engine.verify("sums").ok
            with pytest.raises(UserError, match=f"cannot be IMMEDIATE: '{orders}' is a table of catalog 'pg'"):
                engine.create_stream_table("no", f"SELECT id FROM {orders}", refresh_mode="IMMEDIATE")
            with pytest.raises(UserError, match="is a table of a JDBC database and has no versions"):
                engine.create_stream_table("no", f"SELECT id FROM {named}", strict=True)
            do("DROP TABLE shop.orders")
            held = {skip.name: skip for skip in engine.tick(later(20)).skipped}
            assert held["sums"].codes == held["pairs"].codes == ("away",)
            assert f"table '{orders}' does not exist in catalog 'pg'" in held["sums"].reason
            do("CREATE TABLE shop.orders (k TEXT, v INT, id BIGINT)", "INSERT INTO shop.orders VALUES ('a', 5, 1)")
            assert not engine.tick(later(40)).failed and values(engine, "SELECT k, s FROM sums") == [("a", 10)]
        finally:
            engine.spark.sql(f"DROP TABLE IF EXISTS {named}")
            database.dispose()


def test_the_page_about_files_does_what_it_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "catalogs" / "files.md").read_text(encoding="utf-8")
    page = page.replace("/data/", f"{tmp_path}/")
    (code,), (shown,) = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "text"))
    names: dict[str, Any] = {}
    exec(code, names)
    assert capsys.readouterr().out == shown
    names["engine"].close()
