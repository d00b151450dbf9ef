"""Columns that come, go and change, and values that are easily lost on the way."""

from __future__ import annotations

import pytest

from tests.spark.versions import COPY_ON_WRITE, MERGE_ON_READ, Lab

ALTERATIONS = [
    pytest.param("ALTER TABLE {t} RENAME COLUMN n TO m", "column 'n' was renamed to 'm'", id="renamed"),
    pytest.param("ALTER TABLE {t} DROP COLUMN n", "column 'n' was dropped", id="dropped"),
    pytest.param(
        "ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT", "column 'n' was widened from int to bigint", id="widened"
    ),
    pytest.param(
        "ALTER TABLE {t} ALTER COLUMN s.a TYPE BIGINT",
        "column 's' was changed from struct<a: int, b: string> to struct<a: bigint, b: string>",
        id="widened inside",
    ),
    pytest.param(
        "ALTER TABLE {t} ADD COLUMN s.c INT",
        "column 's' was changed from struct<a: int, b: string> to struct<a: int, b: string, c: int>",
        id="grown inside",
    ),
]
HARMLESS = [
    "ALTER TABLE {t} ADD COLUMN extra DOUBLE",
    "ALTER TABLE {t} ALTER COLUMN n FIRST",
    "ALTER TABLE {t} ALTER COLUMN n COMMENT 'a number'",
    "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL",
]
VALUES = {
    "DOUBLE": ["0.0D", "-0.0D", "double('NaN')", "double('-Infinity')", "1e-300D", "NULL"],
    "FLOAT": ["0.0F", "-0.0F", "float('NaN')", "1.5F", "NULL"],
    "DECIMAL(38, 10)": ["1234567890123456789012345678.0123456789BD", "0BD", "-0.0000000001BD", "NULL"],
    "BINARY": ["X'00FF'", "X''", "NULL"],
    "BOOLEAN": ["true", "false", "NULL"],
    "DATE": ["DATE '0001-01-01'", "DATE '2024-02-29'", "NULL"],
    "TIMESTAMP": ["TIMESTAMP '2024-03-31 01:30:00.123456Z'", "NULL"],
    "TIMESTAMP_NTZ": ["TIMESTAMP_NTZ '2024-03-31 02:30:00.123456'", "NULL"],
    "STRUCT<a: DOUBLE, b: ARRAY<STRING>>": [
        "named_struct('a', 0.0D, 'b', array('x', NULL))",
        "named_struct('a', -0.0D, 'b', array('x', NULL))",
        "named_struct('a', double(NULL), 'b', array())",
        "NULL",
    ],
    "ARRAY<DOUBLE>": ["array(0.0D)", "array(-0.0D)", "array(double('NaN'), NULL)", "array()", "NULL"],
    "MAP<STRING, DOUBLE>": ["map('a', 0.0D, 'b', NULL)", "map('a', -0.0D, 'b', NULL)", "map()", "NULL"],
    "ARRAY<MAP<INT, STRUCT<d: DATE, f: FLOAT>>>": [
        "array(map(1, named_struct('d', DATE '2024-01-01', 'f', -0.0F)), NULL)",
        "array(map(1, named_struct('d', DATE '2024-01-01', 'f', 0.0F)), NULL)",
        "array(map(1, NULL))",
        "NULL",
    ],
}


@pytest.mark.parametrize(("alteration", "reason"), ALTERATIONS)
def test_a_needed_column_that_changed_is_named_and_others_are_no_matter(lab: Lab, alteration: str, reason: str) -> None:
    table = lab.table("id BIGINT NOT NULL, n INT, s STRUCT<a: INT, b: STRING>, w STRING")
    table.run("INSERT INTO {t} VALUES (1, 10, named_struct('a', 1, 'b', 'x'), 'w'), (2, 20, NULL, 'w')")
    since = table.pin()
    table.run(alteration, "DELETE FROM {t} WHERE id = 1", "INSERT INTO {t} (id, w) VALUES (3, 'v')")
    column = reason.split("'")[1]
    assert table.broken(since, ["id", column]) == reason
    assert table.check(since, ["id", "w"]) == {"[1, 'w']": -1, "[3, 'v']": 1}
    # Without a wish for columns, those of today are read, of both versions.
    assert sum(table.changes(since).values()) == 0


