"""What is held of tiny tables: by version, within bounds, and found again as Spark would find it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.spark.execution.held import Contents, Held, changed, places
from spark_trickle.storage.newest import size_in_bytes

SCHEMA = t.StructType([t.StructField("k", t.LongType()), t.StructField("d", t.DoubleType())])
Rows = list[tuple[int | None, float | None]]


def table(rows: Rows) -> pa.Table:
    return pa.table(
        {"k": pa.array([r[0] for r in rows], pa.int64()), "d": pa.array([r[1] for r in rows], pa.float64())}
    )


def delta(rows: Rows, weights: list[int]) -> pa.Table:
    return table(rows).append_column(WEIGHT, pa.array(weights, pa.int64()))


def version(snapshot: int, schema: int = 0, uuid: str = "u") -> Pin:
    return Pin(TableName.parse("t"), uuid, snapshot, schema, "")


def contents(rows: int) -> Contents:
    return Contents(table([(n, 0.5) for n in range(rows)]), SCHEMA)


def test_contents_belong_to_one_version() -> None:
    held = Held(10)
    held.put(version(1), contents(3))
    assert held.get(version(1)) is not None
    for other in (version(2), version(1, schema=1), version(1, uuid="another")):
        assert held.get(other) is None


def test_what_is_not_tiny_is_not_held() -> None:
    held = Held(10)
    held.put(version(1), contents(11))
    assert held.get(version(1)) is None


def test_memory_is_bounded_and_what_was_not_asked_for_goes_first() -> None:
    held = Held(10, most_bytes=2 * size_in_bytes(contents(10).rows))
    held.put(version(1), contents(10))
    held.put(version(2), contents(10))
    assert held.get(version(1)) is not None
    held.put(version(3), contents(10))
    assert [held.get(version(n)) is not None for n in (1, 2, 3)] == [True, False, True]


@pytest.mark.parametrize(
    ("rows", "removed", "weights", "key", "found"),
    [
        ([(1, 0.5), (1, 0.5), (1, 0.5)], [(1, 0.5)], [-2], (), [0, 1]),
        ([(1, 0.5)], [(1, 0.5)], [-2], (), [0]),
        ([(None, None), (1, None)], [(None, None)], [-1], (), [0]),
        ([(1, 0.0), (1, -0.0)], [(1, -0.0)], [-1], (), [1]),
        ([(1, 0.5), (1, float("nan"))], [(1, float("nan"))], [-1], (), [1]),
        ([(1, 0.5), (2, 0.5)], [(2, 0.7), (3, 0.1)], [-1, 1], ("k",), [1]),
        ([(1, 0.5), (None, 0.5)], [(None, 9.0)], [-1], ("k",), [1]),
        ([(1, 0.0), (2, float("nan"))], [(7, -0.0), (7, float("nan"))], [-1, -1], ("d",), [0, 1]),
    ],
)
def test_rows_are_found_where_they_are(
    rows: Rows, removed: Rows, weights: list[int], key: tuple[str, ...], found: list[int]
) -> None:
    assert places(table(rows), delta(removed, weights), key) == found


def test_the_first_moment_of_all_is_found_in_any_time_zone() -> None:
    first = pa.scalar(-62135596800000000, pa.int64()).cast(pa.timestamp("us", tz="America/New_York"))
    rows = pa.table({"at": pa.array([first, None]), "day": pa.array([-719162, None], pa.int32()).cast(pa.date32())})
    gone = rows.append_column(WEIGHT, pa.array([-1, 0], pa.int64()))
    assert places(rows, gone, ()) == [0]


VALUES = st.tuples(
    st.one_of(st.none(), st.integers(0, 2)), st.sampled_from([None, 0.0, -0.0, 0.5, float("nan"), float("inf")])
)


@given(st.lists(VALUES, max_size=8), st.lists(VALUES, max_size=8), st.data())
def test_taking_away_and_adding_gives_the_rows_that_were_wanted(before: Rows, came: Rows, data: st.DataObject) -> None:
    gone = data.draw(st.lists(st.sampled_from(before), unique_by=id, max_size=len(before)) if before else st.just([]))
    where = places(table(before), delta(gone, [-1] * len(gone)), ())
    assert len(where) == len(set(where)) == len(gone)
    expected = list(map(repr, before))
    for row in gone:
        expected.remove(repr(row))
    now = changed(table(before), where, table(came)).to_pydict()
    assert sorted(repr(row) for row in zip(now["k"], now["d"], strict=True)) == sorted([*expected, *map(repr, came)])
