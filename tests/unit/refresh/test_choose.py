"""AUTO chooses by what was measured: recomputing where it is faster, on large tables, and never for strict ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import Costs, Options, RefreshMode, StreamTable
from spark_trickle.refresh.choose import LARGE_ROWS, cheaper_recomputed, measured
from spark_trickle.refresh.decide import Rebuild
from tests.support.catalog_values import stream_table

ROWS = 8 * LARGE_ROWS
PLAIN = Rebuild(Action.FULL, "", plain=True)
WITH_STATE = Rebuild(Action.REINITIALIZE, "")


def with_costs(costs: Costs, options: Options | None = None) -> StreamTable:
    table = replace(stream_table("t"), costs=costs, effective_mode=RefreshMode.DIFFERENTIAL)
    return replace(table, options=options or Options())


def test_recomputing_is_measured_once_when_differential_refreshes_take_half_as_long_as_building() -> None:
    cheap, dear = Costs(recent_ms=(1400,), rebuild_ms=3000), Costs(recent_ms=(1600,), rebuild_ms=3000)
    assert cheaper_recomputed(with_costs(cheap), ROWS) is None
    assert cheaper_recomputed(with_costs(Costs(recent_ms=(900,), rebuild_ms=900)), ROWS) is None, "fast enough"
    found = cheaper_recomputed(with_costs(dear), ROWS)
    assert found is not None and found.plain and found.action is Action.FULL
    assert found.reason == (
        "AUTO measures once what the whole query takes: its last differential refresh took 1.6 s, and building it with "
        "its internal state 3.0 s"
    )


def test_what_is_faster_is_chosen_and_the_reason_has_both_times() -> None:
    costs = Costs(recent_ms=(2400,), rebuild_ms=3000, recompute_ms=900, rows=ROWS)
    found = cheaper_recomputed(with_costs(costs), ROWS)
    assert found is not None and found.plain
    assert found.reason == (
        "AUTO: the whole query took 0.9 s, its last differential refreshes 2.4 s; they are tried again when its "
        "sources have doubled"
    )
    assert cheaper_recomputed(with_costs(replace(costs, recompute_ms=2100)), ROWS) is None, "within the margin"


@pytest.mark.parametrize(
    "options", [Options(strict=True), Options(refresh_mode=RefreshMode.DIFFERENTIAL)], ids=["strict", "DIFFERENTIAL"]
)
def test_who_wants_differential_refreshes_has_them(options: Options) -> None:
    assert cheaper_recomputed(with_costs(Costs(recent_ms=(9000,), recompute_ms=1, rows=ROWS), options), ROWS) is None


def test_on_small_tables_nothing_is_chosen() -> None:
    costs = Costs(recent_ms=(9000,), rebuild_ms=10, recompute_ms=10, rows=LARGE_ROWS - 1)
    assert cheaper_recomputed(with_costs(costs), LARGE_ROWS - 1) is None


def test_differential_refreshes_are_tried_again_when_the_sources_have_doubled() -> None:
    costs = Costs(recent_ms=(2400,), rebuild_ms=3000, recompute_ms=900, rows=ROWS)
    assert cheaper_recomputed(with_costs(costs), 2 * ROWS) is None
    rebuilt = measured(costs, WITH_STATE, 7000, 2 * ROWS)
    assert rebuilt == Costs(rebuild_ms=7000)
    assert cheaper_recomputed(with_costs(rebuilt), 2 * ROWS) is None


def test_one_slow_refresh_is_not_held_against_the_others() -> None:
    costs = measured(measured(Costs(rebuild_ms=1000), None, 300, ROWS), None, 9000, ROWS)
    assert costs.differential_ms == 300
    assert measured(costs, None, 8000, ROWS).differential_ms == 8000


def test_a_recomputation_is_measured_anew_each_time() -> None:
    costs = measured(Costs(recent_ms=(2400,), recompute_ms=900, rows=ROWS), PLAIN, 5000, ROWS)
    assert cheaper_recomputed(with_costs(costs), ROWS) is None
