"""Every kind of write, in every way Iceberg stores it, comes out of the change feed as the rows that changed."""

from __future__ import annotations

import pytest

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.errors import NotFoundError
from spark_trickle.names import TableName
from tests.spark.versions import COPY_ON_WRITE, MERGE_ON_READ, Lab, Table
from tests.support.equality_deletes import delete_equal

LAYOUTS = [
    pytest.param((2, MERGE_ON_READ), id="position deletes"),
    pytest.param((2, {**MERGE_ON_READ, "write.delete.granularity": "partition"}), id="partition position deletes"),
    pytest.param((3, MERGE_ON_READ), id="deletion vectors"),
    pytest.param((2, COPY_ON_WRITE), id="copy on write, format 2"),
    pytest.param((3, COPY_ON_WRITE), id="copy on write, format 3"),
]
WRITES = [
    pytest.param("INSERT INTO {t} VALUES (100, 'x'), (100, 'x'), (NULL, NULL)", id="insert"),
    pytest.param("UPDATE {t} SET v = 'changed' WHERE id BETWEEN 3 AND 6", id="update"),
    pytest.param("UPDATE {t} SET v = v", id="update to the same values"),
    pytest.param("DELETE FROM {t} WHERE id IN (2, 7) OR id IS NULL", id="delete"),
    pytest.param(
        "MERGE INTO {t} USING (SELECT id, 'm' AS v FROM range(8, 14)) s ON {t}.id = s.id "
        "WHEN MATCHED AND s.id = 8 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
        id="merge",
    ),
    pytest.param("INSERT OVERWRITE {t} VALUES (1, 'v1'), (1000, 'new')", id="insert overwrite"),
    pytest.param("DELETE FROM {t}", id="delete everything"),
    pytest.param("TRUNCATE TABLE {t}", id="truncate"),
]


@pytest.fixture(params=LAYOUTS)
def filled(request: pytest.FixtureRequest, lab: Lab) -> Table:
    version, properties = request.param
    table = lab.table("id BIGINT, v STRING", format_version=version, properties=properties)
    table.run(
        "INSERT INTO {t} SELECT /*+ REPARTITION(2) */ id, concat('v', id) FROM range(10)",
        "INSERT INTO {t} VALUES (5, 'v5'), (5, 'v5'), (NULL, 'null'), (7, NULL)",
    )
    return table


@pytest.mark.parametrize("write", WRITES)
def test_one_write_gives_the_difference_of_the_two_versions(filled: Table, write: str) -> None:
    since = filled.pin()
    filled.run(write)
    filled.check(since)
    filled.check(since, ["v"])


def test_many_writes_in_one_window_give_the_net_difference(filled: Table) -> None:
    since = filled.pin()
    filled.run(
        "DELETE FROM {t} WHERE id = 1",
        "INSERT INTO {t} VALUES (50, 'short-lived'), (1, 'v1'), (51, 'stays')",
        "UPDATE {t} SET v = 'twice' WHERE id = 2",
        "UPDATE {t} SET v = 'v2' WHERE id = 2",
        "DELETE FROM {t} WHERE id = 50",
        "DELETE FROM {t} WHERE id = 3",
    )
    assert filled.check(since) == {"[51, 'stays']": 1, "[3, 'v3']": -1}


def test_deletes_on_top_of_deletes_give_only_the_new_ones(filled: Table) -> None:
    filled.run("DELETE FROM {t} WHERE id IN (1, 2)")
    since = filled.pin()
    filled.run("DELETE FROM {t} WHERE id = 3")
    middle = filled.pin()
    filled.run("DELETE FROM {t} WHERE id = 4", "INSERT INTO {t} VALUES (4, 'again')")
    assert filled.check(since, until=middle.snapshot_id) == {"[3, 'v3']": -1}
    assert filled.check(middle) == {"[4, 'v4']": -1, "[4, 'again']": 1}


def test_a_row_that_is_inserted_and_deleted_again_is_no_change(filled: Table) -> None:
    since = filled.pin()
    filled.run("INSERT INTO {t} VALUES (77, 'x'), (78, 'y')", "DELETE FROM {t} WHERE id >= 77")
    assert filled.check(since) == {}


def test_everything_is_inserted_since_the_empty_table(filled: Table) -> None:
    filled.run("DELETE FROM {t} WHERE id = 5")
    window = filled.window(None)
    assert window.insert_only
    assert not window.empty
    assert filled.changes(None) == filled.rows(filled.snapshot())


