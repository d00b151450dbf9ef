"""The order in which a change is joined: what is small first, and before each large table the rows so far are computed.

Of a join with a join Spark knows no size; it would move the large table about. Computed, the rows so far are few: they
are sent to the large table, and their keys tell which of its files matter.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.plan import Version
from spark_trickle.sql.operators import Join, Once, Operator, inputs, scans, used, with_inputs


def staged(operator: Operator, large: frozenset[str]) -> Operator:
    """The same change; joins of more than two inputs that begin with a change go step by step."""
    operator = with_inputs(operator, tuple(staged(source, large) for source in inputs(operator)))
    if not large or not isinstance(operator, Join) or len(operator.inputs) < 3 or not _is_change(operator.inputs[0]):
        return operator
    return _stepwise(operator, large)


def _stepwise(join: Join, large: frozenset[str]) -> Operator:
    rest, waiting = list(join.inputs[1:]), list(join.conditions)
    found: Operator = join.inputs[0]
    joined = False
    while rest:
        source = _next(found, rest, waiting, large)
        rest.remove(source)
        if joined and _is_large(source, large):
            found = Once(found, always=True)
        known = {*found.columns, *source.columns}
        ready = tuple(condition for condition in waiting if used(condition) <= known)
        waiting = [condition for condition in waiting if not any(condition is done for done in ready)]
        found, joined = Join((found, source), ready), True
    return Join((found,), tuple(waiting)) if waiting else found


def _next(found: Operator, rest: list[Operator], waiting: list[exp.Expr], large: frozenset[str]) -> Operator:
    """One that a condition connects with those before it, a small one if there is."""
    connected = [source for source in rest if any(_connects(condition, found, source) for condition in waiting)]
    small = [source for source in connected if not _is_large(source, large)]
    return (small or connected or rest)[0]


def _connects(condition: exp.Expr, found: Operator, source: Operator) -> bool:
    names, mine, its = used(condition), set(found.columns), set(source.columns)
    return bool(names & mine) and bool(names & its) and names <= mine | its


def _is_large(operator: Operator, large: frozenset[str]) -> bool:
    return any(scan.source in large for scan in scans(operator))


def _is_change(operator: Operator) -> bool:
    return any(scan.version in (Version.CHANGES.value, Version.STEP.value) for scan in scans(operator))
