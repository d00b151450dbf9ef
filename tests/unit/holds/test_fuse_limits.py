"""When a fuse blows, by ceilings and by what is usual. Properties: no floor is undercut, larger changes blow sooner."""

from __future__ import annotations

from statistics import fmean, pstdev

from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.holds.fuse_limits import FLOOR, LEAST_DEVIATION, LEAST_KNOWN, SENSITIVITY, effective_ceiling, limits
from spark_trickle.model.fuse import WINDOW, ChangedRows, FuseState
from spark_trickle.model.stream_table import Fuse, Options

ROWS = st.integers(0, 10**9)


@st.composite
def changes(draw: st.DrawFn) -> ChangedRows:
    rows = draw(ROWS)
    return ChangedRows(rows, draw(st.integers(0, rows)))


def blows(options: Options, known: list[ChangedRows], change: ChangedRows, default: int = 0) -> bool:
    return limits(options, FuseState(changes=tuple(known)), default).broken_by(change) is not None


@given(changes(), st.integers(0, 10**6), st.one_of(st.none(), st.integers(0, 10**6)))
def test_on_blows_past_the_ceiling_that_counts_and_only_then(
    change: ChangedRows, default: int, own: int | None
) -> None:
    ceiling = default if own is None else own
    on = Options(fuse=Fuse.ON, fuse_ceiling=own)
    assert effective_ceiling(on, default) == (ceiling or None)
    assert blows(on, [], change, default) is (ceiling > 0 and change.rows > ceiling)
    assert not blows(Options(fuse_ceiling=own), [], change, default), "off"


@given(st.lists(changes(), max_size=WINDOW), changes(), st.one_of(st.none(), st.floats(0.1, 10)), st.integers(0, 10**6))
def test_auto_blows_past_what_is_usual_of_rows_or_of_deletes(
    known: list[ChangedRows], change: ChangedRows, sensitivity: float | None, own: int
) -> None:
    auto = Options(fuse=Fuse.AUTO, fuse_sensitivity=sensitivity, fuse_ceiling=own)

    def unusual(values: list[int], value: int) -> bool:
        if len(values) < LEAST_KNOWN:
            return False
        mean = fmean(values)
        limit = mean + (sensitivity or SENSITIVITY) * max(pstdev(values), LEAST_DEVIATION * mean)
        # Numbers at the very limit are a matter of rounding.
        return value > max(FLOOR, limit) and abs(value - limit) > 1

    judged = [([k.rows for k in known], change.rows), ([k.deleted for k in known], change.deleted)]
    past_ceiling = bool(own) and change.rows > own
    found = blows(auto, known, change)
    assert found or not past_ceiling
    assert found or not any(unusual(values, value) for values, value in judged)
    # Nothing is unusual below the floor, or before enough is known.
    possible = [value for values, value in judged if len(values) >= LEAST_KNOWN and value > FLOOR]
    assert possible or past_ceiling or not found


@given(st.lists(changes(), min_size=LEAST_KNOWN, max_size=WINDOW), changes(), ROWS)
def test_more_is_never_less_unusual(known: list[ChangedRows], change: ChangedRows, more: int) -> None:
    auto = Options(fuse=Fuse.AUTO)
    if blows(auto, known, change):
        assert blows(auto, known, ChangedRows(change.rows + more, change.deleted))
        assert blows(auto, known, ChangedRows(change.rows + more, change.deleted + more))


@given(st.lists(changes(), max_size=40))
def test_only_the_last_changes_are_remembered(all_changes: list[ChangedRows]) -> None:
    state = FuseState()
    for change in all_changes:
        state = state.passed(change)
    assert state.changes == tuple(change for change in all_changes if change.rows)[-WINDOW:]