def test_appends_are_insert_only_and_counted_exactly(lab: Lab) -> None:
    table = lab.table("id BIGINT")
    table.run("INSERT INTO {t} SELECT id FROM range(1000)")
    since = table.pin()
    table.run("INSERT INTO {t} SELECT id FROM range(30)", "INSERT INTO {t} SELECT id FROM range(12)")
    window = table.window(since)
    assert (window.insert_only, window.empty, window.rows, window.deleted_rows) == (True, False, 42, 0)
    table.check(since)


def test_deletion_vectors_are_counted_exactly(lab: Lab) -> None:
    table = lab.table("id BIGINT")
    table.run("INSERT INTO {t} SELECT /*+ REPARTITION(1) */ id FROM range(1000)", "DELETE FROM {t} WHERE id < 20")
    since = table.pin()
    table.run("DELETE FROM {t} WHERE id < 25")
    window = table.window(since)
    assert (window.insert_only, window.rows, window.deleted_rows) == (False, 5, 5)


def test_nothing_written_is_an_empty_window_with_an_empty_frame(lab: Lab) -> None:
    table = lab.table("id BIGINT, v STRING")
    fresh = table.pin()
    assert fresh.snapshot_id is None
    assert table.window(fresh).empty
    table.run("INSERT INTO {t} VALUES (1, 'a')")
    assert table.check(fresh) == {"[1, 'a']": 1}
    frame = table.feed.frame(table.window(table.pin()), ["v"])
    assert frame.columns == ["v", WEIGHT]
    assert frame.collect() == []


@pytest.mark.parametrize("file_format", ["orc", "avro"])
@pytest.mark.parametrize("version", [2, 3])
def test_other_file_formats_are_read_as_well(lab: Lab, version: int, file_format: str) -> None:
    properties = {**MERGE_ON_READ, "write.format.default": file_format}
    table = lab.table("id BIGINT, v STRING", format_version=version, properties=properties)
    table.run("INSERT INTO {t} SELECT /*+ REPARTITION(1) */ id, 'v' FROM range(9)", "DELETE FROM {t} WHERE id = 1")
    since = table.pin()
    table.run("DELETE FROM {t} WHERE id = 2", "UPDATE {t} SET v = 'w' WHERE id = 3")
    assert table.check(since) == {"[2, 'v']": -1, "[3, 'v']": -1, "[3, 'w']": 1}


def test_a_missing_table_or_column_is_named(lab: Lab) -> None:
    table = lab.table("id BIGINT")
    with pytest.raises(NotFoundError, match=r"table '.*nowhere' does not exist"):
        lab.feed.window(TableName(lab.namespace, "nowhere"), None)
    with pytest.raises(NotFoundError, match="column 'nothing' does not exist"):
        lab.feed.window(table.name, None, ["nothing"])


def test_no_column_at_all_gives_the_number_of_rows(lab: Lab) -> None:
    table = lab.table("id BIGINT")
    table.run("INSERT INTO {t} SELECT id FROM range(10)")
    since = table.pin()
    table.run("INSERT INTO {t} SELECT id FROM range(7)", "DELETE FROM {t} WHERE id = 2")
    rows = table.feed.frame(table.window(since, []), []).collect()
    assert [tuple(row) for row in rows] == [(5,)]


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_take_every_row_of_that_value(lab: Lab, version: int) -> None:
    table = lab.table("id INT, v STRING", format_version=version)
    table.run(
        "INSERT INTO {t} SELECT /*+ REPARTITION(2) */ int(id % 5), concat('v', id) FROM range(10)",
        "DELETE FROM {t} WHERE v = 'v3'",
    )
    since = table.pin()
    delete_equal(table.spark, table.java, "id", [3])
    first = table.pin()
    delete_equal(table.spark, table.java, "id", [4, 99])
    table.run("INSERT INTO {t} VALUES (3, 'after')")
    assert table.check(since, until=first.snapshot_id) == {"[3, 'v8']": -1}
    assert table.check(first) == {"[4, 'v4']": -1, "[4, 'v9']": -1, "[3, 'after']": 1}
    table.check(since, ["v"])
    table.run("DELETE FROM {t} WHERE v = 'v0'")
    assert table.check(since)["[0, 'v0']"] == -1
