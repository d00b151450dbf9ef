"""What was looked up before is added to, not looked up again."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from spark_trickle.spark import lookups

SCHEMA = t.StructType([t.StructField("k", t.IntegerType()), t.StructField("v", t.StringType())])


def found(*rows: tuple[int, str], keys: tuple[int, ...]) -> lookups._Found:
    columns = {"k": pa.array([k for k, _ in rows], pa.int32()), "v": pa.array([v for _, v in rows], pa.string())}
    return lookups._Found("k", pa.array(keys, pa.int64()), pa.table(columns), SCHEMA)


def rows_of(there: lookups._Found) -> list[tuple[int, str]]:
    assert there.rows is not None
    return [tuple(row.values()) for row in there.rows.to_pylist()]


FORMER = found((1, "a"), (1, "a"), (2, "b"), keys=(1, 2, 3))


def test_rows_of_other_keys_come_to_those_that_are_known() -> None:
    both = FORMER.with_more(found((4, "c"), keys=(4, 5)), pa.array([2, 4, 5], pa.int64()))
    assert rows_of(both) == [(1, "a"), (1, "a"), (2, "b"), (4, "c")]
    assert both.serves(pa.array([1, 3, 5], pa.int64()), ("v",))
    assert not both.serves(pa.array([1, 6], pa.int64()), ("v",))
    assert not both.serves(pa.array([1], pa.int64()), ("w",))


def test_should_all_be_too_many_those_that_are_asked_for_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MOST_ROWS", 3)
    wanted = pa.array([2, 4], pa.int64())
    both = FORMER.with_more(found((4, "c"), keys=(4,)), wanted)
    assert rows_of(both) == [(2, "b"), (4, "c")]
    assert both.serves(wanted, ("k", "v")) and not both.serves(pa.array([1], pa.int64()), ("v",))
    monkeypatch.setattr(lookups, "MOST_ROWS", 1)
    assert FORMER.with_more(found((4, "c"), keys=(4,)), wanted).rows is None


def test_keys_of_a_change_are_not_added_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MOST_KEYS", 3)
    keys = pa.array([1, 2], pa.int64())
    rows = pa.table(
        {"a": pa.array([2, None, 3], pa.int32()), "b": pa.array([7, 8, 9], pa.int32()), "c": ["1", "2", "3"]}
    )
    assert lookups._with_keys(keys, rows, {"a", "b", "c", "other"}).to_pylist() == [1, 2, 3]
