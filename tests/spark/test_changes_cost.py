"""What the change feed costs: no jobs before the rows are wanted, no reading of files that did not change."""

from __future__ import annotations

from typing import Any

from spark_trickle.storage.windows import Window
from tests.spark.versions import Lab, Table
from tests.support.spent import measured


def jobs_of(table: Table, group: str) -> int:
    return len(table.spark.sparkContext.statusTracker().getJobIdsForGroup(group))


def test_window_and_frame_start_no_job(lab: Lab) -> None:
    table = lab.table("id BIGINT, v STRING")
    table.run("INSERT INTO {t} SELECT id, 'v' FROM range(100)", "DELETE FROM {t} WHERE id = 1")
    since = table.pin()
    table.run("DELETE FROM {t} WHERE id = 2", "UPDATE {t} SET v = 'w' WHERE id = 3")
    group = f"{lab.namespace}-frame"
    table.spark.sparkContext.setJobGroup(group, "")
    try:
        frame = table.feed.frame(table.window(since))
        assert jobs_of(table, group) == 0
        assert len(frame.collect()) == 3
        assert jobs_of(table, group) > 0
    finally:
        table.spark.sparkContext.setLocalProperty("spark.jobGroup.id", "")


def test_only_changed_files_are_read(lab: Lab) -> None:
    table = lab.table("id BIGINT")
    for start in (0, 100, 200):
        table.run(f"INSERT INTO {{t}} SELECT /*+ REPARTITION(1) */ id FROM range({start}, {start + 100})")
    since = table.pin()
    table.run("DELETE FROM {t} WHERE id = 150")
    window = table.window(since)
    assert [window.added, window.removed] == [None, None]
    assert [len(list(files.after or [])) for files in window.touched] == [1]
    # The file had no deletes before, so there are no addresses to compare with.
    assert [files.before for files in window.touched] == [None]


def test_frames_are_forgotten_when_released(lab: Lab) -> None:
    table = lab.table("id BIGINT")
    table.run("INSERT INTO {t} VALUES (1)")
    jvm: Any = table.spark._jvm
    manager = jvm.org.apache.iceberg.spark.ScanTaskSetManager.get()
    table.feed.frame(table.window(None))
    assert manager.fetchSetIds(table.java).size() == 1
    table.feed.release()
    assert manager.fetchSetIds(table.java).size() == 0


def test_a_thousand_files_are_compared_well_under_a_second(lab: Lab) -> None:
    table = lab.table("id BIGINT")
    java, core = table.java, table.spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
    files = [
        core.DataFiles.builder(java.spec())
        .withPath(f"{java.location()}/data/f{number}.parquet")
        .withFileSizeInBytes(1000)
        .withRecordCount(10)
        .build()
        for number in range(1000)
    ]
    append = java.newAppend()
    for file in files:
        append.appendFile(file)
    append.commit()
    since = table.pin()
    java.newDelete().deleteFile(files[500]).commit()
    table.window(since)
    jvm: Any = table.spark._jvm
    rounds = []
    for _ in range(3):
        with measured(int(jvm.java.lang.ProcessHandle.current().pid())) as spent:
            window = table.feed.window(table.name, since)
        assert isinstance(window, Window)
        assert (window.rows, window.deleted_rows, window.insert_only) == (10, 10, False)
        rounds.append(spent)
    assert any(each.within(0.7) for each in rounds), rounds
