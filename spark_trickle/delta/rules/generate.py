"""Generators:  Δ(R × g(r)) = ΔR × g(r).  Linear: rows that come and go are expanded like all others."""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.delta.rules.rule import Recur, weighted
from spark_trickle.sql.leaves import Leaf
from spark_trickle.sql.operators import Generate, Operator, Project


def differentiate(operator: Generate, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    change = recur(operator.input, changed)
    return None if change is None else Project(replace(operator, input=change), weighted(operator.columns))
