"""How a history is cut and how files of two versions are told apart, without a lake."""

from __future__ import annotations

import pytest

from spark_trickle.errors import NotFoundError
from spark_trickle.storage.columns import Column, Json, changed_column, incomparable, read_columns
from spark_trickle.storage.windows import Comparison, DeleteFile, FileState, Snapshot, Stretch, compare, stretches


def history(*operations: str) -> dict[int, Snapshot]:
    """Snapshots 1, 2, 3 ... each made from the one before."""
    return {
        number: Snapshot(number, number - 1 or None, operation, 0)
        for number, operation in enumerate(operations, start=1)
    }


def vector(location: str, rows: int) -> DeleteFile:
    return DeleteFile(location, "4", "POSITION_DELETES", rows)


def values(location: str, rows: int = 1) -> DeleteFile:
    return DeleteFile(location, "", "EQUALITY_DELETES", rows)


def compared(before: FileState, after: FileState, *, linear: bool = True) -> Comparison:
    return compare([before], [after], linear=linear)


def test_appends_are_one_stretch() -> None:
    assert stretches(history("append", "append", "append"), 1, 3) == [Stretch(1, 3, appends_only=True, linear=True)]


def test_compactions_are_stepped_over() -> None:
    path = history("append", "replace", "append", "delete", "replace", "replace", "append", "replace")
    assert stretches(path, 1, 8) == [Stretch(2, 4, False, True), Stretch(6, 7, True, True)]
    assert stretches(path, 4, 6) == []
    assert stretches(path, 3, 3) == []


def test_the_empty_table_and_a_broken_line_are_compared_end_to_end() -> None:
    path = history("append", "delete", "append")
    assert stretches(path, None, 2) == [Stretch(None, 2, False, False)]
    assert stretches(path, 3, 1) == [Stretch(3, 1, False, False)]
    del path[2]
    assert stretches(path, 1, 3) == [Stretch(1, 3, False, False)]


def test_files_are_told_apart_by_presence_and_by_deletes() -> None:
    before = [
        FileState("a", 10),
        FileState("b", 20),
        FileState("c", 30),
        FileState("d", 40, frozenset({vector("v", 3)})),
    ]
    after = [
        FileState("b", 20, frozenset({vector("w", 2)})),
        FileState("c", 30),
        FileState("d", 40, frozenset({vector("x", 5)})),
        FileState("e", 7),
    ]
    found = compare(before, after, linear=True)
    assert (found.added, found.removed) == ((3,), (0,))
    assert (found.touched_before, found.touched_after, found.revives) == ((3,), (0, 2), False)
    assert (found.inserted_rows, found.deleted_rows, found.before_rows) == (7, 10 + 2 + 2, 3)


def test_deletes_by_value_may_take_the_whole_file() -> None:
    found = compared(FileState("a", 10), FileState("a", 10, frozenset({values("v")})))
    assert (found.deleted_rows, found.revives) == (10, False)


@pytest.mark.parametrize(
    ("after", "linear", "revives"),
    [
        pytest.param(frozenset({vector("w", 5)}), True, False, id="a vector that grew"),
        pytest.param(frozenset({vector("w", 5)}), False, True, id="another line of history"),
        pytest.param(frozenset[DeleteFile](), True, True, id="a vector that is gone"),
        pytest.param(frozenset({values("w")}), True, True, id="a vector gone for a delete by value"),
    ],
)
def test_rows_may_come_back_only_where_deletes_went(after: frozenset[DeleteFile], linear: bool, revives: bool) -> None:
    before = FileState("a", 10, frozenset({vector("v", 3)}))
    assert compared(before, FileState("a", 10, after), linear=linear).revives is revives


def test_required_and_comments_are_not_part_of_a_type() -> None:
    def schema(**extra: bool) -> dict[str, Column]:
        inner: Json = {"type": "list", "element-id": 2, "element": "int", "element-required": bool(extra)}
        return read_columns({"fields": [{"id": 1, "name": "A", "type": inner, **extra}]})

    assert changed_column(schema(required=True), schema(), ["a"]) is None


def test_a_column_that_never_was_is_an_error_and_a_new_one_is_not() -> None:
    now = {"a": Column(1, "a", "int")}
    with pytest.raises(NotFoundError, match="column 'b' does not exist"):
        changed_column(now, now, ["b"])
    assert changed_column({}, now, ["a"]) is None


def test_variants_are_found_inside_other_types_but_not_in_names() -> None:
    def column(type_: str, name: str) -> dict[str, Column]:
        return {"c": Column(1, "c", {"type": "struct", "fields": [{"id": 2, "name": name, "type": type_}]})}

    assert incomparable(column("variant", "x"), ["c"]) is not None
    assert incomparable(column("int", "variant"), ["c"]) is None
