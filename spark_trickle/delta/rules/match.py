"""Semi, anti and mark join.  With  m(l, R) = "some row of R fits l":

    Δ(L ⋉ R) = ΔL ⋉ R_after  +  C·[m(c, R_after) - m(c, R_before)]        C = L_before ⋉ ΔR

Rows of the left that come or go are judged by the right side as it is now. A row that stays is judged anew only if a
row of ΔR fits it, and counts only if the answer flipped; the condition may be anything. For an anti join the signs of
the second term are the other way round, for a mark both answers are put out.

Of the right side only rows that share a join key with the change can fit, so it is narrowed to those first: a semi
join can send a small right side to the large left one, never the other way round.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.delta.ranges import kind_of
from spark_trickle.delta.rules.rule import Recur, added, moves, operand, weighted
from spark_trickle.delta.types import groupable
from spark_trickle.sql.known_types import converts
from spark_trickle.sql.leaves import Leaf, Version
from spark_trickle.sql.operators import (
    Aggregate,
    Filter,
    Item,
    Join,
    Match,
    MatchKind,
    Once,
    OneRow,
    Operator,
    Project,
    UnionAll,
    at,
    column,
    used,
)

NOW, THEN, SIGN = "_trickle_now", "_trickle_then", "_trickle_sign"
"""Whether some row fits after the window, and whether one did before."""


def differentiate(match: Match, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    terms: list[Operator] = []
    of_left, of_right = (_once(recur(side, changed)) for side in (match.left, match.right))
    if of_left is not None:
        right = narrowed(at(match.right, Version.AFTER), match, of_left)
        terms.append(Project(replace(match, left=of_left, right=right), weighted(match.columns)))
    if of_right is not None:
        terms.append(_flipped(match, of_right, changed))
    return added(terms)


def flips(match: Match, of_right: Operator, changed: frozenset[Leaf]) -> Operator:
    """Rows of the left side, as it was, for which the answer changed, with both answers beside them."""
    left = at(match.left, Version.BEFORE if moves(match.left, changed) else Version.AFTER)
    candidates: Operator = Match(left, of_right, match.conditions, MatchKind.SEMI)
    now, then = _both_versions(match, of_right)
    for name, right in ((NOW, now), (THEN, then)):
        candidates = Match(candidates, right, match.conditions, MatchKind.MARK, name)
    return Filter(candidates, (exp.NEQ(this=column(NOW), expression=column(THEN)),))


def _both_versions(match: Match, of_right: Operator) -> tuple[Operator, Operator]:
    """The right side after and before the window, as far as its rows share a key with its change.

    Narrowed, it is small: what it was before follows from what it is now and its change, without reading it again.
    """
    after = same_keys(at(match.right, Version.AFTER), match, of_right)
    read = {name for condition in match.conditions for name in used(condition)}
    names = tuple(name for name in match.right.columns if name in read)
    if not _keys(match) or not all(groupable(kind_of(match.right, name)) for name in names):
        return after, same_keys(at(match.right, Version.BEFORE), match, of_right)
    kept = tuple(Item(name, column(name)) for name in names)
    now = Once(Project(after, kept))
    here = Project(now, (*kept, Item(WEIGHT, exp.cast(exp.Literal.number(1), "bigint"))))
    undone = Project(of_right, (*kept, Item(WEIGHT, exp.Neg(this=column(WEIGHT)))))
    both = UnionAll((here, undone), (*names, WEIGHT), aligned=True)
    grouped = Aggregate(both, kept, (Item(WEIGHT, exp.Sum(this=column(WEIGHT))),))
    there = Filter(grouped, (exp.GT(this=column(WEIGHT), expression=exp.Literal.number(0)),))
    return now, Project(there, kept)


def _flipped(match: Match, of_right: Operator, changed: frozenset[Leaf]) -> Operator:
    found = flips(match, of_right, changed)
    kept = tuple(Item(name, column(name)) for name in match.left.columns)
    if match.kind is not MatchKind.MARK:
        wanted = column(NOW) if match.kind is MatchKind.SEMI else column(THEN)
        return Project(found, (*kept, Item(WEIGHT, _weight(wanted))))
    signs = tuple(Project(OneRow(), (Item(SIGN, exp.cast(exp.Literal.number(n), "bigint")),)) for n in (1, -1))
    both = Join((found, UnionAll(signs, (SIGN,), aligned=True)))
    came = exp.GT(this=column(SIGN), expression=exp.Literal.number(0))
    answer = exp.case().when(came, column(NOW)).else_(column(THEN))
    return Project(both, (*kept, Item(match.mark, answer), Item(WEIGHT, column(SIGN))))


def _weight(wanted: exp.Expr) -> exp.Expr:
    one = exp.case().when(wanted, exp.Literal.number(1)).else_(exp.Literal.number(-1))
    return exp.cast(one, "bigint")


def pairs(conditions: tuple[exp.Expr, ...], left: Operator, right: Operator) -> list[tuple[exp.Expr, exp.Expr, type]]:
    """What the conditions say is equal: an expression over the left, one over the right, and how they compare."""
    found = []
    for condition in conditions:
        bare = condition.unnest()
        if not isinstance(bare, (exp.EQ, exp.NullSafeEQ)) or _collates(bare):
            continue
        for one, other in ((bare.left, bare.right), (bare.right, bare.left)):
            mine, its = used(one), used(other)
            if mine and its and mine <= set(left.columns) and its <= set(right.columns):
                found.append((one, other, type(bare)))
    return found


def _collates(condition: exp.Expr) -> bool:
    """Is it said here how texts compare? Put in a column of its own, one side would no longer say it."""
    return any(
        isinstance(node, exp.Collate) or (isinstance(node, exp.Anonymous) and node.name.lower() == "collate")
        for node in condition.walk()
    )


def narrowed(right: Operator, match: Match, of_left: Operator) -> Operator:
    """The right side without rows that cannot fit any row of the left side's change."""
    equal = pairs(match.conditions, match.left, match.right)
    keys = tuple(Item(f"_trickle_join_{i}", one.copy()) for i, (one, _, _) in enumerate(equal))
    return _restricted(right, of_left, keys, [(its, kind) for _, its, kind in equal])


