"""Plans by golden files: what is kept, how, and the SQL of the change. Each is also run through a random history."""

from __future__ import annotations

from random import Random

import pytest

from spark_trickle.delta.show import show
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
