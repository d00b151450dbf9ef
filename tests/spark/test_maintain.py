"""Maintenance of real stream tables: fewer files and snapshots, the same rows, and nothing broken for anybody."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import ConflictError, UserError
from spark_trickle.events import Event, Step, StepReached
from spark_trickle.model.publication import Cut
from spark_trickle.model.refresh import Action
from spark_trickle.names import INTERNAL_NAMESPACE, TableName
from spark_trickle.spark.upkeep.compact import compact
from spark_trickle.spark.upkeep.leftovers import remove_dead_workspaces
from spark_trickle.spark.upkeep.maintain import (
    MaintenanceCatalog,
    MaintenanceOptions,
    MaintenanceReport,
    TableMaintenance,
    maintain,
)
from spark_trickle.storage.iceberg import load


class Crash(BaseException):
    """Ends the work where it stands, as the end of the process would."""


def crash() -> None:
    raise Crash


class Fault:
    """Crashes once at a step, when armed, or does something else there."""

    def __init__(self) -> None:
        self.at: Step | None = None
        self.instead: Callable[[], None] = crash

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepReached) and event.step is self.at:
            self.at = None
            self.instead()


@pytest.fixture
def fault() -> Fault:
    return Fault()


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path, fault: Fault) -> Iterator[Engine]:
    """A lake with a source, a stream table on it, and one with internal state on that. They gather files, as tables do
    that are not tiny.
    """
    session = spark.newSession()
    with spark_trickle.connect(str(tmp_path / "lake"), spark=session, observers=(fault,), held_table_rows=0) as engine:
        engine.sql("CREATE TABLE orders (id INT, region STRING, amount INT)")
        engine.sql("INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20), (3, 'south', 30)")
        engine.create_stream_table("large", "SELECT id, region, amount FROM orders WHERE amount >= 10")
        engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM large GROUP BY region")
        yield engine


def order(engine: Engine, number: int) -> None:
    engine.sql(f"INSERT INTO orders VALUES ({number}, 'north', {number})")


def rows(engine: Engine, table: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in engine.spark.table(TableName.parse(table).sql).collect())


def snapshots(engine: Engine, table: str) -> list[int]:
    return [int(s.snapshotId()) for s in load(engine.spark, TableName.parse(table)).snapshots()]


def of(report: MaintenanceReport, table: str) -> TableMaintenance:
    return next(each for each in report.tables if each.name == table)


def maintain_at_once(engine: Engine, compact_files: int = 2) -> MaintenanceReport:
    report = engine.maintain(retain="0s", compact_files=compact_files, orphan_age="0s")
    assert [each for each in report.tables if each.skipped_reason is not None] == []
    return report


def files_of(engine: Engine, folder: str) -> set[Path]:
    root = Path(engine.settings.warehouse, folder)
    return {path for path in root.rglob("*") if path.is_file() and path.suffix != ".crc"}


def data_of(files: set[Path]) -> set[Path]:
    """Without the catalog's database."""
    return {path for path in files if not path.name.startswith("trickle.db")}


def test_many_small_refreshes_are_compacted_and_the_next_refresh_is_differential(engine: Engine) -> None:
    for number in range(10, 14):
        order(engine, number)
        engine.refresh_stream_tables(["large", "totals"])
    before = {name: rows(engine, name) for name in ("large", "totals")}

    report = maintain_at_once(engine)

    assert of(report, "large").files_before == 5
    assert of(report, "large").files_after == 1
    assert of(report, "large").snapshots_expired == 4
    internal = [each for each in report.tables if each.name.startswith(INTERNAL_NAMESPACE)]
    assert [(each.files_after, each.snapshots_expired) for each in internal] == [(1, 4)]
    assert {name: rows(engine, name) for name in ("large", "totals")} == before
    assert engine.verify("large").ok and engine.verify("totals").ok

    order(engine, 99)
    engine.sql("DELETE FROM orders WHERE id = 2")
    outcomes = engine.refresh_stream_tables(["large", "totals"])
    assert [(o.name, o.action) for o in outcomes] == [("large", Action.DIFFERENTIAL), ("totals", Action.DIFFERENTIAL)]
    assert rows(engine, "totals") == Counter({("north", 10 + 10 + 11 + 12 + 13 + 99): 1, ("south", 30): 1})
    assert engine.verify("large").ok and engine.verify("totals").ok


def test_what_a_dependent_that_lags_behind_was_read_at_is_kept(engine: Engine) -> None:
    """Scenario D-6, with maintenance in between."""
    order(engine, 30)
    engine.refresh_stream_tables(["large", "totals"])
    frontier = engine.stream_tables()[1].frontier["large"]
    # The table itself says that everything old may go, as its owner could have set it.
    engine.spark.sql("ALTER TABLE large SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms' = '1')")
    for number in range(10, 14):
        order(engine, number)
        engine.refresh_stream_table("large")

    report = maintain_at_once(engine)

    assert of(report, "large").files_after == 1
    assert of(report, "large").snapshots_expired == 1  # the one before the frontier
    assert frontier in snapshots(engine, "large")
    assert engine.verify("totals").ok
    outcome = engine.refresh_stream_table("totals")
    assert (outcome.action, outcome.reason) == (Action.DIFFERENTIAL, None)
    assert engine.verify("totals").ok

    assert of(maintain_at_once(engine), "large").snapshots_expired > 0
    assert frontier not in snapshots(engine, "large")
    assert engine.verify("totals").ok


