"""The change of a node put into its table, as statements over the leaves of a step: `target` is the table, `delta`
what `differentiate` computed, `groups` the keys to compute again, `recomputed` the result of that.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.partitions import within_groups
from spark_trickle.delta.plan import (
    DELTA,
    TARGET,
    WEIGHT,
    Groups,
    Keep,
    Kept,
    Node,
)
from spark_trickle.delta.rules.aggregate import LOST, change_column, gone_column, may_not_fit, new_column, unfit_column
from spark_trickle.delta.types import cast
from spark_trickle.delta.upkeep import average
from spark_trickle.errors import InternalError
from spark_trickle.sql.leaves import StepLeaf, leaf_table
from spark_trickle.sql.operators import Aggregate, Item, Project, column
from spark_trickle.sql.render import render
from spark_trickle.sql.rewrite import simplified

# A user may have a column called t, and a struct at that: the aliases are names that users may not have.
TARGET_ALIAS, DELTA_ALIAS = "_trickle_t", "_trickle_s"
_D, _R = "_trickle_d", "_trickle_r"


def _extremum_lost(kept: Kept) -> exp.Expr:
    """The extremum went, and nothing at least as good came. If there was none, all rows of the group may have gone."""
    old, new, gone = (
        column(kept.column, TARGET_ALIAS),
        column(new_column(kept), DELTA_ALIAS),
        column(gone_column(kept), DELTA_ALIAS),
    )
    reached = exp.LTE if kept.how is Keep.MIN else exp.GTE
    worse = exp.GT if kept.how is Keep.MIN else exp.LT
    nothing_new = exp.Is(this=new.copy(), expression=exp.Null())
    none_before = exp.and_(exp.Is(this=old.copy(), expression=exp.Null()), nothing_new)
    went = exp.and_(
        reached(this=gone.copy(), expression=old.copy()),
        exp.or_(nothing_new, worse(this=new.copy(), expression=gone.copy())),
    )
    return exp.or_(none_before, went)


def must_recompute(groups: Groups) -> exp.Expr:
    """Whether a group cannot be merged: over the old row and the delta."""
    ways = {kept.how for kept in groups.kept}
    if Keep.RECOMPUTE in ways:
        return exp.true()
    unfit = [column(unfit_column(kept), DELTA_ALIAS) for kept in groups.kept if may_not_fit(kept)]
    doubtful = _doubtful(groups, ways)
    return exp.or_(*unfit, doubtful) if unfit else doubtful


def _doubtful(groups: Groups, ways: set[Keep]) -> exp.Expr:
    """Whether the old row and the delta do not tell what a group is now."""
    lost = exp.NEQ(this=column(LOST, DELTA_ALIAS), expression=exp.Literal.number(0))
    if Keep.FLOAT_SUM in ways:
        return exp.or_(lost, *(_digits_lost(kept, groups) for kept in groups.kept if kept.how is Keep.FLOAT_SUM))
    doubts = [_extremum_lost(kept) for kept in groups.kept if kept.how in (Keep.MIN, Keep.MAX)]
    doubts += [_sum_may_be_null(kept, groups) for kept in groups.kept if kept.how is Keep.SUM and kept.count is None]
    return exp.and_(lost, exp.or_(*doubts)) if doubts else exp.false()


_LARGEST = "1.7976931348623157E308"
"""Of finite doubles; NaN is larger than all numbers."""
_CANCELLED = "1000.0"
"""A floating sum that becomes so many times smaller than what it was made of has lost digits."""


def _digits_lost(kept: Kept, groups: Groups) -> exp.Expr:
    """Has a floating sum nearly cancelled (1e16 + 1 - 1e16), or become infinite though its values may not be?"""
    old = column(kept.column, TARGET_ALIAS)
    change = column(change_column(kept, groups), DELTA_ALIAS)
    new = exp.Add(this=old.copy(), expression=change.copy())
    parts = exp.Add(this=exp.Abs(this=old.copy()), expression=exp.Abs(this=change.copy()))
    shrunk = exp.Mul(this=exp.Abs(this=new), expression=exp.Literal.number(_CANCELLED))
    cancelled = exp.LT(this=shrunk, expression=parts)
    finite = [exp.LTE(this=exp.Abs(this=part.copy()), expression=exp.Literal.number(_LARGEST)) for part in (old, new)]
    doubtful = exp.or_(cancelled, exp.and_(finite[0], exp.not_(finite[1])))
    # Without an old sum there is nothing to lose.
    return exp.Coalesce(this=doubtful, expressions=[exp.false()])


def _sum_may_be_null(kept: Kept, groups: Groups) -> exp.Expr:
    """Values went and the sum is 0 now: either they add up to 0, or none is left."""
    zero = exp.Literal.number(0)
    change = column(change_column(kept, groups), DELTA_ALIAS)
    old = exp.Coalesce(this=column(kept.column, TARGET_ALIAS), expressions=[zero.copy()])
    doubt: exp.Expr = exp.EQ(this=exp.Add(this=old, expression=change), expression=zero)
    empty = now_empty(groups) if groups.keys else None
    # A group without rows goes, whatever its sum. One that was not there has no old row: it is not known to be empty.
    known = None if empty is None else exp.Coalesce(this=empty, expressions=[exp.false()])
    return doubt if known is None else exp.and_(doubt, exp.not_(known))


def recomputed(node: Node) -> exp.Query:
    """The node's query for the groups in `groups` only; without keys the whole of it."""
    groups = groups_of(node)
    if not groups.keys:
        return node.query.copy()
    aggregate = groups.operator
    keys = [(name, key.expression) for name, key in zip(groups.keys, aggregate.keys, strict=True)]
    narrowed = within_groups(aggregate.input, keys)
    items = tuple(Item(name, column(name)) for name in node.columns)
    return render(simplified(Project(Aggregate(narrowed, aggregate.keys, aggregate.calls), items)))


