"""Functions that users register are there when stream tables are made and refreshed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark import cloudpickle
from pyspark.sql.functions import udf
from pyspark.sql.types import IntegerType

from spark_trickle.engine import Engine
from spark_trickle.errors import NotDifferentialError, StreamTableError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode
from spark_trickle.spark.queries.fingerprints import of_command
from tests.spark.engines import assert_equals_query, values


@pytest.fixture
def numbers(engine: Engine) -> Iterator[Engine]:
    engine.sql("CREATE TABLE numbers (g STRING, n INT); INSERT INTO numbers VALUES ('a', 1), ('a', 2), ('b', NULL)")
    yield engine


def test_a_deterministic_function_of_the_user_is_kept_differentially(numbers: Engine) -> None:
    numbers.spark.udf.register("doubled", lambda n: None if n is None else 2 * n, "int")
    made = numbers.create_stream_table("twice", "SELECT g, doubled(n) AS d FROM numbers WHERE doubled(n) > 2")
    assert made.effective_mode is RefreshMode.DIFFERENTIAL
    numbers.sql("INSERT INTO numbers VALUES ('c', 7); DELETE FROM numbers WHERE n = 2")
    assert numbers.refresh_stream_table("twice").action is Action.DIFFERENTIAL
    assert_equals_query(numbers, "twice")
    assert values(numbers, "SELECT d FROM twice") == [(14,)]


def test_a_function_that_says_it_is_not_deterministic_is_refused(numbers: Engine) -> None:
    numbers.spark.udf.register("guess", udf(lambda n: n, IntegerType()).asNondeterministic())
    with pytest.raises(StreamTableError, match="not deterministic"):
        numbers.create_stream_table("guesses", "SELECT guess(n) AS n FROM numbers", refresh_mode="DIFFERENTIAL")


def test_a_function_whose_body_was_changed_is_noticed(numbers: Engine) -> None:
    factor = 2

    def times(n: int | None) -> int | None:
        return None if n is None else factor * n

    register = numbers.spark.udf.register
    register("times", times, "int")
    made = numbers.create_stream_table("timed", "SELECT g, times(n) AS d FROM numbers")
    assert made.effective_mode is RefreshMode.DIFFERENTIAL
    assert any("'times'" in notice and "changed" in notice for notice in made.notices)
    wary = numbers.create_stream_table("wary", "SELECT TIMES(n) AS d FROM numbers", strict=True)
    assert [name for name, _ in wary.functions] == ["times"]
    plain = numbers.create_stream_table("plain", "SELECT n FROM numbers")
    assert (plain.functions, plain.notices) == ((), ())

    register("times", times, "int")
    assert numbers.refresh_stream_table("timed").action is Action.NO_DATA, "it is the same function"
    numbers.sql("INSERT INTO numbers VALUES ('c', 7)")
    assert numbers.refresh_stream_table("timed").action is Action.DIFFERENTIAL
    factor = 3
    register("times", times, "int")
    outcome = numbers.refresh_stream_table("timed")
    assert (outcome.action, outcome.reason) == (Action.REINITIALIZE, "function 'times' was changed")
    assert numbers.history("timed")[0].reason == outcome.reason
    assert_equals_query(numbers, "timed")
    with pytest.raises(NotDifferentialError, match="function 'times' was changed"):
        numbers.refresh_stream_table("wary")
    assert numbers.refresh_stream_table("wary", mode="FULL").action is Action.FULL
    numbers.sql("INSERT INTO numbers VALUES ('d', 8)")
    assert [each.action for each in numbers.refresh_stream_tables(["timed", "wary"])] == [Action.DIFFERENTIAL] * 2
    assert_equals_query(numbers, "wary")


def test_a_function_is_told_by_all_that_it_closes_over() -> None:
    def made(numbers: dict[str, int], *more: int) -> Callable[[int], int]:
        def helper(x: int, y: tuple[int, ...] = more) -> int:
            return x * sum(numbers.values()) + len(y)

        return lambda x: helper(x)

    def told(numbers: dict[str, int], *more: int) -> str:
        return of_command(cloudpickle.dumps((made(numbers, *more), "int")))  # type: ignore[no-untyped-call]

    before = dict.fromkeys("abcdefgh", 2)
    assert told(before, 1) == told(dict(before), 1)
    assert told(before, 1) != told(before, 2)
    for name in before:
        assert told(before) != told({**before, name: 3}), name
