"""Calls that give another answer each time, told from columns, strings and comments of the same name."""

from __future__ import annotations

import pytest

from spark_trickle.sql.determinism import nondeterministic


def names(query: str) -> list[str]:
    return [found.name for found in nondeterministic(query)]


@pytest.mark.parametrize(
    "call",
    ["rand()", "RANDN(3)", "uuid ()", "current_date", "CURRENT_TIMESTAMP()", "now()", "monotonically_increasing_id()",
     "input_file_name()", "unix_timestamp()", "shuffle(a)", "current_user"],
)  # fmt: skip
def test_calls_are_found_wherever_they_hide(call: str) -> None:
    """Scenario D-12."""
    assert len(names(f"SELECT CASE WHEN a > 1 THEN coalesce(b, {call}) END AS x FROM t")) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT rand FROM t",
        "SELECT t.rand, `now`, `rand` AS uuid FROM t",
        "SELECT 'rand()' AS s FROM t -- now()",
        "SELECT a /* uuid() */ FROM t",
        "SELECT a AS current_date FROM t",
        "SELECT t.current_date FROM t",
        "SELECT unix_timestamp(a) FROM t",
        "SELECT sum(a), first(b) FROM t",
    ],
)
def test_other_things_of_these_names_are_not(query: str) -> None:
    assert names(query) == []


def test_the_place_is_told() -> None:
    (found,) = nondeterministic("SELECT a,\n  rand() AS r\nFROM t")
    assert (found.line, found.column) == (2, 3)