def keyed_merge_statement(node: Node) -> exp.Merge:
    """The MERGE of a change into a `Bag` whose rows have a key: of each key at most one row went and one came."""
    if not node.key:
        raise InternalError(f"'{node.label}' has no key to merge by")
    columns = [column(name, _D) for name in (*node.columns, WEIGHT)]
    zero = exp.Literal.number(0)
    came = exp.select(*columns).from_(step(DELTA, _D)).where(exp.GT(this=column(WEIGHT, _D), expression=zero))
    other = exp.select(exp.Literal.number(1)).from_(step(DELTA, _R))
    other = other.where(exp.GT(this=column(WEIGHT, _R), expression=zero.copy()), same_key(node.key, _R, _D))
    went = exp.select(*(found.copy() for found in columns)).from_(step(DELTA, _D))
    went = went.where(exp.LT(this=column(WEIGHT, _D), expression=zero.copy()), exp.not_(exp.Exists(this=other)))
    source = exp.union(came, went, distinct=False)
    gone = exp.LT(this=column(WEIGHT, DELTA_ALIAS), expression=zero.copy())
    values: dict[str, exp.Expr] = {name: column(name, DELTA_ALIAS) for name in node.columns}
    whens = [exp.When(matched=True, source=False, condition=gone, then=exp.Var(this="DELETE"))]
    rest = {name: value for name, value in values.items() if name not in node.key}
    if rest:
        whens.append(_update(rest, None))
    whens.append(_insert(values, exp.GT(this=column(WEIGHT, DELTA_ALIAS), expression=zero.copy())))
    return _merge(source, node.key, whens)


def keyed_removal_statement(node: Node) -> exp.Merge:
    """The MERGE that takes away what a change removes from a `Bag` with a key; what it adds is appended afterwards."""
    if not node.key:
        raise InternalError(f"'{node.label}' has no key to merge by")
    went = exp.LT(this=column(WEIGHT, _D), expression=exp.Literal.number(0))
    return removal(exp.select(*(column(key, _D) for key in node.key)).from_(step(DELTA, _D)).where(went), node.key)


def keyed_rewritten(node: Node) -> exp.Query:
    """All rows of a `Bag` with a key after a change: those that it does not remove, and those that it adds."""
    if not node.key:
        raise InternalError(f"'{node.label}' has no key to find rows by")
    zero = exp.Literal.number(0)
    gone = exp.select(exp.Literal.number(1)).from_(step(DELTA, _R))
    gone = gone.where(exp.LT(this=column(WEIGHT, _R), expression=zero.copy()), same_key(node.key, _R, TARGET_ALIAS))
    stay = exp.select(*(column(name, TARGET_ALIAS) for name in node.columns)).from_(step(TARGET, TARGET_ALIAS))
    came = exp.select(*(column(name, _D) for name in node.columns)).from_(step(DELTA, _D))
    came = came.where(exp.GT(this=column(WEIGHT, _D), expression=zero))
    return exp.union(stay.where(exp.not_(exp.Exists(this=gone))), came, distinct=False)


def removal(keys_gone: exp.Query, keys: tuple[str, ...]) -> exp.Merge:
    """A MERGE that deletes the rows with these keys."""
    return _merge(keys_gone, keys, [exp.When(matched=True, source=False, then=exp.Var(this="DELETE"))])


