"""Compaction, rollback, cherry-pick, expiry and the like: a history that is not just one write after another."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import History
from tests.spark.versions import COPY_ON_WRITE, MERGE_ON_READ, Lab, Table

COMPACT = "options => map('rewrite-all', 'true')"


def filled(lab: Lab, format_version: int = 3, properties: dict[str, str] | None = None, clauses: str = "") -> Table:
    table = lab.table("id BIGINT, v STRING", format_version=format_version, properties=properties, clauses=clauses)
    table.run(
        "INSERT INTO {t} SELECT /*+ REPARTITION(1) */ id, concat('v', id) FROM range(6)",
        "INSERT INTO {t} VALUES (3, 'v3'), (NULL, NULL)",
    )
    return table


def test_compaction_alone_is_no_change(lab: Lab) -> None:
    table = filled(lab)
    table.run("DELETE FROM {t} WHERE id = 2")
    since = table.pin()
    table.call("rewrite_data_files", COMPACT)
    table.call("rewrite_manifests")
    assert table.operations()[-2:] == ["replace", "replace"]
    window = table.window(since)
    assert (window.empty, window.rows, window.deleted_rows) == (True, 0, 0)
    assert table.feed.frame(window).collect() == []


@pytest.mark.parametrize("properties", [MERGE_ON_READ, COPY_ON_WRITE], ids=["merge on read", "copy on write"])
@pytest.mark.parametrize("format_version", [2, 3])
def test_compaction_between_changes_is_stepped_over(lab: Lab, format_version: int, properties: dict[str, str]) -> None:
    table = filled(lab, format_version, properties)
    since = table.pin()
    table.run("INSERT INTO {t} VALUES (10, 'a'), (11, 'b')", "DELETE FROM {t} WHERE id = 1")
    table.call("rewrite_data_files", COMPACT)
    table.run("DELETE FROM {t} WHERE id IN (2, 10)", "UPDATE {t} SET v = 'new' WHERE id = 4")
    table.call("rewrite_data_files", COMPACT)
    table.run("INSERT INTO {t} VALUES (12, 'c')")
    assert table.operations().count("replace") == 2
    assert table.check(since)["[11, 'b']"] == 1


def test_a_window_that_goes_further_back_than_snapshots_are_asked_one_by_one(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(lab)
    since = table.pin()
    for number in range(4):
        table.run(f"INSERT INTO {{t}} VALUES ({number + 20}, 'n')")
    table.run("DELETE FROM {t} WHERE id = 21")
    one_by_one = list(History(table.spark, table.java).ancestors(table.snapshot()))
    monkeypatch.setattr(History, "ONE_BY_ONE", 2)
    assert list(History(table.spark, table.java).ancestors(table.snapshot())) == one_by_one
    assert len(one_by_one) == len(table.operations())
    assert table.check(since) == {"[20, 'n']": 1, "[22, 'n']": 1, "[23, 'n']": 1}


def test_appends_around_a_compaction_stay_insert_only_and_small(lab: Lab) -> None:
    table = filled(lab)
    since = table.pin()
    table.run("INSERT INTO {t} VALUES (10, 'a')")
    table.call("rewrite_data_files", COMPACT)
    table.run("INSERT INTO {t} VALUES (11, 'b')")
    window = table.window(since)
    assert (window.insert_only, window.rows) == (True, 2)
    assert table.check(since) == {"[10, 'a']": 1, "[11, 'b']": 1}


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_compaction_of_position_deletes_is_no_change(lab: Lab, granularity: str) -> None:
    table = filled(lab, 2, {**MERGE_ON_READ, "write.delete.granularity": granularity})
    table.run("DELETE FROM {t} WHERE id = 2")
    since = table.pin()
    table.run("DELETE FROM {t} WHERE id = 4")
    table.call("rewrite_position_delete_files", COMPACT)
    table.run("DELETE FROM {t} WHERE id = 5")
    assert table.operations().count("replace") == 1
    assert table.check(since) == {"[4, 'v4']": -1, "[5, 'v5']": -1}


@pytest.mark.parametrize("properties", [MERGE_ON_READ, COPY_ON_WRITE], ids=["merge on read", "copy on write"])
@pytest.mark.parametrize("format_version", [2, 3])
def test_a_rollback_takes_back_what_it_undid(lab: Lab, format_version: int, properties: dict[str, str]) -> None:
    table = filled(lab, format_version, properties)
    table.run("DELETE FROM {t} WHERE id = 0")
    good = table.pin()
    table.run("DELETE FROM {t} WHERE id IN (1, 3)", "INSERT INTO {t} VALUES (20, 'bad')")
    bad = table.pin()
    table.call("rollback_to_snapshot", f"snapshot_id => {good.snapshot_id}")
    assert table.check(bad) == {"[1, 'v1']": 1, "[3, 'v3']": 2, "[20, 'bad']": -1}
    assert table.window(good).empty
    table.run("DELETE FROM {t} WHERE id IN (3, 4)", "INSERT INTO {t} VALUES (20, 'bad'), (21, 'good')")
    assert table.check(bad) == {"[1, 'v1']": 1, "[4, 'v4']": -1, "[21, 'good']": 1}


def test_a_rollback_over_a_compaction_is_exact(lab: Lab) -> None:
    table = filled(lab)
    good = table.pin()
    table.run("DELETE FROM {t} WHERE id = 5")
    table.call("rewrite_data_files", COMPACT)
    bad = table.pin()
    table.call("rollback_to_snapshot", f"snapshot_id => {good.snapshot_id}")
    assert table.check(bad) == {"[5, 'v5']": 1}


def test_a_rollback_to_the_first_delete_revives_only_later_deletes(lab: Lab) -> None:
    table = filled(lab)
    start = table.pin()
    table.run("DELETE FROM {t} WHERE id = 0")
    since = table.pin()
    table.call("rollback_to_snapshot", f"snapshot_id => {start.snapshot_id}")
    window = table.window(since)
    assert (window.insert_only, window.rows) == (False, 1)
    assert table.check(since) == {"[0, 'v0']": 1}


def test_a_cherry_picked_snapshot_brings_its_rows(lab: Lab) -> None:
    table = filled(lab)
    table.run("ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    since = table.pin()
    table.spark.conf.set("spark.wap.id", "audit")
    try:
        table.run("INSERT INTO {t} VALUES (30, 'audited')")
    finally:
        table.spark.conf.unset("spark.wap.id")
    staged = [int(s.snapshotId()) for s in table.java.snapshots()][-1]
    assert table.window(since).empty
    table.run("DELETE FROM {t} WHERE id = 1")
    table.call("cherrypick_snapshot", f"snapshot_id => {staged}")
    assert table.check(since) == {"[30, 'audited']": 1, "[1, 'v1']": -1}


def test_an_expired_snapshot_is_named(lab: Lab) -> None:
    table = filled(lab)
    since = table.pin()
    table.run("INSERT INTO {t} VALUES (10, 'a')")
    table.call("expire_snapshots", "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1")
    assert table.broken(since) == f"snapshot {since.snapshot_id} of '{table.name}' has expired"
    assert table.changes(None) == table.rows(table.snapshot())


def test_expired_snapshots_in_between_do_not_matter(lab: Lab) -> None:
    table = filled(lab)
    since = table.pin()
    table.run("ALTER TABLE {t} CREATE TAG kept", "INSERT INTO {t} VALUES (10, 'a')", "DELETE FROM {t} WHERE id = 10")
    table.call("rewrite_data_files", COMPACT)
    table.run("DELETE FROM {t} WHERE id = 1")
    before = len(table.operations())
    table.call("expire_snapshots", "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1")
    assert len(table.operations()) < before
    assert table.check(since) == {"[1, 'v1']": -1}


def test_a_table_made_again_under_the_same_name_is_another_table(lab: Lab) -> None:
    table = filled(lab)
    since = table.pin()
    table.run("DROP TABLE {t}")
    again = filled(lab)
    assert again.broken(since) == f"'{table.name}' was dropped and created again"


def test_a_replaced_table_gives_the_difference_or_names_the_column(lab: Lab) -> None:
    table = filled(lab)
    since = table.pin()
    table.run("REPLACE TABLE {t} USING iceberg AS SELECT 3L AS id, 'v3' AS v")
    found = table.changes(since)
    assert (found["[3, 'v3']"], found["[1, 'v1']"], sum(found.values())) == (-1, -1, -7)
    since = table.pin()
    table.run("REPLACE TABLE {t} USING iceberg AS SELECT 'x' AS id, 'v3' AS v")
    assert table.broken(since) == "column 'id' was changed from bigint to string"
    assert table.broken(since, ["id"]) == "column 'id' was changed from bigint to string"
    assert table.check(since, ["v"]) == {}


def test_partitions_may_evolve_and_be_overwritten(lab: Lab) -> None:
    table = filled(lab, clauses="PARTITIONED BY (bucket(2, id))")
    since = table.pin()
    table.run(
        "ALTER TABLE {t} ADD PARTITION FIELD truncate(1, v)",
        "INSERT INTO {t} VALUES (40, 'p'), (41, 'q')",
        "DELETE FROM {t} WHERE id IN (0, 41)",
        "ALTER TABLE {t} DROP PARTITION FIELD bucket(2, id)",
        "UPDATE {t} SET v = 'r' WHERE id = 40",
    )
    table.check(since)
    middle = table.pin()
    table.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        table.run("INSERT OVERWRITE {t} VALUES (50, 'r'), (51, 'v')")
    finally:
        table.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    table.check(middle)
    table.check(since)


def test_both_ends_can_lie_in_the_past(lab: Lab) -> None:
    table = filled(lab)
    pins = [table.pin()]
    for statement in (
        "INSERT INTO {t} VALUES (10, 'a')",
        "DELETE FROM {t} WHERE id = 10",
        "UPDATE {t} SET v = 'u' WHERE id = 1",
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        "INSERT INTO {t} VALUES (11, 'b')",
    ):
        table.run(statement)
        pins.append(table.pin())
    for since in pins[:4]:
        for until in pins[:4]:
            table.check(since, ["id", "v"], until.snapshot_id)
    assert table.broken(pins[0], ["v"]) == "column 'v' was renamed to 'w'"
    assert table.broken(pins[0], until=123) == f"snapshot 123 of '{table.name}' does not exist or has expired"


def test_a_session_with_a_catalog_of_its_own_sees_its_own_changes(lab: Lab, tmp_path: Path) -> None:
    table = filled(lab)
    since = table.pin()
    shared = str(table.spark.conf.get("spark.sql.catalog.lake.uri")).removeprefix("jdbc:sqlite:").split("?")[0]
    with sqlite3.connect(shared) as original, sqlite3.connect(tmp_path / "own.db") as copy:
        original.backup(copy)
    session = table.spark.newSession()
    for key, value in table.spark.conf.getAll.items():
        if key.startswith("spark.sql.catalog.lake"):
            session.conf.set(key, value)
    session.conf.set("spark.sql.catalog.lake.uri", f"jdbc:sqlite:{tmp_path}/own.db?busy_timeout=30000")
    private = Table(session, ChangeFeed(session), table.name)
    private.run("DELETE FROM {t} WHERE id = 1", "INSERT INTO {t} VALUES (60, 'private')")
    assert private.check(since) == {"[1, 'v1']": -1, "[60, 'private']": 1}
    assert table.window(since).empty
    private.feed.release()
