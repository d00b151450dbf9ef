"""The cache of rows finds what a look at all rows finds, whatever is deleted, evicted, damaged or half-written."""

from __future__ import annotations

import datetime
import decimal
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_trickle.rows.cache import FILE, PLACE, Kind, LiveFile, RowCache
from spark_trickle.rows.encoding import decoded, encoded
from spark_trickle.rows.keys import Wanted
from spark_trickle.rows.pieces import DataFile

KEY, TEXT, PRICE = Kind("1", pa.int64()), Kind("2", pa.string()), Kind("3", pa.decimal128(12, 2))
LARGE = 1 << 30
NOBODY = np.empty(0, np.int64)

Row = tuple[int | None, str | None, decimal.Decimal | None]
some_keys = st.one_of(st.none(), st.integers(-4, 4), st.sampled_from([-(2**63), 2**63 - 1]))
some_prices = st.one_of(st.none(), st.decimals(-99, 99, places=2), st.just(decimal.Decimal("-9999999999.99")))
some_rows = st.lists(st.tuples(some_keys, st.one_of(st.none(), st.sampled_from(["", "a", "é", "\x00"])), some_prices))


def columns(rows: list[Row]) -> dict[Kind, pa.Array]:
    return {kind: pa.array([row[at] for row in rows], kind.type) for at, kind in enumerate((KEY, TEXT, PRICE))}


def filled(cache: RowCache, files: dict[str, list[Row]]) -> list[DataFile]:
    made = [DataFile("u", name, len(rows)) for name, rows in files.items()]
    for file, rows in zip(made, files.values(), strict=True):
        if rows:
            cache.put(file, columns(rows))
    return made


def answer(table: pa.Table | None) -> list[tuple[Any, ...]]:
    """What was found, without where it is."""
    assert table is not None
    return [tuple(row.values()) for row in table.drop_columns([FILE, PLACE]).to_pylist()]