def test_a_change_of_schema_without_a_snapshot_is_noticed(lab: Lab) -> None:
    table = lab.table("id BIGINT, n INT")
    table.run("INSERT INTO {t} VALUES (1, 1)")
    since = table.pin()
    table.run("ALTER TABLE {t} DROP COLUMN n")
    assert table.broken(since, ["n"]) == "column 'n' was dropped"
    assert table.window(since, ["id"]).empty
    table.run("ALTER TABLE {t} ADD COLUMN n INT")
    assert table.broken(since, ["n"]) == "column 'n' is another column of the same name now"


def test_names_are_compared_as_spark_does(lab: Lab) -> None:
    table = lab.table("Id BIGINT, `odd.name ``x` STRING")
    table.run("INSERT INTO {t} VALUES (1, 'a')")
    since = table.pin()
    table.run("INSERT INTO {t} VALUES (2, 'b')", "DELETE FROM {t} WHERE Id = 1")
    assert table.changes(since, ["ID", "odd.name `x"]) == {"[2, 'b']": 1, "[1, 'a']": -1}


def test_harmless_alterations_do_not_break_the_window(lab: Lab) -> None:
    table = lab.table("id BIGINT NOT NULL, n INT")
    table.run("INSERT INTO {t} VALUES (1, 10), (2, 20)")
    since = table.pin()
    for alteration in HARMLESS:
        table.run(alteration)
    table.run("UPDATE {t} SET n = 11 WHERE id = 1")
    assert table.check(since, ["id", "n"]) == {"[1, 10]": -1, "[1, 11]": 1}
    assert table.changes(since, ["id", "extra"]) == {}


def test_an_update_of_other_columns_is_no_change(lab: Lab) -> None:
    table = lab.table("id BIGINT, n INT, other STRING")
    table.run("INSERT INTO {t} VALUES (1, 10, 'a'), (2, 20, 'b')")
    since = table.pin()
    table.run("UPDATE {t} SET other = 'z'")
    assert not table.window(since, ["id", "n"]).empty
    assert table.changes(since, ["id", "n"]) == {}


@pytest.mark.parametrize("properties", [MERGE_ON_READ, COPY_ON_WRITE], ids=["merge on read", "copy on write"])
@pytest.mark.parametrize("kind", VALUES)
def test_values_come_through_exactly(lab: Lab, kind: str, properties: dict[str, str]) -> None:
    table = lab.table(f"id INT, v {kind}", properties=properties)
    values = VALUES[kind]
    rows = [f"({number}, {value})" for number, value in enumerate(values)]
    table.run(f"INSERT INTO {{t}} VALUES {', '.join([*rows, *rows])}")
    since = table.pin()
    # Every value is turned into the next one: with `id` left out, only values tell the rows apart.
    moved = [f"({number}, {values[(number + 1) % len(values)]})" for number in range(len(values))]
    table.run("DELETE FROM {t} WHERE id >= 1", f"INSERT INTO {{t}} VALUES {', '.join(moved)}")
    table.check(since)
    table.check(since, ["v"])


def test_a_variant_cannot_be_compared_and_only_that_breaks(lab: Lab) -> None:
    table = lab.table("id INT, v VARIANT")
    table.run("INSERT INTO {t} SELECT 1, parse_json('{{\"a\": 1}}')")
    since = table.pin()
    table.run("INSERT INTO {t} SELECT 2, parse_json('[2]')")
    assert table.window(since).insert_only
    assert len(table.feed.frame(table.window(since)).collect()) == 1
    table.run("UPDATE {t} SET id = 3 WHERE id = 1")
    assert table.broken(since) == "rows were deleted or updated, and column 'v' (variant) cannot be compared"
    assert table.changes(since, ["id"]) == {"[1]": -1, "[2]": 1, "[3]": 1}
