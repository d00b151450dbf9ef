"""Delta Lake tables as sources. Somebody else writes them, with Delta's own Spark; ours has none of its jars."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.elsewhere.delta import DeltaTables
from spark_trickle.elsewhere.files import LocalFiles
from spark_trickle.engine import Engine
from spark_trickle.errors import NotDifferentialError, SchemaChangedError
from spark_trickle.model.refresh import Action
from spark_trickle.spark.workspaces.far_files import FarFiles
from spark_trickle.storage.iceberg import static
from tests.spark.engines import bag, values
from tests.support.delta_process import DeltaProcess

TABLES = {
    "plain": "TBLPROPERTIES ('delta.enableChangeDataFeed'='true', 'delta.enableDeletionVectors'='false')",
    "parted": "PARTITIONED BY (k, d) TBLPROPERTIES ('delta.enableDeletionVectors'='true', "
    "'delta.checkpointInterval'='4')",
    "mapped": "PARTITIONED BY (k) TBLPROPERTIES ('delta.columnMapping.mode'='name', "
    "'delta.enableDeletionVectors'='true', 'delta.checkpointPolicy'='v2', 'delta.checkpointInterval'='4')",
}
CYCLES = 3
COLUMNS = "id BIGINT, k STRING, v INT, d DATE, at TIMESTAMP, price DECIMAL(12,2), s STRUCT<x: INT, y: STRING>"


@dataclass(frozen=True)
class Lake:
    engine: Engine
    others: DeltaProcess
    folder: Path

    def name(self, table: str) -> str:
        return f"delta.`{self.folder}/{table}`"


def large(spark: SparkSession, folder: Path) -> Engine:
    """An engine to which all tables are large: rows beside a change are looked up by where they are."""
    return spark_trickle.connect(str(folder), spark=spark.newSession(), lookup_table_rows=1, held_table_rows=0)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, deltas: DeltaProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("delta")
    with large(spark, folder / "lake") as engine:
        yield Lake(engine, deltas, folder)


def later(minutes: int) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=minutes)


def change(chance: random.Random, table: str) -> str:
    keys = ("NULL", "'a'", "'b b'", "'c/é=%'")

    def row() -> str:
        number = chance.randint(1, 30)
        at = chance.choice(("NULL", "TIMESTAMP '2026-03-01T10:00:00.123456Z'", "TIMESTAMP '1969-12-31T23:59:59Z'"))
        day = chance.choice(("NULL", "DATE '2026-01-01'", "DATE '0999-12-31'"))
        return (
            f"({number}, {chance.choice(keys)}, {chance.randint(-3, 9)}, {day}, {at}, {number}.25, "
            f"named_struct('x', {number}, 'y', {chance.choice(keys)}))"
        )

    values = ", ".join(row() for _ in range(chance.randint(1, 5)))
    every, rest = chance.randint(2, 5), chance.randint(0, 1)
    columns = "(id, k, v, d, at, price, s)"
    statements = {
        f"INSERT INTO {table} VALUES {values}, {row()}": 5,
        f"DELETE FROM {table} WHERE id % {every} = {rest}": 4,
        f"UPDATE {table} SET v = v + 1, k = 'b b' WHERE id % {every} = {rest}": 3,
        f"MERGE INTO {table} t USING (SELECT * FROM (VALUES {row()}) AS r{columns}) n ON t.id = n.id "
        "WHEN MATCHED AND t.v > 4 THEN DELETE WHEN MATCHED THEN UPDATE SET v = t.v - 1 "
        "WHEN NOT MATCHED THEN INSERT *": 3,
        f"INSERT OVERWRITE {table} VALUES {values}": 1,
        f"OPTIMIZE {table}": 2,
        f"DELETE FROM {table}": 1,
    }
    return chance.choices(list(statements), weights=list(statements.values()))[0]


def as_deltas_reader(lake: Lake, query: str, frontier: dict[str, int | None]) -> Counter[str]:
    """The answer by Delta's own reader, at the versions of a frontier."""
    for name, version in frontier.items():
        query = query.replace(name, f"{name} VERSION AS OF {version}")
    return lake.others.rows(query)


def fill(lake: Lake) -> None:
    """Tables of every kind, each with a file of so many rows that deletes leave it where it is."""
    for table, properties in TABLES.items():
        lake.others.sql(
            f"CREATE TABLE {lake.name(table)} ({COLUMNS}) USING delta {properties}",
            f"INSERT INTO {lake.name(table)} SELECT /*+ COALESCE(1) */ id, element_at(array('a', 'b b', NULL), "
            "CAST(id % 3 + 1 AS INT)), CAST(id % 7 AS INT), DATE '2026-01-01', NULL, id, "
            "named_struct('x', 1, 'y', '') FROM range(30)",
        )


