"""Plans by golden files: what is kept, how, and the SQL of the change. Each is also run through a random history."""

from __future__ import annotations

from random import Random

import pytest

from spark_trickle.delta.rules import RULES, STATEFUL
from spark_trickle.delta.show import show
from spark_trickle.sql.operators import Distinct, OneRow, Operator, inputs
from tests.support.cases import Case, cases, compare
from tests.support.duck import Kept, Lake
from tests.support.scripts import TABLES, keep_through, random_script
from tests.support.seeds import first_seed


@pytest.mark.parametrize("case", cases("delta"), ids=str)
def test_the_plan_is_the_one_in_the_file(case: Case) -> None:
    compare(case, {"plan": show(Kept(Lake(TABLES), case.query).maintenance)})


@pytest.mark.parametrize("case", cases("delta"), ids=str)
def test_the_plan_keeps_the_query(case: Case) -> None:
    seed = first_seed("TRICKLE_SEED")
    try:
        keep_through(case.query, random_script(Random(seed), windows=3))
    except AssertionError as err:
        raise AssertionError(f"seed {seed}: {err}") from err


def test_every_rule_is_in_a_file() -> None:
    found = {type(each) for case in cases("delta") for node in _nodes(case) for each in _all(node)}
    # What reads no table never changes; rows told apart are groups that count them.
    assert found >= (set(RULES) | STATEFUL) - {OneRow, Distinct}


def _nodes(case: Case) -> list[Operator]:
    return [node.upkeep.operator for node in Kept(Lake(TABLES), case.query).maintenance.nodes]


def _all(operator: Operator) -> list[Operator]:
    return [operator, *(each for below in inputs(operator) for each in _all(below))]
