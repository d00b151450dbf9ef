"""Folders of .sql files: reading, order, plan."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_trickle.cli.project import ChangeKind, circles, plan_changes, read_project
from spark_trickle.errors import UserError
from spark_trickle.model.stream_table import DiamondConsistency, Options, RefreshMode, Status, StreamTable
from spark_trickle.names import TableName
from spark_trickle.sql.normalize import normalized


def project(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text, encoding="utf-8")
    return folder


def existing(name: str, query: str, options: Options | None = None) -> dict[TableName, StreamTable]:
    table = StreamTable(
        name=TableName.parse(name),
        query=query,
        normalized_query=normalized(query),
        options=options or Options(),
        status=Status.ACTIVE,
        effective_mode=RefreshMode.DIFFERENTIAL,
        created_at=datetime(2026, 7, 1, tzinfo=UTC),
    )
    return {table.name: table}


def names(folder: Path) -> list[str]:
    return [str(item.makes) for item in read_project(folder)]


def test_stream_tables_come_after_those_they_read_across_files(tmp_path: Path) -> None:
    project(
        tmp_path,
        a="CREATE STREAM TABLE tip AS SELECT * FROM mid JOIN other.base2 USING (id);",
        b="CREATE STREAM TABLE mid AS SELECT * FROM v;",
        c="CREATE OR REPLACE VIEW v AS SELECT * FROM `BASE`; CREATE STREAM TABLE other.base2 AS SELECT 1 AS id;",
        d="CREATE TABLE IF NOT EXISTS base (id INT);",
    )
    assert names(tmp_path) == ["other.base2", "base", "v", "mid", "tip"]


def test_statements_without_dependencies_stay_as_written(tmp_path: Path) -> None:
    project(tmp_path, b="CREATE STREAM TABLE x AS SELECT 1; CREATE STREAM TABLE a AS SELECT 2", a="-- nothing")
    assert names(tmp_path) == ["x", "a"]


def test_stream_tables_that_mention_each_other_are_made_together(tmp_path: Path) -> None:
    text = "CREATE STREAM TABLE {} AS SELECT x FROM {};"
    folder = project(
        tmp_path,
        a=text.format("a", "last"),
        b=text.format("b", "c"),
        c=text.format("c", "b"),
        d=text.format("last", "b"),
    )
    assert names(folder) == ["b", "c", "last", "a"]
    assert circles(read_project(folder)) == [{TableName.parse("b"), TableName.parse("c")}]


def test_stream_tables_that_mention_each_other_are_kept_and_not_lost(tmp_path: Path) -> None:
    project(tmp_path, a="CREATE STREAM TABLE x AS SELECT * FROM y; CREATE STREAM TABLE y AS SELECT * FROM x")
    assert names(tmp_path) == ["x", "y"]


def test_a_plan_tells_create_alter_unchanged_and_run_apart(tmp_path: Path) -> None:
    project(
        tmp_path,
        all="""CREATE NAMESPACE IF NOT EXISTS sales;
        CREATE STREAM TABLE fresh AS SELECT 1;
        CREATE STREAM TABLE same AS select a -- comment
          from T;
        CREATE STREAM TABLE other_query AS SELECT 2;
        CREATE STREAM TABLE other_option SCHEDULE '5m' WITH (strict = true) AS SELECT 3;
        CREATE STREAM TABLE default_again AS SELECT 4""",
    )
    tables = {
        **existing("same", "SELECT a FROM T"),
        **existing("other_query", "SELECT 0"),
        **existing("other_option", "SELECT 3", Options(schedule="1m")),
        **existing("default_again", "SELECT 4", Options(schedule="1m")),
        **existing("not_in_the_folder", "SELECT 5"),
    }
    plan = plan_changes(read_project(tmp_path), tables, Options())
    assert [(change.kind, change.name, change.detail) for change in plan] == [
        (ChangeKind.RUN, "", "CREATE NAMESPACE IF NOT EXISTS sales"),
        (ChangeKind.CREATE, "fresh", ""),
        (ChangeKind.UNCHANGED, "same", ""),
        (ChangeKind.ALTER, "other_query", "query"),
        (ChangeKind.ALTER, "other_option", "schedule 1m -> 5m, strict False -> True"),
        (ChangeKind.ALTER, "default_again", "schedule 1m -> calculated"),
    ]
    assert [change.line for change in plan] == [1, 2, 3, 5, 6, 7]


def test_names_are_compared_as_spark_compares_them(tmp_path: Path) -> None:
    project(tmp_path, a="CREATE STREAM TABLE `Totals` AS SELECT 1")
    plan = plan_changes(read_project(tmp_path), existing("totals", "SELECT 1"), Options())
    assert plan[0].kind is ChangeKind.UNCHANGED


def test_an_option_that_is_not_written_means_the_default_of_the_settings(tmp_path: Path) -> None:
    project(tmp_path, a="CREATE STREAM TABLE t AS SELECT 1")
    defaults = Options(diamond_consistency=DiamondConsistency.NONE)
    assert plan_changes(read_project(tmp_path), existing("t", "SELECT 1", defaults), defaults)[0].detail == ""
    assert "atomic -> none" in plan_changes(read_project(tmp_path), existing("t", "SELECT 1"), defaults)[0].detail


@pytest.mark.parametrize("statement", ["INSERT INTO t VALUES (1)", "DROP STREAM TABLE t", "CREATE TABLE t (x INT)"])
def test_what_is_not_safe_to_repeat_is_refused_with_its_place(tmp_path: Path, statement: str) -> None:
    project(tmp_path, a=f"-- first\n\n{statement};")
    with pytest.raises(UserError, match=r"^a\.sql:3: .*trickle sql"):
        read_project(tmp_path)


def test_a_fault_is_reported_with_file_and_line(tmp_path: Path) -> None:
    project(tmp_path, a="\nCREATE STREAM TABLE t\n  REFRESH MODE SOMETIMES\nAS SELECT 1")
    with pytest.raises(UserError, match=r"^a\.sql:3: expected a refresh mode"):
        read_project(tmp_path)


def test_one_name_declared_twice_is_refused_naming_both_places(tmp_path: Path) -> None:
    project(tmp_path, a="CREATE STREAM TABLE t AS SELECT 1", b="\nCREATE STREAM TABLE T AS SELECT 2")
    with pytest.raises(UserError, match=r"a\.sql:1 and b\.sql:2"):
        read_project(tmp_path)


def test_a_folder_without_sql_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no \.sql files"):
        read_project(tmp_path)