def assert_as_deltas_reader_sees(lake: Lake, name: str) -> None:
    """The answer by Delta's own reader, at the versions of the frontier."""
    table = next(each for each in lake.engine.stream_tables() if str(each.name) == name)
    query = table.query
    for source, version in dict(table.frontier).items():
        query = query.replace(source, f"{source} VERSION AS OF {version}")
    assert bag(lake.engine.spark.sql(f"SELECT * FROM {name}")) == lake.others.rows(query), (name, str(table.frontier))


def test_random_changes_are_followed_as_deltas_own_reader_sees_them(lake: Lake) -> None:
    engine, chance = lake.engine, random.Random(1704)
    fill(lake)
    queries = {f"all_{table}": f"SELECT * FROM {lake.name(table)}" for table in TABLES}
    queries["sums"] = f"SELECT k, SUM(v) AS s, COUNT(*) AS n, MAX(at) AS at FROM {lake.name('mapped')} GROUP BY k"
    queries["joined"] = (
        f"SELECT a.id, b.s.x, a.price + b.price AS p FROM {lake.name('plain')} a "
        f"LEFT JOIN {lake.name('mapped')} b ON a.id = b.id"
    )
    for name, query in queries.items():
        engine.create_stream_table(name, query, strict=True)
    engine.create_stream_table("met", "SELECT n, x FROM sums JOIN joined ON sums.n = joined.id", strict=True)
    engine.create_stream_table("full", queries["all_parted"], refresh_mode="FULL")
    assert any("makes a diamond" in notice for table in engine.stream_tables() for notice in table.notices)
    seen: Counter[Action] = Counter()
    for cycle in range(CYCLES):
        lake.others.sql(
            *(change(chance, lake.name(table)) for table in TABLES for _ in range(chance.choice((0, 1, 2))))
        )
        report = engine.tick(later(cycle + 1))
        assert not report.failed and not report.skipped, report
        at = {str(table.name): table.frontier for table in engine.stream_tables()}
        assert at["sums"][lake.name("mapped")] == at["joined"][lake.name("mapped")]
        seen.update(outcome.action for outcome in report.refreshed if outcome.name != "full")
        for name in [*queries, "full"] if cycle == CYCLES - 1 else chance.sample([*queries], 2):
            assert_as_deltas_reader_sees(lake, name)
    assert set(seen) <= {Action.DIFFERENTIAL, Action.NO_DATA} and seen[Action.DIFFERENTIAL] > CYCLES, seen
    # What stores the same rows otherwise changes no row.
    lake.others.sql(f"INSERT INTO {lake.name('parted')} SELECT * FROM {lake.name('plain')}")
    engine.tick(later(59))
    lake.others.sql(f"OPTIMIZE {lake.name('parted')}")
    done = {o.name: o for o in engine.tick(later(60)).refreshed}
    assert done["all_parted"].action is Action.NO_DATA and done["full"].action is not Action.DIFFERENTIAL
    for name in ("all_parted", "joined", "met", "full"):
        assert engine.verify(name).ok
    for table in engine.stream_tables():
        engine.suspend_stream_table(table.name.sql)


