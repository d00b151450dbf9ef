"""The change of a node put into its table, as statements over the leaves of a step: `target` is the table, `delta`
what `differentiate` computed, `groups` the keys to compute again, `recomputed` the result of that.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.plan import (
    DELTA,
    GROUPS,
    RECOMPUTED,
    TARGET,
    WEIGHT,
    Groups,
    Keep,
    Kept,
    Node,
    Version,
    leaf,
)
from spark_trickle.delta.rules.aggregate import LOST, N, change_column, gone_column, new_column
from spark_trickle.delta.types import cast
from spark_trickle.delta.upkeep import average
from spark_trickle.errors import InternalError
from spark_trickle.sql.operators import Aggregate, Item, Join, Operator, Project, Scan, ScanColumn, column
from spark_trickle.sql.render import render
from spark_trickle.sql.rewrite import simplified

# A user may have a column called t, and a struct at that: the aliases are names that users may not have.
_T, _S, _D, _G, _R = "_trickle_t", "_trickle_s", "_trickle_d", "_trickle_g", "_trickle_r"
TARGET_ALIAS, DELTA_ALIAS = _T, _S
_AGAIN, _THERE, FLAG = "_trickle_again", "_trickle_there", "_trickle_flag"


def flagged(node: Node) -> exp.Query | None:
    """Keys of the groups in the delta that cannot be merged; None if all can. Without keys: a row, if it must be."""
    groups = _groups(node)
    delta, target = _step(DELTA, _D), _step(TARGET, _T)
    chosen: list[exp.Expr] = [column(key, _D) for key in groups.keys] or [exp.alias_(exp.true(), FLAG, quoted=True)]
    ways = {kept.how for kept in groups.kept}
    if Keep.RECOMPUTE in ways:
        return exp.select(*chosen).from_(delta)
    extrema = [kept for kept in groups.kept if kept.how in (Keep.MIN, Keep.MAX)]
    lost = exp.NEQ(this=column(LOST, _D), expression=exp.Literal.number(0))
    if Keep.FLOAT_SUM in ways:
        return exp.select(*chosen).from_(delta).where(lost)
    if not extrema:
        return None
    query = exp.select(*chosen).from_(delta).join(target, on=_same(groups.keys, _T, _D))
    return query.where(lost, exp.or_(*(_extremum_lost(kept) for kept in extrema)))


def _extremum_lost(kept: Kept, delta: str = _D) -> exp.Expr:
    """The extremum went, and nothing at least as good came. If there was none, all rows of the group may have gone."""
    old, new, gone = column(kept.column, _T), column(new_column(kept), delta), column(gone_column(kept), delta)
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
    lost = exp.NEQ(this=column(LOST, DELTA_ALIAS), expression=exp.Literal.number(0))
    if Keep.FLOAT_SUM in ways:
        return lost
    extrema = [kept for kept in groups.kept if kept.how in (Keep.MIN, Keep.MAX)]
    if not extrema:
        return exp.false()
    return exp.and_(lost, exp.or_(*(_extremum_lost(kept, DELTA_ALIAS) for kept in extrema)))


def recomputed(node: Node) -> exp.Query:
    """The node's query for the groups in `groups` only; without keys the whole of it."""
    groups = _groups(node)
    if not groups.keys:
        return node.query.copy()
    aggregate = groups.operator
    names = tuple(f"_trickle_group_{i}" for i in range(len(groups.keys)))
    wanted = Scan(
        GROUPS, tuple(ScanColumn(n, key) for n, key in zip(names, groups.keys, strict=True)), Version.STEP.value
    )
    same = tuple(
        exp.NullSafeEQ(this=_operand(key.expression), expression=column(name))
        for key, name in zip(aggregate.keys, names, strict=True)
    )
    # `groups` has each key once, so joining is restricting.
    narrowed: Operator = Join((wanted, aggregate.input), same)
    items = tuple(Item(name, column(name)) for name in node.columns)
    return render(simplified(Project(Aggregate(narrowed, aggregate.keys, aggregate.calls), items)))


def merge_statement(node: Node, *, with_recomputed: bool) -> exp.Merge:
    """The MERGE of the delta into the table of a `Groups` node with keys."""
    groups = _groups(node)
    source = _merge_source(groups, with_recomputed=with_recomputed)
    merged = {kept.column: _merged(kept, groups) for kept in groups.kept}
    inserted = {kept.column: _inserted(kept, groups) for kept in groups.kept}
    empty = _empty(groups)
    there: exp.Expr | None = exp.GT(this=column(N, _S), expression=exp.Literal.number(0))
    if with_recomputed:
        again, found = column(_AGAIN, _S), column(_THERE, _S)
        merged = {name: _either(again, column(_again(name), _S), value) for name, value in merged.items()}
        inserted = {name: _either(again, column(_again(name), _S), value) for name, value in inserted.items()}
        empty = (
            exp.and_(again.copy(), found.copy().not_())
            if empty is None
            else _either(again, exp.not_(found.copy()), empty)
        )
        there = _either(again, found, there)
    whens = []
    if empty is not None:
        whens.append(exp.When(matched=True, source=False, condition=empty, then=exp.Var(this="DELETE")))
    whens.append(_update(merged, _differs(groups, merged)))
    keys: dict[str, exp.Expr] = {key: column(key, _S) for key in groups.keys}
    whens.append(_insert({name: {**keys, **inserted}[name] for name in node.columns}, there))
    return _merge(source, groups.keys, whens)


