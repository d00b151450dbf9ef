"""Inner join:  Δ(R1 ⋈ R2 ⋈ … ⋈ Rn) = Σi  R1_after ⋈ … ⋈ ΔRi ⋈ … ⋈ Rn_before.

Inputs before the changing one are taken after the window, those behind it before the window, so each pair of
simultaneous changes is counted once, and no term needs a correction. Inputs that did not change are the same before
and after; after is taken. Each term has one change, so its weight is the weight of the term.

A term joins in another order than the query: what follows from its equalities (a = b and b = c, so a = c) is said, so
that a change meets each table by a key.
"""

from __future__ import annotations

from spark_trickle.delta.plan import Version
from spark_trickle.delta.ranges import implied, restricted
from spark_trickle.delta.rules.rule import Recur, added, moves, weighted
from spark_trickle.sql.operators import Join, Operator, Project, at


def differentiate(join: Join, changed: frozenset[str], recur: Recur) -> Operator | None:
    terms: list[Operator] = []
    conditions = (*join.conditions, *implied(join))
    for place, source in enumerate(join.inputs):
        change = recur(source, changed)
        if change is None:
            continue
        others = restricted(join, place, changed)
        versions = [
            at(other, (Version.BEFORE if i > place and moves(other, changed) else Version.AFTER).value)
            for i, other in enumerate(others)
            if i != place
        ]
        term = Join((change, *versions), conditions)
        terms.append(Project(term, weighted(join.columns)))
    return added(terms)