@given(files=st.lists(some_rows, max_size=3), key=st.sampled_from([0, 1]), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_found_is_what_all_rows_say(files: list[list[Row]], key: int, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    wanted = data.draw(st.lists(some_keys if key == 0 else st.sampled_from(["", "a", "b", None]), max_size=12))
    kind = (KEY, TEXT)[key]
    with tempfile.TemporaryDirectory() as folder:
        cache = RowCache(Path(folder), LARGE)
        made = filled(cache, {f"s3://x/{number}": rows for number, rows in enumerate(files)})
        dead = [np.flatnonzero(random.random(len(rows)) < 0.3) for rows in files]
        expected = [
            (*row, file.location, place)
            for file, rows, gone in zip(made, files, dead, strict=True)
            for place, row in enumerate(rows)
            if row[key] is not None and row[key] in wanted and place not in gone
        ]
        live = [LiveFile(file, gone) for file, gone in zip(made, dead, strict=True)]
        for again in (cache, RowCache(Path(folder), LARGE)):
            found = again.find(live, kind, Wanted.of(pa.array(wanted, kind.type)), [KEY, TEXT, PRICE], 10_000)
            assert found is not None and [tuple(row.values()) for row in found.to_pylist()] == expected


@given(rows=some_rows)
def test_columns_come_back_as_they_went(rows: list[Row]) -> None:
    for kind, values in columns(rows * 9).items():
        assert decoded(encoded(values), kind.type).equals(values)
        assert decoded(encoded(values.slice(1)), kind.type).equals(values.slice(1))


def test_days_and_shorter_integers_are_keys_too(tmp_path: Path) -> None:
    cache, file = RowCache(tmp_path, LARGE), DataFile("u", "f", 3)
    day = Kind("d", pa.date32())
    days = [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]
    cache.put(file, {day: pa.array(days, pa.date32())})
    found = cache.find([LiveFile(file, NOBODY)], day, Wanted.of(pa.array(days[2:], pa.date32())), [day], 9)
    assert answer(found) == [(days[2],)]
    short = Kind("s", pa.int32())
    cache.put(file, {short: pa.array([7, None, -7], pa.int32())})
    wanted = Wanted.of(pa.array([2**40, -7, None], pa.int64()))
    assert answer(cache.find([LiveFile(file, NOBODY)], short, wanted, [short], 9)) == [(-7,)]


def test_too_many_rows_are_told_before_they_are_gathered(tmp_path: Path) -> None:
    cache = RowCache(tmp_path, LARGE)
    file = filled(cache, {"f": [(1, "a", None)] * 10})[0]
    wanted = Wanted.of(pa.array([1]))
    assert cache.find([LiveFile(file, NOBODY)], KEY, wanted, [KEY], 9) is None
    assert cache.find([LiveFile(file, np.array([0]))], KEY, wanted, [KEY], 9) is not None


def test_what_is_not_there_is_missing_and_never_an_answer(tmp_path: Path) -> None:
    cache = RowCache(tmp_path, LARGE)
    file = filled(cache, {"f": [(1, "a", None)]})[0]
    other, column = DataFile("u", "g", 1), Kind("9", pa.int64())
    assert cache.missing([file, other, DataFile("u", "empty", 0)], [KEY, column]) == {
        file: (column,),
        other: (KEY, column),
    }
    wanted = Wanted.of(pa.array([1]))
    assert cache.find([LiveFile(file, NOBODY), LiveFile(other, NOBODY)], KEY, wanted, [KEY], 9) is None
    assert cache.find([LiveFile(file, NOBODY)], KEY, wanted, [column], 9) is None
    assert cache.missing([replace(file, table="another table with that file")], [KEY])
    assert cache.unsorted([file, other], KEY) == [other], "a lookup has put the keys in order"


@pytest.mark.parametrize("harm", ["cut", "empty", "other", "garbage", "gone", "unfinished"])
def test_what_was_harmed_is_as_if_it_had_never_been_there(harm: str, tmp_path: Path) -> None:
    files: dict[str, list[Row]] = {"f": [(1, "a", None)] * 50, "g": [(2, "b", None)] * 50}
    made = filled(RowCache(tmp_path, LARGE), files)
    first, second = sorted(tmp_path.glob("*.rows"))
    content = first.read_bytes()
    match harm:
        case "cut":
            first.write_bytes(content[: len(content) // 2])
        case "empty":
            first.write_bytes(b"")
        case "other":
            first.write_bytes(second.read_bytes())
        case "garbage":
            first.write_bytes(b"\xff" * len(content))
        case "gone":
            first.unlink()
        case "unfinished":
            first.rename(tmp_path / "x.part")
    cache = RowCache(tmp_path, LARGE)
    assert len(cache.missing(made, [KEY])) == 1
    filled(cache, files)
    live = [LiveFile(file, NOBODY) for file in made]
    assert len(answer(cache.find(live, KEY, Wanted.of(pa.array([1, 2])), [KEY], 999))) == 100


def test_a_folder_that_is_deleted_while_it_is_used_is_filled_again(tmp_path: Path) -> None:
    cache = RowCache(tmp_path / "deep" / "rows", LARGE)
    file = filled(cache, {"f": [(1, "a", None)]})[0]
    for piece in (tmp_path / "deep" / "rows").iterdir():
        piece.unlink()
    (tmp_path / "deep" / "rows").rmdir()
    wanted = Wanted.of(pa.array([1]))
    assert cache.find([LiveFile(file, NOBODY)], KEY, wanted, [KEY], 9) is None
    assert cache.missing([file], [KEY]) == {file: (KEY,)}
    filled(cache, {"f": [(1, "a", None)]})
    assert answer(cache.find([LiveFile(file, NOBODY)], KEY, wanted, [KEY], 9)) == [(1,)]


def test_the_least_recently_used_goes_when_there_is_no_room(tmp_path: Path) -> None:
    one = RowCache(tmp_path / "one", LARGE)
    filled(one, {"f": [(1, "a", None)] * 1000})
    cache = RowCache(tmp_path / "few", 3 * one.bytes)
    files = filled(cache, {name: [(1, "a", None)] * 1000 for name in "abcdefgh"})
    assert cache.bytes <= 3 * one.bytes and cache.let_go >= 5
    assert cache.bytes == sum(path.stat().st_size for path in (tmp_path / "few").iterdir())
    assert files[0] in cache.missing(files, [KEY]) and files[-1] not in cache.missing(files, [KEY])
    again = RowCache(tmp_path / "few", one.bytes)
    assert again.bytes <= one.bytes, "who opens it with less room makes that room"


def test_threads_look_up_while_others_fill_and_evict(tmp_path: Path) -> None:
    one = RowCache(tmp_path / "one", LARGE)
    rows: list[Row] = [(n % 7, "a", None) for n in range(700)]
    filled(one, {"f": rows})
    cache = RowCache(tmp_path / "few", 4 * one.bytes)
    wanted, wrong = Wanted.of(pa.array([3])), list[object]()

    def work(seed: int) -> None:
        for number in range(30):
            file = filled(cache, {f"f{(seed * number) % 9}": rows})[0]
            found = cache.find([LiveFile(file, NOBODY)], KEY, wanted, [KEY, TEXT], 1000)
            if found is not None and answer(found) != [(3, "a")] * 100:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_column_that_moves_to_another_piece_is_never_read_as_its_neighbour(tmp_path: Path) -> None:
    """Somebody keeps the same columns once more, in another order, while others look up."""
    cache, file = RowCache(tmp_path / "rows", LARGE), DataFile("u", "f", 200)
    other = Kind("4", pa.int64())
    both = {KEY: pa.array(range(200)), other: pa.array(range(1000, 1200))}
    turned = dict(reversed(both.items()))
    cache.put(file, both)
    wanted, wrong, over = Wanted.of(pa.array([3])), list[object](), threading.Event()

    def look() -> None:
        while not over.is_set():
            found = cache.find([LiveFile(file, NOBODY)], KEY, wanted, [KEY, other], 9)
            if answer(found) != [(3, 1003)]:
                wrong.append(found)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for looker in lookers:
            looker.start()
        for number in range(60):
            cache.put(file, both if number % 2 else turned)
    finally:
        over.set()
        sys.setswitchinterval(before)
    for looker in lookers:
        looker.join()
    assert not wrong


def test_a_disk_that_cannot_be_written_turns_the_cache_off_and_fails_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    cache = RowCache(tmp_path / "file" / "rows", LARGE)
    file = filled(cache, {"f": [(1, "a", None)]})[0]
    assert cache.most_bytes == 0 and "is off until the next start" in caplog.text
    assert cache.find([LiveFile(file, NOBODY)], KEY, Wanted.of(pa.array([1])), [KEY], 9) is None
