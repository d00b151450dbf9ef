"""The bench beside other engines without any engine: answers are compared, what was measured is shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlglot import exp

from bench.peers.__main__ import for_flink
from bench.peers.answers import difference
from bench.peers.needs import COLUMNS, DATES, DECIMALS, KEYS, QUERIES, TEXTS, WEIGHT
from bench.peers.process import Measured, Memory
from bench.peers.report import Change, Story, show
from bench.peers.stream import debezium
from bench.tpch import queries
from spark_trickle.sql.parse import parse_query

ANSWER = [["A", "F", "1.50", "25.522006", "3"], ["N", "O", "7.00", "1.000000", "2"]]


def test_the_order_of_rows_and_how_numbers_are_written_do_not_count() -> None:
    assert difference(ANSWER, [["N", "O", "7.0000", "1", "2"], ["A", "F", "1.5", "25.522006", "3"]]) is None


def test_an_average_may_differ_in_its_last_digit_and_a_sum_in_none() -> None:
    assert difference(ANSWER, [["A", "F", "1.50", "25.522005", "3"], ANSWER[1]]) is None
    said = difference(ANSWER, [["A", "F", "1.51", "25.522006", "3"], ANSWER[1]])
    assert said == "A, F, 1.51, 25.522006, 3 instead of A, F, 1.50, 25.522006, 3"


def test_rows_that_are_missing_and_other_names_are_different() -> None:
    assert difference(ANSWER, ANSWER[:1]) == "1 rows instead of 2"
    assert difference(ANSWER, [["A", "F", "1.50", "25.522006", "3"], ["R", "O", "7.00", "1.000000", "2"]])
    assert difference([["None"]], [["1.00"]]) == "1.00 instead of None"


@pytest.mark.parametrize("number", QUERIES)
def test_peers_are_given_the_columns_that_a_query_reads_and_its_keys(number: int) -> None:
    query = parse_query(queries.text(number))
    outputs = {select.alias for select in query.selects}
    read = {column.name for column in query.find_all(exp.Column)} - outputs | (
        DATES & {"o_orderdate"} if number == 3 else set()
    )
    given = {name for columns in COLUMNS[number].values() for name in columns}
    keys = {name for table, columns in COLUMNS[number].items() for name in columns[: KEYS[table]]}
    assert read <= given
    assert given - read <= keys
    assert set(COLUMNS[number]) == {table.name for table in query.find_all(exp.Table)}


def test_a_column_has_one_type() -> None:
    assert not (DECIMALS & DATES or DECIMALS & TEXTS or DATES & TEXTS)


def test_flink_is_asked_for_no_order_but_that_of_a_limit() -> None:
    assert "ORDER BY" not in for_flink(queries.text(1))
    assert for_flink(queries.text(3)) == queries.text(3)
    assert for_flink(queries.text(6)) == queries.text(6)


def test_changed_rows_are_written_as_debezium_does_those_that_went_first() -> None:
    rows: list[dict[str, object]] = [{"k": 1, "v": "new", WEIGHT: 1}, {"k": 1, "v": "old", WEIGHT: -1}]
    assert [json.loads(line) for line in debezium(rows)] == [
        {"op": "d", "before": {"k": 1, "v": "old"}, "after": None},
        {"op": "c", "before": None, "after": {"k": 1, "v": "new"}},
    ]


def story(engine: str, *changes: tuple[float | None, float], wrong: tuple[str, ...] = ()) -> Story:
    return Story(engine, 1, 12.0, 8.0, tuple(Change(*each) for each in changes), Memory(900, 1200), 5.0, 4.0, wrong)


def test_the_first_change_warms_up_and_what_was_not_seen_has_no_latency() -> None:
    told = story("flink", (9.0, 9.0), (None, 0.5), (0.25, 0.25), (0.35, 0.75))
    assert told.cpu_s == 0.5
    assert told.latency_s == pytest.approx(0.3)
    assert story("flink", (9.0, 9.0), (None, 0.5)).latency_s is None


def test_the_table_shows_each_engine_with_its_answers_and_what_was_wrong() -> None:
    shown = show([story("ours", (2.0, 3.0), (1.0, 1.5)), story("peer", (None, 0.5), wrong=("after batch 1: 1 row",))])
    assert "ours    12.0 s (8.0)  1,000 ms  1.50 s  900 MB  1,200 MB  5.0 s (4.0)  4 of 4 right" in shown
    assert "peer    12.0 s (8.0)  not seen  0.50 s  900 MB  1,200 MB  5.0 s (4.0)  2 of 3 right" in shown
    assert shown.endswith("WRONG: peer q01 after batch 1: 1 row")


def test_a_measured_process_counts_its_children_and_can_be_ended(tmp_path: Path) -> None:
    busy = "x = 0\nfor i in range(3_000_000): x += i\n"
    parent = (
        "import subprocess, sys\nfrom bench.peers.wire import Wire\nwire = Wire()\n"
        f"child = subprocess.run([sys.executable, '-c', {busy!r}])\nwire.answer([(1, 'a')])\n"
        "for batch in wire.batches(): wire.done(batch)\n"
    )
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = Measured([sys.executable, "-c", parent], tmp_path / "log", environment)
    try:
        first = process.next_event(60)
        assert first is not None and first.answer == (("1", "a"),)
        assert process.cpu_s() > 0.05
        assert 1 < process.memory().now_mb <= process.memory().peak_mb
        process.send(3)
        second = process.next_event(60)
        assert second is not None and second.done == 3
    finally:
        process.kill()
    with pytest.raises(RuntimeError, match="ended with -9"):
        process.next_event(60)


@pytest.mark.parametrize("module", ["needs", "wire"])
def test_what_peers_import_needs_nothing_installed(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import bench.peers.{module}"], check=False, cwd=Path(__file__).parents[3]
    )
    assert done.returncode == 0
