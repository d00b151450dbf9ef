"""Grouping:  Δ(γ R) is merged from the partial aggregates of ΔR, one row per touched key.

    COUNT(x)   Σ w over x not NULL             SUM(x)   Σ w·x
    MIN, MAX   the extremum of what came and the extremum of what went
    all        n = Σ w  and  lost = Σ -w over w < 0

The sum of a change may not fit where the sums before and after do: 9e18 that becomes -9e18 is a change by -18e18. Where
a type is that short, it is tried; a group whose change did not fit is recomputed.

Counts and exact sums are linear in ΔR, so cancelling rows do no harm and need not be found. The others look at single
rows: for them ΔR is consolidated first, or a row that only seems to go would cause a recomputation.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.consolidate import consolidated, nonzero
from spark_trickle.delta.plan import WEIGHT, Groups, Keep, Kept
from spark_trickle.delta.types import cast, decimal, is_integer
from spark_trickle.sql.functions import bare_call
from spark_trickle.sql.operators import Aggregate, Filter, Item, Operator, Project, column, used

N, LOST, SEEN = "_trickle_n", "_trickle_lost", "_trickle_seen"
_LINEAR = (Keep.COUNT, Keep.SUM, Keep.AVG)


def change_column(kept: Kept, groups: Groups) -> str:
    """Column of the delta: how much a count or a sum changes."""
    return N if kept.column == groups.rows else f"_trickle_change_{kept.column}"


def new_column(kept: Kept) -> str:
    """Column of the delta: the extremum of what came."""
    return f"_trickle_new_{kept.column}"


def gone_column(kept: Kept) -> str:
    """Column of the delta: the extremum of what went."""
    return f"_trickle_gone_{kept.column}"


def unfit_column(kept: Kept) -> str:
    """Column of the delta: whether the change of a sum did not fit."""
    return f"_trickle_unfit_{kept.column}"


_ROOMY = 27
"""Digits of a decimal up to which a sum and its change are exact: Spark gives a sum ten more, and adding two of them
takes one again."""


def may_not_fit(kept: Kept) -> bool:
    """Whether the change of a sum may be too large for its type while the sum itself is not."""
    digits = decimal(kept.argument_type)
    if kept.how is not Keep.SUM:
        return False
    return kept.argument_type.lower() in ("bigint", "long") if digits is None else digits[0] > _ROOMY


def arguments(call: exp.Expr) -> list[exp.Expr]:
    """What an aggregate is computed from; nothing for COUNT(*)."""
    bare = bare_call(call)
    parts = [bare.this, *(bare.args.get("expressions") or ())]
    return [part for part in parts if isinstance(part, exp.Expr) and not isinstance(part, exp.Star)]


def partials(groups: Groups, change: Operator) -> Operator:
    """The change of the input to one row per key that changed."""
    aggregate = groups.operator
    keys = tuple(Item(f"_trickle_key_{i}", key.expression) for i, key in enumerate(aggregate.keys))
    linear = all(kept.how in _LINEAR for kept in groups.kept)
    if not linear:
        change = _narrow(groups, change, keys)
        keys = tuple(Item(key.name, column(key.name)) for key in keys)
    calls = [
        Item(N, _total(column(WEIGHT), groups)),
        Item(LOST, _total(_when(_lost(), exp.Neg(this=column(WEIGHT))), groups)),
    ]
    for kept in groups.kept:
        if kept.column != groups.rows:
            calls.extend(_partial(kept, groups))
    names = (
        *(Item(name, column(key.name)) for name, key in zip(groups.keys, keys, strict=True)),
        *(Item(call.name, column(call.name)) for call in calls),
    )
    if not linear and groups.keys:  # each group has a row that really came or went
        return Project(Aggregate(change, keys, tuple(calls)), names)
    if linear:
        telling = [nonzero(N)]
        if any(kept.how is Keep.SUM and kept.count is None for kept in groups.kept):
            # A NULL that became 0 changes neither the number of rows nor their sum, and yet the sum is not NULL now.
            telling.append(nonzero(LOST))
        telling += [
            nonzero(change_column(kept, groups))
            for kept in groups.kept
            if kept.how is not Keep.AVG and kept.column != groups.rows
        ]
        telling += [column(unfit_column(kept)) for kept in groups.kept if may_not_fit(kept)]
    else:
        telling = [nonzero(SEEN)]
        calls.append(Item(SEEN, exp.Count(this=exp.Star(), big_int=True)))
    return Project(Filter(Aggregate(change, keys, tuple(calls)), (exp.or_(*telling),)), names)


def _narrow(groups: Groups, change: Operator, keys: tuple[Item, ...]) -> Operator:
    """Keys and arguments only, consolidated."""
    names = sorted({name for kept in groups.kept for name in used(kept.call)})
    narrow = Project(change, (*keys, *(Item(name, column(name)) for name in names), Item(WEIGHT, column(WEIGHT))))
    return consolidated(narrow, tuple(found for found in groups.floating if found.name in names))


def _partial(kept: Kept, groups: Groups) -> list[Item]:
    values = arguments(kept.call)
    weight = column(WEIGHT)
    match kept.how:
        case Keep.COUNT:
            present = [exp.Is(this=_operand(value), expression=exp.Null()).not_() for value in values]
            counted: exp.Expr = _when(exp.and_(*present), weight) if present else weight
            return [Item(change_column(kept, groups), _total(counted, groups))]
        case Keep.SUM | Keep.FLOAT_SUM:
            return _sum(kept, groups, values[0])
        case Keep.MIN | Keep.MAX:
            extremum = exp.Min if kept.how is Keep.MIN else exp.Max
            came = exp.GT(this=weight, expression=exp.Literal.number(0))
            return [
                Item(new_column(kept), extremum(this=_only(came, values[0]))),
                Item(gone_column(kept), extremum(this=_only(_lost(), values[0]))),
            ]
    return []


def _sum(kept: Kept, groups: Groups, value: exp.Expr) -> list[Item]:
    """How much a sum changes, and where that may not fit, whether it does."""
    name = change_column(kept, groups)
    one, other = _weighed(value, kept.argument_type)
    if may_not_fit(kept):
        product = _try("TRY_MULTIPLY", one, other)
        total = _try("TRY_SUM", product)
        values = exp.Count(this=value.copy(), big_int=True)
        some_lost = exp.GT(this=values, expression=exp.Count(this=product.copy(), big_int=True))
        all_lost = exp.and_(
            exp.Is(this=total.copy(), expression=exp.Null()),
            exp.GT(this=values.copy(), expression=exp.Literal.number(0)),
        )
        return [Item(name, total), Item(unfit_column(kept), exp.or_(some_lost, all_lost))]
    total = exp.Sum(this=exp.Mul(this=one, expression=other))
    # Of a decimal Spark would make a wider one, and adding that would cost digits behind the point.
    return [Item(name, total if decimal(kept.argument_type) is None else cast(total, kept.type))]


def _weighed(value: exp.Expr, kind: str) -> tuple[exp.Expr, exp.Expr]:
    """Value and weight, to be multiplied in a type in which nothing is lost."""
    if decimal(kind) is not None:
        return _operand(value), cast(column(WEIGHT), "decimal(10,0)")
    exact = "bigint" if is_integer(kind) else "double"
    return cast(value.copy(), exact), column(WEIGHT)


def _try(function: str, *values: exp.Expr) -> exp.Expr:
    """A function that gives NULL where its plain one fails."""
    return exp.Anonymous(this=function, expressions=[value.copy() for value in values])


def _total(value: exp.Expr, groups: Groups) -> exp.Expr:
    total = exp.Sum(this=value.copy())
    # Over no rows at all, which only happens without keys, the sum of nothing is 0 here.
    return total if groups.keys else exp.Coalesce(this=total, expressions=[exp.Literal.number(0)])


def _lost() -> exp.Expr:
    return exp.LT(this=column(WEIGHT), expression=exp.Literal.number(0))


def _when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.case().when(condition, value).else_(exp.Literal.number(0))


def _only(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.case().when(condition.copy(), value.copy())


def _operand(value: exp.Expr) -> exp.Expr:
    return exp.paren(value.copy()) if isinstance(value, (exp.Binary, exp.Unary, exp.Case)) else value.copy()