def overwrite_statement(node: Node) -> exp.Query:
    """The new single row of a node without keys, from the old one and the delta."""
    groups = _groups(node)
    values = {kept.column: _merged(kept, groups) for kept in groups.kept}
    query = exp.select(*(exp.alias_(values[name], name, quoted=True) for name in node.columns))
    return query.from_(_step(TARGET, _T)).join(_step(DELTA, _S), join_type="cross")


def keyed_merge_statement(node: Node) -> exp.Merge:
    """The MERGE of a change into a `Bag` whose rows have a key: of each key at most one row went and one came."""
    if not node.key:
        raise InternalError(f"'{node.label}' has no key to merge by")
    columns = [column(name, _D) for name in (*node.columns, WEIGHT)]
    zero = exp.Literal.number(0)
    came = exp.select(*columns).from_(_step(DELTA, _D)).where(exp.GT(this=column(WEIGHT, _D), expression=zero))
    other = exp.select(exp.Literal.number(1)).from_(_step(DELTA, _R))
    other = other.where(exp.GT(this=column(WEIGHT, _R), expression=zero.copy()), _same(node.key, _R, _D))
    went = exp.select(*(found.copy() for found in columns)).from_(_step(DELTA, _D))
    went = went.where(exp.LT(this=column(WEIGHT, _D), expression=zero.copy()), exp.not_(exp.Exists(this=other)))
    source = exp.union(came, went, distinct=False)
    gone = exp.LT(this=column(WEIGHT, _S), expression=zero.copy())
    values: dict[str, exp.Expr] = {name: column(name, _S) for name in node.columns}
    whens = [exp.When(matched=True, source=False, condition=gone, then=exp.Var(this="DELETE"))]
    rest = {name: value for name, value in values.items() if name not in node.key}
    if rest:
        whens.append(_update(rest, None))
    whens.append(_insert(values, exp.GT(this=column(WEIGHT, _S), expression=zero.copy())))
    return _merge(source, node.key, whens)


def _groups(node: Node) -> Groups:
    if not isinstance(node.upkeep, Groups):
        raise InternalError(f"'{node.label}' is kept row by row, not by groups")
    return node.upkeep


def _step(name: str, alias: str) -> exp.Table:
    found = leaf(Version.STEP, name)
    return exp.alias_(found, alias, table=True, quoted=True)  # type: ignore[return-value]


def _same(keys: tuple[str, ...], one: str, other: str) -> exp.Expr:
    if not keys:
        return exp.true()
    return exp.and_(*(exp.NullSafeEQ(this=column(key, one), expression=column(key, other)) for key in keys))


def _operand(value: exp.Expr) -> exp.Expr:
    return value.copy() if isinstance(value, (exp.Column, exp.Func)) else exp.paren(value.copy())


def _either(condition: exp.Expr, yes: exp.Expr, no: exp.Expr | None) -> exp.Expr:
    found = exp.case().when(condition.copy(), yes.copy())
    return found if no is None else found.else_(no.copy())


def _again(name: str) -> str:
    return f"_trickle_again_{name}"


def _merge_source(groups: Groups, *, with_recomputed: bool) -> exp.Query:
    names = [*groups.keys, N, LOST]
    for kept in groups.kept:
        if kept.how in (Keep.COUNT, Keep.SUM, Keep.FLOAT_SUM) and kept.column != groups.rows:
            names.append(change_column(kept, groups))
        if kept.how in (Keep.MIN, Keep.MAX):
            names.append(new_column(kept))
    query = exp.select(*(column(name, _D) for name in names)).from_(_step(DELTA, _D))
    if not with_recomputed:
        return query
    true = exp.alias_(exp.true(), FLAG, quoted=True)
    again = exp.select(*(column(key, _G) for key in groups.keys), true.copy()).from_(_step(GROUPS, _G))
    columns = [column(name, _R) for name in (*groups.keys, *(kept.column for kept in groups.kept))]
    result = exp.select(*columns, true.copy()).from_(_step(RECOMPUTED, _R))
    query = query.select(
        exp.alias_(_present(_G), _AGAIN, quoted=True),
        exp.alias_(_present(_R), _THERE, quoted=True),
        *(exp.alias_(column(kept.column, _R), _again(kept.column), quoted=True) for kept in groups.kept),
    )
    query = query.join(again.subquery(_G), on=_same(groups.keys, _D, _G), join_type="left")
    return query.join(result.subquery(_R), on=_same(groups.keys, _D, _R), join_type="left")


