"""The table of rules, in their order, and the questions that are asked of it.

The scheduler, `why` and creation ask here and nowhere else. What no rule holds is refreshed when it is due
(`scheduler/due.py`). A new rule is a file beside this one and a line in the table; its name is in
`HoldCode`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from spark_trickle.holds.aligned import AlignedVersions
from spark_trickle.holds.away import by_catalogs
from spark_trickle.holds.fused import by_fuses
from spark_trickle.holds.gated import by_gates
from spark_trickle.holds.held_back import held_back, other_versions
from spark_trickle.holds.retried import by_failures
from spark_trickle.holds.rule import Held, Rule, Situation
from spark_trickle.holds.stopped import by_status
from spark_trickle.holds.watermarked import by_watermarks
from spark_trickle.model.hold import Hold
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName

RULES = (
    Rule(by_catalogs, of_sources=True),
    Rule(by_gates, of_sources=True),
    Rule(by_watermarks, of_sources=True),
    Rule(by_fuses),
    Rule(by_status),
    Rule(by_failures, passing=True),
)

LASTING = tuple(rule for rule in RULES if not rule.passing)
"""What holds for as long as the cut is the same."""
PASSING = tuple(rule for rule in RULES if rule.passing)
OF_SOURCES = tuple(rule for rule in RULES if rule.of_sources)


def held(at: Situation, rules: Iterable[Rule] = RULES) -> Held:
    """Every stream table that is held, and why, in the order of the rules."""
    found: dict[TableName, tuple[Hold, ...]] = {}
    for rule in rules:
        for name, holds in rule.find(at).items():
            found[name] = (*found.get(name, ()), *holds)
    return found


def held_by_sources(table: StreamTable, at: Situation, *, aligned: AlignedVersions | None) -> tuple[Hold, ...]:
    """What keeps a stream table as it is given, new or altered, from being loaded from these versions."""
    as_given = at.with_table(table)
    back = held_back(as_given)
    holds, wanted = held(replace(as_given, back=back), OF_SOURCES).get(table.name, ()), back.aligned_of.get(table.name)
    return (
        (*holds, other_versions(table.name, wanted))
        if not holds and wanted is not None and wanted != aligned
        else holds
    )


def by_unit(found: Held, unit_of: Mapping[TableName, int]) -> dict[int, tuple[Hold, ...]]:
    """The units that are held: a unit passes whole, or not at all."""
    units: dict[int, tuple[Hold, ...]] = {}
    for name in sorted(found):
        if name in unit_of:
            units[unit_of[name]] = (*units.get(unit_of[name], ()), *found[name])
    return units
