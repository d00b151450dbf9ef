"""The stories of `tests/equivalence/test_scenarios*.py` once more, on Spark and Iceberg: each query is refused if it
cannot be kept differentially, every refresh is differential, and the contents are what the query itself answers.

All stories go on at the same time, so that they need a few refreshes and not hundreds. `-k` tells only the chosen ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import pytest
from pyspark.sql import SparkSession

from tests.equivalence import (
    test_scenarios,
    test_scenarios_aggregates,
    test_scenarios_subqueries,
    test_scenarios_windows,
)
from tests.spark.engines import opened
from tests.support.replay import Telling, told
from tests.support.stories import Story, Teller, stories_of, tellers

MODULES = (test_scenarios, test_scenarios_aggregates, test_scenarios_subqueries, test_scenarios_windows)
OTHERWISE = {
    "a_union_of_a_union_converts_step_by_step": "a number and a text are numbers for Spark, texts for DuckDB",
}
"""Stories that Spark itself answers otherwise, and why."""
TELLERS = [teller for module in MODULES for teller in tellers(module) if teller.name not in OTHERWISE]
WINDOWS = 6
"""Longer stories end here."""
EVERYDAY = 2
"""Every story ends so: all is deleted, and loaded again."""

Told = Mapping[str, tuple[Telling, ...]]


@pytest.fixture(scope="module")
def all_told(spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The stories of every chosen test, told to Spark."""
    calls = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    chosen = [call.params["teller"].name for call in calls if call is not None]
    stories: dict[str, tuple[Story, ...]] = {
        teller.name: stories_of(teller, limit=WINDOWS) for teller in TELLERS if teller.name in chosen
    }
    with opened(spark, tmp_path_factory.mktemp("stories")) as engine:
        tellings = iter(told(engine, chain.from_iterable(stories.values())))
    return {name: tuple(next(tellings) for _ in parts) for name, parts in stories.items()}


@pytest.mark.parametrize("teller", TELLERS, ids=str)
def test_a_story_is_followed_differentially_on_spark(all_told: Told, teller: Teller) -> None:
    for telling in all_told[teller.name]:
        assert not telling.problems, "\n".join([telling.story.query, *telling.problems])
        assert len(telling.actions) == len(telling.windows) + EVERYDAY > EVERYDAY