def groups_of(node: Node) -> Groups:
    if not isinstance(node.upkeep, Groups):
        raise InternalError(f"'{node.label}' is kept row by row, not by groups")
    return node.upkeep


def step(leaf: StepLeaf, alias: str) -> exp.Table:
    return exp.alias_(leaf_table(leaf), alias, table=True, quoted=True)  # type: ignore[return-value]


def same_key(keys: tuple[str, ...], one: str, other: str) -> exp.Expr:
    if not keys:
        return exp.true()
    return exp.and_(*(exp.NullSafeEQ(this=column(key, one), expression=column(key, other)) for key in keys))


def merged_value(kept: Kept, groups: Groups) -> exp.Expr:
    """The new value of a column, from the old row `t` and the change `s`."""
    old = column(kept.column, TARGET_ALIAS)
    match kept.how:
        case Keep.COUNT:
            return exp.Add(this=old, expression=column(change_column(kept, groups), DELTA_ALIAS))
        case Keep.SUM if kept.count is not None:
            zero = exp.Literal.number(0)
            both = [
                exp.Coalesce(this=part, expressions=[zero.copy()])
                for part in (old, column(change_column(kept, groups), DELTA_ALIAS))
            ]
            total = cast(exp.Add(this=both[0], expression=both[1]), kept.type)
            return exp.case().when(exp.GT(this=_value(kept.count, groups), expression=zero.copy()), total)
        case Keep.SUM | Keep.FLOAT_SUM:
            change = column(change_column(kept, groups), DELTA_ALIAS)
            total = exp.Add(this=old.copy(), expression=change.copy())
            return cast(exp.Coalesce(this=total, expressions=[old.copy(), change.copy()]), kept.type)
        case Keep.MIN | Keep.MAX:
            best = exp.Least if kept.how is Keep.MIN else exp.Greatest
            return best(this=old, expressions=[column(new_column(kept), DELTA_ALIAS)], ignore_nulls=True)
        case Keep.AVG:
            assert kept.sum is not None and kept.count is not None
            return average(_value(kept.sum, groups), _value(kept.count, groups), kept.type)
        case Keep.RECOMPUTE:
            return old  # never used: each changed group is recomputed


def _value(name: str, groups: Groups) -> exp.Expr:
    return merged_value(next(kept for kept in groups.kept if kept.column == name), groups)


def inserted_value(kept: Kept, groups: Groups) -> exp.Expr:
    """The value of a column in a group that was not there."""
    match kept.how:
        case Keep.COUNT:
            return column(change_column(kept, groups), DELTA_ALIAS)
        case Keep.SUM | Keep.FLOAT_SUM:
            value = cast(column(change_column(kept, groups), DELTA_ALIAS), kept.type)
            if kept.count is None:
                return value
            counted = _first(kept.count, groups)
            return exp.case().when(exp.GT(this=counted, expression=exp.Literal.number(0)), value)
        case Keep.MIN | Keep.MAX:
            return column(new_column(kept), DELTA_ALIAS)
        case Keep.AVG:
            assert kept.sum is not None and kept.count is not None
            return average(_first(kept.sum, groups), _first(kept.count, groups), kept.type)
        case Keep.RECOMPUTE:
            return cast(exp.Null(), kept.type)


def _first(name: str, groups: Groups) -> exp.Expr:
    return inserted_value(next(kept for kept in groups.kept if kept.column == name), groups)


def now_empty(groups: Groups) -> exp.Expr | None:
    """Has the group no rows any more? None: then it is recomputed."""
    if groups.rows is None:
        return None
    return exp.EQ(this=_value(groups.rows, groups), expression=exp.Literal.number(0))


def _update(values: dict[str, exp.Expr], condition: exp.Expr | None) -> exp.When:
    changes = [exp.EQ(this=column(name), expression=value.copy()) for name, value in values.items()]
    return exp.When(matched=True, source=False, condition=condition, then=exp.Update(expressions=changes))


def _insert(values: dict[str, exp.Expr], condition: exp.Expr | None) -> exp.When:
    names = exp.Tuple(expressions=[column(name) for name in values])
    then = exp.Insert(this=names, expression=exp.Tuple(expressions=[value.copy() for value in values.values()]))
    return exp.When(matched=False, source=False, condition=condition, then=then)


def _merge(source: exp.Query, keys: tuple[str, ...], whens: list[exp.When]) -> exp.Merge:
    return exp.Merge(
        this=step(TARGET, TARGET_ALIAS),
        using=source.subquery(exp.to_identifier(DELTA_ALIAS, quoted=True)),
        on=same_key(keys, TARGET_ALIAS, DELTA_ALIAS),
        whens=exp.Whens(expressions=whens),
    )