def _present(alias: str) -> exp.Expr:
    return exp.Is(this=column(FLAG, alias), expression=exp.Null()).not_()


def _merged(kept: Kept, groups: Groups) -> exp.Expr:
    """The new value of a column, from the old row `t` and the change `s`."""
    old = column(kept.column, _T)
    match kept.how:
        case Keep.COUNT:
            return exp.Add(this=old, expression=column(change_column(kept, groups), _S))
        case Keep.SUM if kept.count is not None:
            zero = exp.Literal.number(0)
            both = [
                exp.Coalesce(this=part, expressions=[zero.copy()])
                for part in (old, column(change_column(kept, groups), _S))
            ]
            total = cast(exp.Add(this=both[0], expression=both[1]), kept.type)
            return exp.case().when(exp.GT(this=_value(kept.count, groups), expression=zero.copy()), total)
        case Keep.SUM | Keep.FLOAT_SUM:
            change = column(change_column(kept, groups), _S)
            total = exp.Add(this=old.copy(), expression=change.copy())
            return cast(exp.Coalesce(this=total, expressions=[old.copy(), change.copy()]), kept.type)
        case Keep.MIN | Keep.MAX:
            best = exp.Least if kept.how is Keep.MIN else exp.Greatest
            return best(this=old, expressions=[column(new_column(kept), _S)], ignore_nulls=True)
        case Keep.AVG:
            assert kept.sum is not None and kept.count is not None
            return average(_value(kept.sum, groups), _value(kept.count, groups), kept.type)
        case Keep.RECOMPUTE:
            return old  # never used: each changed group is recomputed


def _value(name: str, groups: Groups) -> exp.Expr:
    return _merged(next(kept for kept in groups.kept if kept.column == name), groups)


def _inserted(kept: Kept, groups: Groups) -> exp.Expr:
    """The value of a column in a group that was not there."""
    match kept.how:
        case Keep.COUNT:
            return column(change_column(kept, groups), _S)
        case Keep.SUM | Keep.FLOAT_SUM:
            value = cast(column(change_column(kept, groups), _S), kept.type)
            if kept.count is None:
                return value
            counted = _first(kept.count, groups)
            return exp.case().when(exp.GT(this=counted, expression=exp.Literal.number(0)), value)
        case Keep.MIN | Keep.MAX:
            return column(new_column(kept), _S)
        case Keep.AVG:
            assert kept.sum is not None and kept.count is not None
            return average(_first(kept.sum, groups), _first(kept.count, groups), kept.type)
        case Keep.RECOMPUTE:
            return cast(exp.Null(), kept.type)


def _first(name: str, groups: Groups) -> exp.Expr:
    return _inserted(next(kept for kept in groups.kept if kept.column == name), groups)


def _empty(groups: Groups) -> exp.Expr | None:
    """Has the group no rows any more? None: then it is recomputed."""
    if groups.rows is None:
        return None
    return exp.EQ(this=_value(groups.rows, groups), expression=exp.Literal.number(0))


def _differs(groups: Groups, merged: dict[str, exp.Expr]) -> exp.Expr | None:
    """An extremum that stays, or a recomputed group that comes out the same, is not written again."""
    if all(kept.how in (Keep.COUNT, Keep.SUM, Keep.AVG) for kept in groups.kept):
        return None
    same = [exp.NullSafeEQ(this=column(name, _T), expression=exp.paren(value.copy())) for name, value in merged.items()]
    return exp.not_(exp.paren(exp.and_(*same)))


def _update(values: dict[str, exp.Expr], condition: exp.Expr | None) -> exp.When:
    changes = [exp.EQ(this=column(name), expression=value.copy()) for name, value in values.items()]
    return exp.When(matched=True, source=False, condition=condition, then=exp.Update(expressions=changes))


def _insert(values: dict[str, exp.Expr], condition: exp.Expr | None) -> exp.When:
    names = exp.Tuple(expressions=[column(name) for name in values])
    then = exp.Insert(this=names, expression=exp.Tuple(expressions=[value.copy() for value in values.values()]))
    return exp.When(matched=False, source=False, condition=condition, then=then)


def _merge(source: exp.Query, keys: tuple[str, ...], whens: list[exp.When]) -> exp.Merge:
    return exp.Merge(
        this=_step(TARGET, _T),
        using=source.subquery(exp.to_identifier(_S, quoted=True)),
        on=_same(keys, _T, _S),
        whens=exp.Whens(expressions=whens),
    )


step, same_key, groups_of = _step, _same, _groups
merged_value, inserted_value, now_empty = _merged, _inserted, _empty
