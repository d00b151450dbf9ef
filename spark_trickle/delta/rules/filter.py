"""Filter:  Δ(σ R) = σ ΔR.  Linear: the rows that come and go are filtered like all others."""

from __future__ import annotations

from spark_trickle.delta.rules.rule import Recur
from spark_trickle.sql.leaves import Leaf
from spark_trickle.sql.operators import Filter, Operator


def differentiate(operator: Filter, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    change = recur(operator.input, changed)
    return None if change is None else Filter(change, operator.conditions)