def test_what_others_do_to_a_delta_table_is_told(lake: Lake) -> None:
    engine, moving, others = lake.engine, lake.name("moving"), lake.others
    dvs = "TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    others.sql(
        f"CREATE TABLE {moving} (id BIGINT, v INT, tiny TINYINT) USING delta {dvs}",
        f"INSERT INTO {moving} SELECT /*+ COALESCE(1) */ id, CAST(id AS INT), 1Y FROM range(20)",
    )
    made = engine.create_stream_table("all_columns", f"SELECT * FROM {moving}")
    assert any("column tiny is read as INT" in notice for notice in made.notices)
    engine.create_stream_table("strict_one", f"SELECT id, v FROM {moving}", strict=True)
    assert engine.status("strict_one").frontier[moving] == 1
    others.sql(f"DELETE FROM {moving} WHERE id < 3")
    weights = [(row.id, row._weight) for row in engine.changes(moving, since=1).collect()]
    assert sorted(weights) == [(0, -1), (1, -1), (2, -1)]
    assert engine.changes(moving, until=1).count() == 20
    # A column more; rows that were deleted come back where they were.
    others.sql(f"ALTER TABLE {moving} ADD COLUMN w INT", f"INSERT INTO {moving} VALUES (50, 1, 2, 3)")
    done = {o.name: (o.action, o.reason) for o in engine.tick(later(71)).refreshed}
    assert done["strict_one"][0] is Action.DIFFERENTIAL
    assert done["all_columns"] == (Action.REINITIALIZE, f"column 'w' of '{moving}' is new in the query")
    others.sql(f"DELETE FROM {moving} WHERE id = 7", f"DELETE FROM {moving} WHERE id = 8")
    assert engine.refresh_stream_table("strict_one").rows_deleted == 2
    others.sql(f"RESTORE TABLE {moving} TO VERSION AS OF 4")
    back = engine.refresh_stream_table("strict_one")
    assert (back.action, back.rows_inserted, back.rows_deleted) == (Action.DIFFERENTIAL, 2, 0)
    assert_as_deltas_reader_sees(lake, "strict_one")
    engine.refresh_stream_table("all_columns")
    # Its files are vacuumed before anybody looked.
    others.sql(f"INSERT OVERWRITE {moving} VALUES (1, 1, 1, 1)", f"VACUUM {moving} RETAIN 0 HOURS")
    assert "vacuumed" in str(engine.refresh_stream_table("all_columns").reason)
    with pytest.raises(NotDifferentialError, match=rf"of '{re.escape(moving)}', version \d+ cannot be read any more"):
        engine.refresh_stream_table("strict_one")
    assert engine.refresh_stream_table("strict_one", mode="FULL").action is Action.FULL
    assert values(engine, "SELECT id, v FROM strict_one") == [(1, 1)]
    # Made again in the same place.
    shutil.rmtree(lake.folder / "moving")
    others.sql(f"CREATE TABLE {moving} (id BIGINT, v INT) USING delta", f"INSERT INTO {moving} VALUES (9, 9)")
    with pytest.raises(NotDifferentialError, match="dropped and"):
        engine.refresh_stream_table("strict_one")
    assert engine.refresh_stream_table("strict_one", mode="FULL").action is Action.FULL
    assert engine.refresh_stream_table("all_columns").action is Action.REINITIALIZE
    assert engine.verify("strict_one").ok and values(engine, "SELECT id, v FROM strict_one") == [(9, 9)]


def test_column_mapping_that_is_turned_on_and_columns_that_are_renamed_and_dropped_are_followed(lake: Lake) -> None:
    engine, others, name = lake.engine, lake.others, lake.name("turned")
    others.sql(
        f"CREATE TABLE {name} (id BIGINT, k STRING, v INT) USING delta", f"INSERT INTO {name} VALUES (1, 'a', 1)"
    )
    engine.create_stream_table("summed", f"SELECT k, SUM(v) AS s FROM {name} GROUP BY k", strict=True)
    engine.create_stream_table("starred", f"SELECT * FROM {name}")
    on = "'delta.columnMapping.mode'='name', 'delta.minReaderVersion'='2', 'delta.minWriterVersion'='5'"
    others.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({on})", f"INSERT INTO {name} VALUES (2, 'a', 2)")
    with pytest.raises(NotDifferentialError, match="column mapping was turned on"):
        engine.refresh_stream_table("summed")
    assert engine.refresh_stream_table("summed", mode="FULL").action is Action.FULL
    assert engine.refresh_stream_table("starred").action is Action.REINITIALIZE
    others.sql(f"INSERT INTO {name} VALUES (3, 'b', 3)", f"DELETE FROM {name} WHERE id = 1")
    for each in ("summed", "starred"):
        assert engine.refresh_stream_table(each).action is Action.DIFFERENTIAL
        assert_as_deltas_reader_sees(lake, each)
    others.sql(f"ALTER TABLE {name} RENAME COLUMN v TO w")
    with pytest.raises(SchemaChangedError, match="no longer fits its sources"):
        engine.refresh_stream_table("summed")
    assert engine.refresh_stream_table("starred").action is Action.REINITIALIZE
    others.sql(f"ALTER TABLE {name} RENAME COLUMN w TO v", f"INSERT INTO {name} VALUES (4, 'b', 4)")
    assert engine.refresh_stream_table("summed").action is Action.DIFFERENTIAL
    assert values(engine, "SELECT k, s FROM summed") == [("a", 2), ("b", 7)]
    others.sql(f"ALTER TABLE {name} DROP COLUMN v")
    with pytest.raises(SchemaChangedError, match="no longer fits its sources"):
        engine.refresh_stream_table("summed")
    assert engine.refresh_stream_table("starred").action is Action.REINITIALIZE
    assert values(engine, "SELECT * FROM starred") == [(2, "a"), (3, "b"), (4, "b")]


