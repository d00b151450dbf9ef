"""Functions that users register are there when stream tables are made and refreshed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql.functions import udf
from pyspark.sql.types import IntegerType

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import RefreshMode
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
