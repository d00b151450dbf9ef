"""What the fuzzer tells Spark (`tests/spark/test_fuzz.py`), looked at without Spark."""

from __future__ import annotations

from random import Random

import pytest

from spark_trickle.sql.parse import parse_query
from tests.support.fuzz.lakes import LIMITS, random_lake
from tests.support.fuzz.names import OUR_WORDS, Naming, hostile

SEEDS = range(40)


def test_the_same_seed_gives_the_same_lake() -> None:
    assert random_lake(7, 5, 4, tiny=True) == random_lake(7, 5, 4, tiny=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_story_empties_a_table_and_loads_it_again(seed: int) -> None:
    lake = random_lake(seed, 0, 5, tiny=False)
    assert len(lake.history) == len(lake.acts) == 6
    emptied = next(place for place, act in enumerate(lake.acts) if act.startswith("delete all"))
    assert lake.acts[emptied + 1] == "load again"
    load = lake.history[lake.acts.index("load")]
    again = lake.history[emptied + 1]
    assert any(again[name] == load[name] and not lake.history[emptied][name] for name in again)


def test_limits_of_tiny_lakes_are_settings_of_the_engine() -> None:
    lake = random_lake(1, 0, 2, tiny=True)
    assert set(lake.limits) == {*LIMITS, "local_query_rows"}
    assert max(lake.limits[name] for name in LIMITS) <= 5


def test_names_change_in_their_places_and_texts_stay() -> None:
    naming = Naming({"t0": "sales\0group", "a1": "a`b", "c0": "_weight"})
    found = naming.sql("SELECT a1.i0 AS c0, 'a1 \\' t0' AS c1 FROM t0 AS a1")
    assert found == "SELECT `a``b`.i0 AS `_weight`, 'a1 \\' t0' AS c1 FROM `sales`.`group` AS `a``b`"


def test_hostile_names_are_different_for_whoever_ignores_case() -> None:
    drawn: set[str] = set()
    for seed in SEEDS:
        naming = hostile(Random(seed), ["t0", "t1", "t2"], ["i0", "s1"], 30)
        for letter in ("a", "c", "st"):
            names = [name.lower() for plain, name in naming.given.items() if plain.rstrip("0123456789") == letter]
            assert len(set(names)) == len(names)
        drawn |= {name.split("\0")[-1].lower() for name in naming.given.values()}
    assert drawn >= set(OUR_WORDS)


def test_queries_with_hostile_names_and_values_can_be_read() -> None:
    for seed in SEEDS:
        lake = random_lake(seed, 10, 1, tiny=False)
        for query in lake.queries:
            parse_query(lake.naming.sql(query.text))
