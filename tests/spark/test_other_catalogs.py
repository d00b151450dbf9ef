"""Sources in catalogs of other people: what they all have in common is shown on one. The story of each kind is in
`test_kinds_of_sources.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.elsewhere.heads import missing
from spark_trickle.engine import Engine
from spark_trickle.errors import NotDifferentialError, StreamTableError, UnavailableError, UserError
from spark_trickle.model.refresh import Action
from spark_trickle.names import TableName
from spark_trickle.spark.workspaces.scout import ScoutHeads
from tests.spark.elsewhere import CLIENT, NAME, Far, change, far_catalog
from tests.spark.engines import assert_equals_query, values

ORDERS, EVENTS = (TableName.elsewhere(NAME, ["db"], each) for each in ("orders", "events"))


@pytest.fixture(scope="module")
def one(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    """For what all kinds have in common, behind the place where tables are asked for: the REST server."""
    with far_catalog("rest", spark, tmp_path_factory.mktemp("one")) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """One catalog serves several tests: each finds no stream tables of another."""
    yield
    if "one" in request.fixturenames:
        engine: Engine = request.getfixturevalue("one").engine
        for table in engine.stream_tables():
            if any(each.name == table.name for each in engine.stream_tables()):
                engine.drop_stream_table(table.name.sql, cascade=True)


def later(minutes: int) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=minutes)


def test_random_changes_there_and_here_are_followed_in_one_window(one: Far) -> None:
    far, engine = one, one.engine
    far.make("db.orders", **{"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"})
    far.sql(f"CREATE NAMESPACE {NAME}.db.`with in`")
    far.make("db.`with in`.`o.d'd`")
    engine.sql("CREATE TABLE own (id BIGINT, k STRING, v INT)")
    engine.sql("INSERT INTO own VALUES (1, 'a', 10), (2, 'b', 20)")
    engine.sql(f"CREATE VIEW seen AS SELECT id, k, v FROM {NAME}.db.orders WHERE v > 0")
    queries = {
        # It has no snapshot yet.
        "joined": f"SELECT k, SUM(f.v * own.v) AS s, COUNT(*) n FROM {NAME}.db.orders f JOIN own USING (k) GROUP BY k",
        "outer": f"SELECT own.id, f.v FROM own LEFT JOIN {NAME}.db.`with in`.`o.d'd` f ON own.id = f.id",
        "both": f"SELECT DISTINCT k FROM {NAME}.db.orders WHERE id IN (SELECT id FROM {NAME}.db.`with in`.`o.d'd`)",
        "viewed": "SELECT k, MAX(v) AS most FROM seen GROUP BY k",
    }
    for name, query in queries.items():
        engine.create_stream_table(name, query, strict=True)
    engine.create_stream_table("meeting", "SELECT joined.k, n, most FROM joined JOIN viewed ON joined.k <=> viewed.k")
    engine.create_stream_table("full", f"SELECT k, v FROM {NAME}.db.orders", refresh_mode="FULL")
    assert any("makes a diamond" in notice for table in engine.stream_tables() for notice in table.notices)
    chance, seen = random.Random(17), set()
    for cycle in range(5):
        change(chance, far.sql, f"{NAME}.db.orders")
        for do, table in ((far.sql, f"{NAME}.db.`with in`.`o.d'd`"), (engine.sql, "own")):
            if chance.random() < 0.7:
                change(chance, do, table)
        if cycle == 2:
            far.sql(f"CALL {NAME}.system.rewrite_data_files('db.orders')")
        report = engine.tick(later(cycle + 1))
        assert not report.failed and not report.skipped, report
        seen |= {outcome.action for outcome in report.refreshed if outcome.name != "full"}
        frontiers = {t.name.name: t.frontier.of(ORDERS) for t in engine.stream_tables()}
        assert frontiers["joined"] == frontiers["viewed"] == frontiers["full"]
        for name in chance.sample([*queries, "meeting", "full"], 2):
            assert engine.verify(name).ok, (cycle, name)
    assert seen <= {Action.DIFFERENTIAL, Action.NO_DATA} and Action.DIFFERENTIAL in seen
    for name in (*queries, "meeting", "full"):
        assert_equals_query(engine, name)
    before = engine.status("joined").frontier
    assert engine.tick(later(30)).refreshed == () and engine.status("joined").frontier == before


def test_everything_that_reads_works(one: Far) -> None:
    far, engine = one, one.engine
    far.make("db.events", "at TIMESTAMP, k STRING")
    far.sql(f"INSERT INTO {NAME}.db.events VALUES (TIMESTAMP '2026-03-01T10:00:00Z', 'a')")
    engine.create_stream_table(
        "counted", f"SELECT k, COUNT(*) AS n FROM {NAME}.db.events GROUP BY k", fuse="on", fuse_ceiling=3
    )
    engine.create_stream_table(
        "counted_too", f"SELECT COUNT(*) AS n FROM {NAME}.db.events", refresh_mode="DIFFERENTIAL"
    )
    assert engine.explain("counted").sources == (f"{NAME}.db.events",) and f"{NAME}.db.events" in engine.graph()
    assert engine.explain_query(f"SELECT k FROM {NAME}.db.events").mode == "DIFFERENTIAL"
    with engine.snapshot(["counted", f"{NAME}.db.events"]) as snap:
        far.sql(f"INSERT INTO {NAME}.db.events VALUES (TIMESTAMP '2026-03-01T10:05:00Z', 'b')")
        assert snap.sql(f"SELECT k FROM {NAME}.db.events").count() == snap.table(f"{NAME}.db.events").count() == 1
        assert snap.sql("SELECT n FROM counted").count() == 1
    assert sorted(row._weight for row in engine.changes(f"{NAME}.db.events").collect()) == [1, 1]
    # Iceberg's own client says the same.
    (asked, _), theirs = engine._parts.elsewhere.pointers([EVENTS]), ScoutHeads(engine._parts.workspaces.scout())
    found, unknown = theirs.of([EVENTS])[EVENTS], TableName.elsewhere(NAME, ["db"], "nothing")
    assert isinstance(found, str) and found.removeprefix("file:") == asked[EVENTS].location
    assert theirs.of([unknown])[unknown] == missing(unknown) == engine._parts.elsewhere.pointers([unknown])[1][unknown]
    with pytest.raises(UserError, match=f"cannot be IMMEDIATE: '{NAME}.db.events' is a table of catalog '{NAME}'"):
        engine.create_stream_table("now", f"SELECT k FROM {NAME}.db.events", refresh_mode="IMMEDIATE")
    engine.gate_source(f"{NAME}.db.events")
    assert {skip.name: skip.codes for skip in engine.tick(later(61)).skipped}["counted"] == ("gated",)
    assert f"source '{NAME}.db.events' is gated" in str(engine.why("counted"))
    engine.ungate_source(f"{NAME}.db.events")
    assert {o.name: o.action for o in engine.tick(later(62)).refreshed} == {
        "counted": Action.DIFFERENTIAL,
        "counted_too": Action.DIFFERENTIAL,
    }
    far.sql(f"INSERT INTO {NAME}.db.events SELECT NULL, 'c' FROM range(6)")
    report = engine.tick(later(63))
    assert [skip.codes for skip in report.skipped] == [("fuse",)] and len(report.refreshed) == 1
    engine.reset_fuse("counted", "apply")
    assert engine.tick(later(64)).refreshed[0].action is Action.DIFFERENTIAL and engine.verify("counted").ok
    held_back_with_a_table_of_ours(far)
    engine.spark.sql(f"USE {NAME}.db")
    try:
        engine.create_stream_table(
            "lake.default.named_there", "SELECT k, COUNT(*) AS n FROM events GROUP BY k", strict=True
        )
    finally:
        engine.spark.sql("USE lake.default")
    far.sql(f"INSERT INTO {NAME}.db.events VALUES (NULL, 'z')")
    assert engine.refresh_stream_table("named_there").action is Action.DIFFERENTIAL and engine.verify("named_there").ok


def held_back_with_a_table_of_ours(far: Far) -> None:
    """Sources that belong together in time are read at one moment of theirs, wherever they are."""
    engine, events = far.engine, f"{NAME}.db.events"
    engine.sql("CREATE TABLE beside_them (k STRING)")
    engine.create_stream_table("aligned", f"SELECT e.k FROM {events} e JOIN beside_them USING (k)", strict=True)
    engine.create_watermark_group("pair", [events, "beside_them"], mode="hold_back")
    for source in (events, "beside_them"):
        engine.advance_watermark(source, "2026-03-01T10:00:00Z")
    far.sql(f"INSERT INTO {events} VALUES (NULL, 'd')")
    engine.sql("INSERT INTO beside_them VALUES ('d')")
    engine.advance_watermark(events, "2026-03-01T11:00:00Z")
    assert {row.source_table: row.schema_name for row in engine.watermarks()}["events"] == f"{NAME}.db"
    assert [o.name for o in engine.tick(later(65)).refreshed if o.name == "aligned"] == []
    engine.advance_watermark("beside_them", "2026-03-01T11:00:00Z")
    done = {o.name: o.action for o in engine.tick(later(66)).refreshed}
    assert done["aligned"] is Action.DIFFERENTIAL and values(engine, "SELECT k FROM aligned") == [("d",)]
    with pytest.raises(UserError, match="is no part of a transaction"), engine.transaction() as tx:
        tx.advance_watermark(events, "2026-03-01T12:00:00Z")
    engine.drop_watermark_group("pair")
    engine.drop_stream_table("aligned")


def test_a_catalog_that_is_away_holds_its_readers_and_nobody_else(one: Far) -> None:
    far, engine = one, one.engine
    far.make("db.steady")
    far.sql(f"INSERT INTO {NAME}.db.steady VALUES (1, 'a', 1)")
    engine.sql("CREATE TABLE near (id BIGINT)")
    engine.create_stream_table("reading", f"SELECT id, v FROM {NAME}.db.steady", strict=True)
    engine.create_stream_table("below", "SELECT id FROM reading", strict=True)
    engine.create_stream_table("beside", "SELECT id FROM near", strict=True)
    engine.sql("INSERT INTO near VALUES (1)")
    far.sql(f"INSERT INTO {NAME}.db.steady VALUES (2, 'b', 2)")
    far.take_away()
    try:
        report = engine.tick(later(121))
        assert [o.name for o in report.refreshed if o.name == "beside"] == ["beside"] and not report.failed
        held = {skip.name: skip for skip in report.skipped}
        assert held["reading"].codes == ("away",) and f"catalog '{NAME}' cannot be reached" in held["reading"].reason
        assert "below" not in held
        assert f"catalog '{NAME}' cannot be reached" in str(engine.why("below"))
        with pytest.raises(
            UnavailableError, match=f"'reading' cannot be refreshed: catalog '{NAME}' cannot be reached"
        ):
            engine.refresh_stream_table("reading")
        with pytest.raises(UnavailableError, match=f"catalog '{NAME}' cannot be reached"):
            engine.create_stream_table("new", f"SELECT id FROM {NAME}.db.other")
        engine.suspend_stream_table("beside")
        engine.resume_stream_table("beside")
    finally:
        far.bring_back()
    report = engine.tick(later(122))
    done = {outcome.name: outcome.action for outcome in report.refreshed}
    assert done["reading"] is done["below"] is Action.DIFFERENTIAL and not report.skipped
    assert engine.verify("reading").ok and engine.verify("below").ok


def test_tables_that_are_renamed_there_and_snapshots_that_expire_there_are_told(one: Far) -> None:
    far, engine = one, one.engine
    far.make("db.moving")
    far.sql(f"INSERT INTO {NAME}.db.moving VALUES (1, 'a', 1)")
    engine.create_stream_table("all_columns", f"SELECT * FROM {NAME}.db.moving")
    engine.create_stream_table("strict_one", f"SELECT id, v FROM {NAME}.db.moving", strict=True)
    far.sql(f"ALTER TABLE {NAME}.db.moving RENAME TO db.moved")
    gone = {skip.name: skip for skip in engine.tick(later(181)).skipped}
    assert gone["strict_one"].codes == ("away",)
    assert f"table '{NAME}.db.moving' does not exist in catalog '{NAME}'" in gone["strict_one"].reason
    far.sql(f"ALTER TABLE {NAME}.db.moved RENAME TO db.moving")
    frontier = engine.status("strict_one").frontier
    far.sql(f"INSERT INTO {NAME}.db.moving VALUES (4, 'd', 4)")
    far.sql(f"CALL {NAME}.system.expire_snapshots('db.moving', TIMESTAMP '2100-01-01', 1)")
    expired = f"snapshot {frontier[f'{NAME}.db.moving']} of '{NAME}.db.moving' has expired"
    assert engine.refresh_stream_table("all_columns").reason == expired
    with pytest.raises(NotDifferentialError, match=expired):
        engine.refresh_stream_table("strict_one")
    engine.refresh_stream_table("strict_one", mode="FULL")
    far.sql(f"DROP TABLE {NAME}.db.moving PURGE")
    far.make("db.moving")
    with pytest.raises(NotDifferentialError, match="dropped and made again"):
        engine.refresh_stream_table("strict_one")


def test_a_catalog_that_only_icebergs_client_can_ask_is_followed_and_missed(
    spark: SparkSession, tmp_path: Path
) -> None:
    with far_catalog(CLIENT, spark, tmp_path) as far:
        far.make("db.orders")
        far.engine.create_stream_table("sums", f"SELECT k, SUM(v) AS s FROM {NAME}.db.orders GROUP BY k", strict=True)
        for minute, away in enumerate((False, True, False)):
            far.sql(f"INSERT INTO {NAME}.db.orders VALUES ({minute}, 'a', 1), ({minute}, 'b', 2)")
            if away:
                far.take_away()
                (held,) = far.engine.tick(later(minute + 1)).skipped
                assert held.codes == ("away",) and f"catalog '{NAME}' cannot be reached" in held.reason
                far.bring_back()
            (outcome,) = far.engine.tick(later(minute + 1)).refreshed
            assert outcome.action is Action.DIFFERENTIAL and far.engine.verify("sums").ok
        assert values(far.engine, "SELECT k, s FROM sums") == [("a", 3), ("b", 6)]


def test_a_circle_goes_round_over_a_table_of_another_catalog(spark: SparkSession, tmp_path: Path) -> None:
    with far_catalog("jdbc", spark, tmp_path) as far:
        edges, engine = f"{NAME}.db.edges", far.engine
        far.make("db.edges", "src INT, dst INT")
        far.sql(f"INSERT INTO {edges} VALUES (1, 2), (2, 3)")
        step = f"SELECT src, dst FROM {edges} UNION SELECT a.src, e.dst FROM {{}} a JOIN {edges} e ON a.dst = e.src"
        engine.create_stream_tables({"odd": step.format("even"), "even": step.format("odd")}, strict=True)
        for change_there in (f"INSERT INTO {edges} VALUES (3, 4), (4, 2)", f"DELETE FROM {edges} WHERE src = 2"):
            far.sql(change_there)
            assert engine.refresh_stream_table("odd").action is Action.DIFFERENTIAL
            assert engine.verify("odd").ok and engine.verify("even").ok
        assert values(engine, "SELECT src, dst FROM odd") == [(1, 2), (3, 2), (3, 4), (4, 2)]


def test_a_catalog_that_nobody_configured_is_told(spark: SparkSession, tmp_path: Path) -> None:
    with far_catalog("jdbc", spark, tmp_path) as far:
        far.make("db.orders")
        far.engine.create_stream_table("reading", f"SELECT id FROM {NAME}.db.orders")
        metadata = far.engine.stream_tables()[0].frontier.pins[0].location
        far.engine.sql(f"CALL lake.system.register_table('default.shared', '{metadata}')")
        made = far.engine.create_stream_table("copied", "SELECT id FROM shared")
        assert any("what is committed there is not seen here" in notice for notice in made.notices)
        far.engine.drop_stream_table("copied")
    with spark_trickle.connect(str(tmp_path / "lake"), spark=spark.newSession()) as engine:
        held = engine.tick(later(1)).skipped[0]
        assert held.codes == ("away",) and f"catalog '{NAME}' of table '{ORDERS}' is not configured here" in held.reason
        with pytest.raises(UserError):
            engine.create_stream_table("new", f"SELECT id FROM {NAME}.db.orders")


@pytest.mark.parametrize(
    "settings",
    [
        # Asked by Iceberg's client, which knows more of JDBC's addresses than we do.
        {"uri": "jdbc:postgresql://127.0.0.1:1/db?user=me&password=5ecr3t-word&connectTimeout=5"},
        {"uri": "jdbc:postgresql://127.0.0.1:1/db?connectTimeout=5", "jdbc.user": "me", "jdbc.password": "5ecr3t-word"},
        {"uri": "jdbc:postgresql://me:5ecr3t-word@127.0.0.1:1/db"},
    ],
)
def test_a_password_in_the_address_of_a_catalog_is_not_told(
    settings: dict[str, str], spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0, logger="spark_trickle")
    named = {"type": "jdbc", "warehouse": str(tmp_path), **settings}
    conf = {f"spark.sql.catalog.{NAME}.{key}": value for key, value in named.items()}
    conf[f"spark.sql.catalog.{NAME}"] = "org.apache.iceberg.spark.SparkCatalog"
    with spark_trickle.connect(str(tmp_path / "lake"), spark_conf=conf) as engine:
        for ask in (
            lambda: engine.create_stream_table("new", f"SELECT id FROM {NAME}.db.orders"),
            lambda: engine.explain_query(f"SELECT id FROM {NAME}.db.orders"),
            lambda: engine.sql(f"SELECT id FROM {NAME}.db.orders"),
        ):
            with pytest.raises(StreamTableError) as told:
                ask()
            chain = [told.value, told.value.__cause__]
            assert not any("5ecr3t" in str(each.as_dict()) for each in chain if isinstance(each, StreamTableError))
            assert "5ecr3t" not in str(told.value) and told.value.kind in ("SourceAwayError", "UnavailableError")
    assert "5ecr3t" not in caplog.text