def test_versions_that_were_current_a_moment_ago_stay_for_as_long_as_retain_says(engine: Engine) -> None:
    first = snapshots(engine, "large")
    order(engine, 10)
    engine.refresh_stream_tables(["large", "totals"])
    report = engine.maintain(retain="1h")
    assert of(report, "large").snapshots_expired == 0
    assert set(first) < set(snapshots(engine, "large"))
    assert of(engine.maintain(retain="0s"), "large").snapshots_expired == 1
    assert not set(first) & set(snapshots(engine, "large"))


def test_files_that_a_crashed_refresh_staged_are_removed_once_they_are_old(engine: Engine, fault: Fault) -> None:
    published = {folder: files_of(engine, folder) for folder in ("default/large", "default/totals", INTERNAL_NAMESPACE)}
    order(engine, 10)
    fault.at = Step.ALL_STAGED
    with pytest.raises(Crash):
        engine.refresh_stream_tables(["large", "totals"])
    staged = {folder: files_of(engine, folder) - before for folder, before in published.items()}
    assert all(staged.values())
    assert any(path.name.endswith(".metadata.json") for path in staged["default/large"])

    assert sum(each.orphans_removed for each in engine.maintain(orphan_age="1h").tables) == 0
    report = maintain_at_once(engine, compact_files=20)

    assert sum(each.orphans_removed for each in report.tables) == sum(len(paths) for paths in staged.values())
    assert {folder: files_of(engine, folder) for folder in published} == published
    assert [o.action for o in engine.refresh_stream_tables(["large", "totals"])] == [Action.DIFFERENTIAL] * 2
    assert engine.verify("totals").ok


def test_a_dropped_stream_table_takes_its_files_and_internal_state_with_it(engine: Engine) -> None:
    order(engine, 10)
    engine.refresh_stream_tables(["large", "totals"])
    engine.drop_stream_table("totals")
    assert files_of(engine, "default/totals") == set()
    assert files_of(engine, INTERNAL_NAMESPACE) == set()
    assert not Path(engine.settings.warehouse, "default/totals").exists()
    assert engine.verify("large").ok
    engine.create_stream_table("totals", "SELECT region, COUNT(*) AS n FROM large GROUP BY region")
    assert engine.verify("totals").ok


def test_folders_of_internal_tables_that_nobody_has_any_more_are_removed(engine: Engine) -> None:
    owned = files_of(engine, INTERNAL_NAMESPACE)
    abandoned = Path(engine.settings.warehouse, INTERNAL_NAMESPACE, "default__gone__state_1")
    (abandoned / "data").mkdir(parents=True)
    (abandoned / "data" / "a.parquet").write_bytes(b"x")
    assert engine.maintain(orphan_age="1h").abandoned_files == 0
    assert engine.maintain(orphan_age="0s").abandoned_files == 1
    assert not abandoned.exists()
    assert files_of(engine, INTERNAL_NAMESPACE) == owned


def test_a_creation_that_crashed_leaves_nothing_and_files_of_a_users_dropped_table_stay(
    engine: Engine, fault: Fault
) -> None:
    engine.sql("CREATE TABLE dropped AS SELECT 1 AS a")
    engine.spark.sql("DROP TABLE dropped")
    kept = files_of(engine, "")
    assert any("dropped" in str(path) for path in kept)
    fault.at = Step.PUBLISHING
    with pytest.raises(Crash):
        engine.create_stream_table("regions", "SELECT region, MAX(amount) AS most FROM orders GROUP BY region")
    assert files_of(engine, "default/regions")
    assert maintain_at_once(engine, compact_files=20).abandoned_files > 0
    assert data_of(files_of(engine, "")) == data_of(kept)
    assert not Path(engine.settings.warehouse, "default/regions").exists()


def test_tables_of_users_are_never_touched(engine: Engine) -> None:
    order(engine, 10)
    stray = Path(engine.settings.warehouse, "default/orders/data/mine.parquet")
    stray.write_bytes(b"x")
    before, kept = files_of(engine, "default/orders"), snapshots(engine, "orders")
    maintain_at_once(engine, compact_files=1)
    assert files_of(engine, "default/orders") == before
    assert snapshots(engine, "orders") == kept


class Racing:
    """The catalog; once, right before it is read, something else happens."""

    def __init__(self, catalog: MaintenanceCatalog, at_read: int, meanwhile: Callable[[], object]) -> None:
        self._catalog = catalog
        self._reads_left = at_read
        self._meanwhile = meanwhile

    def cut_of_lake(self) -> Cut:
        self._reads_left -= 1
        if self._reads_left == 0:
            self._meanwhile()
        return self._catalog.cut_of_lake()

    def prune_history(self, older_than: datetime) -> int:
        return self._catalog.prune_history(older_than)


