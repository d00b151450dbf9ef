"""UNION ALL:  Δ(A + B) = ΔA + ΔB.  Linear; branches without a change are left out."""

from __future__ import annotations

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.delta.rules.rule import Recur, in_order
from spark_trickle.sql.leaves import Leaf
from spark_trickle.sql.operators import Item, Operator, Project, UnionAll, column


def differentiate(operator: UnionAll, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    changes = [
        in_order(change, source.columns) for source in operator.inputs if (change := recur(source, changed)) is not None
    ]
    names = (*operator.columns, WEIGHT)
    if not changes:
        return None
    if len(changes) == 1:
        pairs = zip(names, changes[0].columns, strict=True)
        return Project(changes[0], tuple(Item(name, column(its)) for name, its in pairs))
    return UnionAll(tuple(changes), names, operator.aligned)