def same_keys(right: Operator, match: Match, of_right: Operator) -> Operator:
    """The right side without rows whose keys are not among those of its own change."""
    equal = _keys(match)
    keys = tuple(Item(f"_trickle_join_{i}", its.copy()) for i, (_, its, _) in enumerate(equal))
    return _restricted(right, of_right, keys, [(its, kind) for _, its, kind in equal])


def _keys(match: Match) -> list[tuple[exp.Expr, exp.Expr, type]]:
    """The equalities in which rows of the right that fit the same row of the left have the same value: not so if
    comparing converts, as a 1 of the left equals '1' and '01' of the right.
    """
    return [
        (one, its, kind)
        for one, its, kind in pairs(match.conditions, match.left, match.right)
        if not converts(_kind(its, match.right), _kind(one, match.left))
    ]


def _kind(value: exp.Expr, operator: Operator) -> str:
    bare = value.unnest()
    if isinstance(bare, exp.Cast):
        return bare.to.sql(dialect="spark").lower()
    return kind_of(operator, bare.name) if isinstance(bare, exp.Column) else ""


def _restricted(
    side: Operator, change: Operator, keys: tuple[Item, ...], compared: list[tuple[exp.Expr, type]]
) -> Operator:
    if not keys:
        return side
    same = tuple(
        kind(this=operand(mine), expression=column(key.name)) for key, (mine, kind) in zip(keys, compared, strict=True)
    )
    return Match(side, Project(change, keys), same, MatchKind.SEMI)


def _once(change: Operator | None) -> Operator | None:
    return None if change is None else Once(change)