def test_tables_of_sparks_own_catalog_are_followed_by_name_where_they_are_deltas(lake: Lake) -> None:
    engine, session = lake.engine, lake.engine.spark
    lake.others.sql(
        f"CREATE TABLE {lake.name('named')} (k STRING, v INT) USING delta",
        f"INSERT INTO {lake.name('named')} VALUES ('a', 1), (NULL, 2)",
    )
    session.sql(f"CREATE TABLE spark_catalog.default.named (x INT) USING parquet LOCATION '{lake.folder}/named'")
    # As if Delta's own Spark had made it: ours has no jar to do so.
    known: Any = session._jsparkSession.sessionState().catalog()
    metadata = known.getTableMetadata(static(session, "org.apache.spark.sql.catalyst.TableIdentifier")("named"))
    provider = metadata.getClass().getDeclaredField("provider")
    provider.setAccessible(True)
    provider.set(metadata, static(session, "scala.Option").apply("delta"))
    known.alterTable(metadata)
    named = "spark_catalog.default.named"
    engine.create_stream_table("by_name", f"SELECT k, SUM(v) AS s FROM {named} t GROUP BY k", strict=True)
    lake.others.sql(f"UPDATE {lake.name('named')} SET v = 5 WHERE k = 'a'")
    assert engine.refresh_stream_table("by_name").action is Action.DIFFERENTIAL
    assert values(engine, "SELECT k, s FROM by_name") == [("a", 5), (None, 2)] and engine.verify("by_name").ok
    assert list(engine.status("by_name").frontier) == [named]
    # Hadoop's file systems tell the same as a look at the disk.
    far, place = DeltaTables(lambda _: FarFiles(engine._parts.sessions)), f"{lake.folder}/named"
    near = DeltaTables(lambda _: LocalFiles())
    assert far.pin(place) == near.pin(place) and far.read_at(far.pin(place)) == near.read_at(near.pin(place))
    with pytest.raises(FileNotFoundError):
        far.pin(f"{place}/nothing")


def test_a_log_that_is_restored_and_written_again_has_other_versions_of_the_same_numbers(lake: Lake) -> None:
    engine, others, place = lake.engine, lake.others, lake.folder / "restored"
    name, twin = lake.name("restored"), lake.folder / "twin"

    def restore(backup: Path) -> None:
        """The log is that of the backup; files that it does not know stay where they are."""
        shutil.rmtree(place / "_delta_log")
        shutil.copytree(backup, place, dirs_exist_ok=True)

    others.sql(f"CREATE TABLE {name} (k STRING, v INT) USING delta", f"INSERT INTO {name} SELECT 'a', 1 FROM range(3)")
    shutil.copytree(place, twin)
    engine.create_stream_table("rows_of_it", f"SELECT k, v FROM {name}", strict=True)
    engine.create_stream_table("sums_of_it", f"SELECT k, SUM(v) AS s FROM {name} GROUP BY k", strict=True)
    both = ["rows_of_it", "sums_of_it"]
    others.sql(f"INSERT INTO {name} VALUES ('b', 2)")
    assert {o.action for o in engine.refresh_stream_tables(both)} == {Action.DIFFERENTIAL}
    # The backup goes on from version 1 with another version 2, and then a third one.
    others.sql(f"INSERT INTO {lake.name('twin')} VALUES ('c', 3), ('d', 4)")
    restore(twin)
    with pytest.raises(NotDifferentialError, match="the table was made again, or its log was"):
        engine.refresh_stream_table("rows_of_it")
    for each in both:
        engine.refresh_stream_table(each, mode="FULL")
        assert engine.verify(each).ok and engine.status(each).frontier[name] == 2
    others.sql(f"INSERT INTO {lake.name('twin')} VALUES ('b', 5)", f"DELETE FROM {lake.name('twin')} WHERE k = 'c'")
    restore(twin)
    assert {o.action for o in engine.refresh_stream_tables(both)} == {Action.DIFFERENTIAL}
    assert values(engine, "SELECT k, s FROM sums_of_it") == [("a", 3), ("b", 5), ("d", 4)]
    for each in both:
        assert engine.verify(each).ok and engine.status(each).frontier[name] == 4
