"""Incremental equals recomputed, for each shape of query and for random ones, over random histories of all tables."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.cases import FOLDER
from tests.support.scripts import Query, Script, keep_through, queries, random_script, scripts
from tests.support.seeds import IN_CI, first_seed

EXAMPLES = int(os.environ.get("TRICKLE_EXAMPLES", "1"))
"""How many histories per shape; a nightly run may want hundreds."""
SEED = first_seed("TRICKLE_SEED")
"""Another history each time; a failure says which."""

SHAPES = [
    " ".join(query.split())
    for file in sorted(FOLDER.glob("shapes*.sql"))
    for query in file.read_text(encoding="utf-8").split("\n", 1)[1].split(";")
    if query.strip()
]


@pytest.mark.parametrize("query", SHAPES)
def test_a_stream_table_equals_its_query_after_each_refresh(query: str) -> None:
    for seed in range(SEED, SEED + EXAMPLES):
        try:
            keep_through(query, random_script(Random(seed), windows=4))
        except AssertionError as err:
            raise AssertionError(f"TRICKLE_SEED={seed}: {err}") from err


@settings(
    max_examples=12 * EXAMPLES, deadline=None, database=None, derandomize=IN_CI, suppress_health_check=list(HealthCheck)
)
@given(queries(), scripts(windows=3))
def test_random_queries_equal_their_recomputation(query: Query, script: Script) -> None:
    keep_through(query.text, script)
