"""A change joined step by step: before it meets another large table, the rows so far are computed.

Of a join with a join Spark knows no size; it would move the large table about. Computed, the rows so far are few: they
are sent to the large table, and their keys tell which of its files matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_trickle.delta.plan import Version
from spark_trickle.sql.operators import Join, Match, Once, Operator, OuterJoin, inputs, scans, used, with_inputs
from spark_trickle.sql.render import next_joined


def staged(operator: Operator, large: frozenset[str]) -> Operator:
    """The same change; joins that begin with a change go step by step."""
    operator = with_inputs(operator, tuple(staged(source, large) for source in inputs(operator)))
    if not large or not isinstance(operator, Join) or not _is_change(operator.inputs[0]):
        return operator
    return _stepwise(operator, large)


def _stepwise(join: Join, large: frozenset[str]) -> Operator:
    rest, waiting = list(join.inputs[1:]), list(join.conditions)
    found: Operator = join.inputs[0]
    joined = any(isinstance(part, (Join, OuterJoin, Match)) for part in parts(found))
    while rest:
        source = next_joined(found.columns, rest, waiting) or rest[0]
        rest.remove(source)
        if joined and _is_large(source, large):
            found = Once(found, always=True)
        known = {*found.columns, *source.columns}
        ready = tuple(condition for condition in waiting if used(condition) <= known)
        waiting = [condition for condition in waiting if not any(condition is done for done in ready)]
        found, joined = Join((found, source), ready), True
    return Join((found,), tuple(waiting)) if waiting else found


def parts(operator: Operator) -> Iterator[Operator]:
    """The operator and all below it."""
    yield operator
    for source in inputs(operator):
        yield from parts(source)


def _is_large(operator: Operator, large: frozenset[str]) -> bool:
    return any(scan.source in large for scan in scans(operator))


def _is_change(operator: Operator) -> bool:
    return any(scan.version in (Version.CHANGES.value, Version.STEP.value) for scan in scans(operator))