def test_a_refresh_published_while_snapshots_expire_is_kept(engine: Engine) -> None:
    for number in (10, 11):
        order(engine, number)
        engine.refresh_stream_tables(["large", "totals"])
    order(engine, 12)
    # The first read lists the tables; the second is the one between loading 'large' and expiring its snapshots.
    catalog = Racing(engine._parts.catalog, 2, lambda: engine.refresh_stream_tables(["large", "totals"]))
    options = MaintenanceOptions.parse(retain="0s", compact_files=20, orphan_age="1h", history_days=0)
    report = maintain(catalog, engine.spark, datetime.now(UTC), options)
    assert of(report, "large").skipped_reason is None
    assert of(report, "large").snapshots_expired > 0
    assert ("north", 10 + 10 + 11 + 12) in rows(engine, "totals")
    order(engine, 13)
    assert [o.action for o in engine.refresh_stream_tables(["large", "totals"])] == [Action.DIFFERENTIAL] * 2
    assert engine.verify("large").ok and engine.verify("totals").ok


def test_a_refresh_that_is_overtaken_by_maintenance_starts_over_and_succeeds(engine: Engine, fault: Fault) -> None:
    for number in (10, 11, 12):
        order(engine, number)
        engine.refresh_stream_tables(["large", "totals"])
    order(engine, 13)
    reports: list[MaintenanceReport] = []
    fault.at, fault.instead = Step.ALL_STAGED, lambda: reports.append(engine.maintain(retain="0s", compact_files=2))
    outcomes = engine.refresh_stream_tables(["large", "totals"])
    assert of(reports[0], "large").files_after == 1
    assert [o.action for o in outcomes] == [Action.DIFFERENTIAL] * 2
    assert ("north", 10 + 10 + 11 + 12 + 13) in rows(engine, "totals")
    assert engine.verify("large").ok and engine.verify("totals").ok


def test_compacting_files_that_somebody_deleted_from_meanwhile_is_a_conflict(engine: Engine) -> None:
    for number in (10, 11):
        order(engine, number)
        engine.refresh_stream_tables(["large", "totals"])
    stale = load(engine.spark, TableName.parse("large"))
    engine.sql("DELETE FROM orders WHERE id IN (2, 10)")
    engine.refresh_stream_tables(["large", "totals"])
    with pytest.raises(ConflictError, match="'large' was changed by somebody else"):
        compact(engine.spark, stale, TableName.parse("large"))
    assert engine.verify("large").ok


def test_a_table_that_cannot_be_maintained_is_reported_and_the_others_are_done(engine: Engine) -> None:
    for number in (10, 11):
        order(engine, number)
        engine.refresh_stream_tables(["large", "totals"])
    engine.spark.sql("DROP TABLE large")
    report = engine.maintain(retain="0s", compact_files=2, orphan_age="0s")
    assert "does not exist" in (of(report, "large").skipped_reason or "")
    assert of(report, "totals").snapshots_expired > 0
    assert "1 of them not finished" in str(report) and "large:" in str(report)


def test_history_older_than_its_retention_is_pruned(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    with spark_trickle.connect(lake, spark=spark.newSession(), history_retention_days=1) as engine:
        engine.sql("CREATE TABLE t (a INT)")
        engine.create_stream_table("s", "SELECT a FROM t")
        with engine._parts.catalog.write() as connection:
            connection.exec_driver_sql("UPDATE trickle_history SET started_at = '2020-01-01 00:00:00'")
        engine.refresh_stream_table("s")
        assert engine.maintain().history_pruned == 1
        assert len(engine.history("s")) == 1


@pytest.mark.parametrize("option", ["retain", "orphan_age"])
def test_a_duration_that_makes_no_sense_is_refused_by_its_name(option: str) -> None:
    given = {"retain": "1h", "orphan_age": "0s", option: "soon"}
    with pytest.raises(UserError, match=f"{option} 'soon' is not a duration"):
        MaintenanceOptions.parse(compact_files=20, history_days=0, **given)


def test_temporary_folders_go_only_when_old_and_their_process_is_dead(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = {
        "dead and old": f"spark-trickle-{ended.pid}-a",
        "dead and young": f"spark-trickle-{ended.pid}-b",
        "alive and old": f"spark-trickle-{os.getpid()}-c",
        "of nobody known": "spark-trickle-d",
    }
    for what, name in names.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "pointers.db").write_bytes(b"")
        if "young" not in what:
            for path in (folder / "pointers.db", folder):
                os.utime(path, (1000, 1000))
    assert remove_dead_workspaces(tmp_path, timedelta(hours=1).total_seconds()) == 1
    assert {path.name for path in tmp_path.iterdir()} == set(names.values()) - {names["dead and old"]}
