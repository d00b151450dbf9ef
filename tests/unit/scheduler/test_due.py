"""When stream tables and units are due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.model.stream_table import DiamondSchedulePolicy, Options, RefreshMode, StreamTable
from spark_trickle.names import TableName
from spark_trickle.scheduler.backoff import delay
from spark_trickle.scheduler.due import AT_ONCE, NEVER, Rhythm, due_at, rhythms, slowed_after, unit_due_at
from tests.support.catalog_values import NOON, stream_table

DEFAULT = timedelta(seconds=1)
FASTEST, SLOWEST = DiamondSchedulePolicy.FASTEST, DiamondSchedulePolicy.SLOWEST


def seconds(n: float) -> timedelta:
    return timedelta(seconds=n)


def table(name: str, schedule: str = "calculated", reads: tuple[str, ...] = ("orders",)) -> StreamTable:
    return stream_table(name, reads, options=Options(schedule=schedule), data_timestamp=NOON, last_refresh_at=NOON)


def by_name(*tables: StreamTable) -> dict[TableName, StreamTable]:
    return {each.name: each for each in tables}


def rhythm(name: str, *tables: StreamTable) -> Rhythm:
    return rhythms(by_name(*tables), DEFAULT)[TableName.parse(name)]


def test_a_duration_is_due_that_long_after_the_last_refresh() -> None:
    assert due_at(rhythm("a", table("a", "1h30m")), NOON) == NOON + timedelta(hours=1, minutes=30)


def test_what_was_never_refreshed_is_due_at_once() -> None:
    assert due_at(Rhythm(seconds(60)), None) == AT_ONCE


def test_a_cron_line_is_due_when_it_comes_round_after_the_last_refresh() -> None:
    at_two = rhythm("a", table("a", "0 2 * * *"))
    assert due_at(at_two, NOON) == datetime(2026, 3, 2, 2, tzinfo=UTC)
    with_seconds = rhythm("a", table("a", "*/10 * * * * *"))
    assert due_at(with_seconds, datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)) == NOON.replace(second=10, microsecond=0)


def test_a_cron_line_that_came_round_while_there_was_nothing_to_do_is_served() -> None:
    at_two = rhythm("a", table("a", "0 2 * * *"))
    quiet = datetime(2026, 3, 2, 2, 5, tzinfo=UTC)
    assert due_at(at_two, NOON, quiet=quiet) == datetime(2026, 3, 3, 2, tzinfo=UTC)


def test_calculated_is_the_smallest_schedule_of_those_that_read_it_near_and_far() -> None:
    tables = (
        table("a"),
        table("b", "5m", reads=("a",)),
        table("c", reads=("a",)),
        table("d", "2m", reads=("c",)),
    )
    assert rhythm("a", *tables) == Rhythm(seconds(120))
    assert rhythm("c", *tables) == Rhythm(seconds(120))


def test_calculated_without_any_reader_is_the_default_which_nobody_declared() -> None:
    assert rhythm("a", table("a")) == Rhythm(DEFAULT, declared=False)


def test_calculated_takes_over_the_cron_lines_of_its_readers() -> None:
    tables = (table("a"), table("b", "0 2 * * *", reads=("a",)), table("c", "1d", reads=("a",)))
    assert rhythm("a", *tables) == Rhythm(timedelta(days=1), frozenset({"0 2 * * *"}))


def test_an_immediate_stream_table_hands_on_what_its_readers_want() -> None:
    between = stream_table("b", ("a",), options=Options(schedule="1h"), effective_mode=RefreshMode.IMMEDIATE)
    assert rhythm("a", table("a"), between, table("c", "7s", reads=("b",))) == Rhythm(seconds(7))


def test_a_circle_of_calculated_ones_ends() -> None:
    found = rhythms(by_name(table("a", reads=("b",)), table("b", reads=("a",))), DEFAULT)
    assert {each.interval for each in found.values()} == {DEFAULT}


@given(
    st.lists(
        st.tuples(st.sampled_from(["calculated", "2s", "30s", "5m", "1h"]), st.sets(st.integers(0, 12))), max_size=13
    )
)
def test_calculated_is_what_following_every_path_down_finds(drawn: list[tuple[str, set[int]]]) -> None:
    tables = by_name(
        *(
            table(f"t{i}", schedule, reads=("orders", *(f"t{above}" for above in sorted(reads) if above < i)))
            for i, (schedule, reads) in enumerate(drawn)
        )
    )
    plain = {"2s": 2, "30s": 30, "5m": 300, "1h": 3600}

    def slowly(name: TableName) -> float:
        schedule = tables[name].options.schedule
        readers = [each.name for each in tables.values() if name in {s.table for s in each.sources}]
        return plain[schedule] if schedule in plain else min((slowly(each) for each in readers), default=1)

    found = rhythms(tables, DEFAULT)
    assert {name: each.interval for name, each in found.items()} == {name: seconds(slowly(name)) for name in tables}


def due(policy: DiamondSchedulePolicy, *moments: datetime) -> datetime:
    members = [table(f"m{i}") for i in range(len(moments))]
    return unit_due_at(members, {m.name: at for m, at in zip(members, moments, strict=True)}, policy)


def test_is_group_due_fastest_any_triggers() -> None:
    assert due(FASTEST, NOON + seconds(60), NOON, NOON + seconds(5)) == NOON


def test_is_group_due_slowest_all_required() -> None:
    assert due(SLOWEST, NOON + seconds(60), NOON, NOON + seconds(5)) == NOON + seconds(60)


def test_is_group_due_singleton_bypass() -> None:
    assert due(FASTEST, NOON) == due(SLOWEST, NOON) == NOON


@pytest.mark.parametrize("policy", DiamondSchedulePolicy)
def test_a_member_that_holds_nothing_yet_makes_its_group_due_at_once(policy: DiamondSchedulePolicy) -> None:
    members = [table("a"), stream_table("b")]
    assert unit_due_at(members, {m.name: NEVER for m in members}, policy) == AT_ONCE


def test_a_refresh_that_takes_longer_than_its_schedule_slows_down_up_to_eight_times_until_one_is_in_time() -> None:
    every_ten = Rhythm(seconds(10))
    factors = [1]
    for took in (11, 12, 13, 14, 15, 10, 11):
        factors.append(slowed_after(factors[-1], every_ten, seconds(took)))
    assert factors == [1, 2, 4, 8, 8, 8, 1, 2]
    assert due_at(every_ten, NOON, slowed=4) == NOON + seconds(40)


def test_the_default_is_no_promise_that_a_refresh_could_miss() -> None:
    assert slowed_after(1, Rhythm(DEFAULT, declared=False), seconds(100)) == 1
    assert slowed_after(1, Rhythm(None, frozenset({"@hourly"})), seconds(10_000)) == 1


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waiting_after_failures_doubles_from_a_second_to_a_minute_give_or_take_a_quarter(n: int, chance: float) -> None:
    wait = delay(n, chance).total_seconds()
    plain = min(60.0, 2.0 ** min(n - 1, 10))
    assert plain * 0.75 <= wait <= min(60.0, plain * 1.25)
