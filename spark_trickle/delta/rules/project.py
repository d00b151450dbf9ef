"""Projection:  Δ(π R) = π ΔR.  Linear; the weight passes through."""

from __future__ import annotations

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.delta.rules.rule import Recur
from spark_trickle.sql.leaves import Leaf
from spark_trickle.sql.operators import Item, Operator, Project, column


def differentiate(operator: Project, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    change = recur(operator.input, changed)
    return None if change is None else Project(change, (*operator.items, Item(WEIGHT, column(WEIGHT))))
