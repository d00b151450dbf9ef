"""Outer joins.  LEFT:  L ⟕ R  is  L ⋈ R  and, padded with NULLs,  L ▷ R.  So

    Δ(L ⟕ R) = ΔL ⟕ R_after  +  L_before ⋈ ΔR  +  pad(C·[m(c, R_before) - m(c, R_after)])     C = L_before ⋉ ΔR

Rows of the left that come or go bring their partners, or their NULLs, as they are now; a row that stays gains and
loses the partners of ΔR, and its padded copy when the first partner came or the last one went (see `match`).

FULL adds the rows of the right without a partner:  Δ(L ⟗ R) = Δ(L ⟕ R) + pad(Δ(R ▷ L)).  RIGHT is LEFT with the sides
exchanged.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.delta.ranges import restricted
from spark_trickle.delta.rules import match as matching
from spark_trickle.delta.rules.rule import Recur, added, moves, weighted
from spark_trickle.sql.leaves import Leaf, Version
from spark_trickle.sql.operators import (
    Filter,
    Item,
    Join,
    Match,
    MatchKind,
    Once,
    Operator,
    OuterJoin,
    Project,
    at,
    column,
)


def differentiate(join: OuterJoin, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    if not join.keeps_left:
        swapped = OuterJoin(join.right, join.left, join.conditions, keeps_left=True, keeps_right=False)
        change = differentiate(swapped, changed, recur)
        return None if change is None else Project(change, weighted(join.columns))
    terms = _left(join, changed, recur)
    if join.keeps_right:
        anti = Match(join.right, join.left, join.conditions, MatchKind.ANTI)
        change = matching.differentiate(anti, changed, recur)
        if change is not None:
            terms.append(_padded(change, join.left, join.columns))
    return added(terms)


def _left(join: OuterJoin, changed: frozenset[Leaf], recur: Recur) -> list[Operator]:
    terms: list[Operator] = []
    match = Match(join.left, join.right, join.conditions, MatchKind.ANTI)
    of_left, of_right = (recur(side, changed) for side in (join.left, join.right))
    if of_left is not None:
        shared = Once(of_left)
        right = matching.narrowed(at(join.right, Version.AFTER), match, shared)
        beside = replace(join, left=shared, right=right, keeps_right=False)
        terms.append(Project(beside, weighted(join.columns)))
    if of_right is not None:
        shared = Once(of_right)
        version = Version.BEFORE if moves(join.left, changed) else Version.AFTER
        left, _ = restricted(Join((join.left, join.right), join.conditions), 1, changed)
        inner = Join((shared, at(left, version)), join.conditions)
        terms.append(Project(inner, weighted(join.columns)))
        flips = matching.flips(match, shared, changed)
        weight = exp.cast(
            exp.case().when(column(matching.THEN), exp.Literal.number(1)).else_(exp.Literal.number(-1)), "bigint"
        )
        kept = tuple(Item(name, column(name)) for name in join.left.columns)
        terms.append(_padded(Project(flips, (*kept, Item(WEIGHT, weight))), join.right, join.columns))
    return terms


def _padded(change: Operator, missing: Operator, columns: tuple[str, ...]) -> Operator:
    """The rows with NULLs in the columns of a side; of what type they are, an empty side of that kind knows."""
    nothing = Filter(at(missing, Version.AFTER), (exp.false(),))
    return Project(OuterJoin(change, nothing, (exp.true(),)), weighted(columns))
