"""What becomes of each group that a delta touches: its row before and after, side by side.

One query over `step.delta` and `step.target` gives, per touched key, the old row, the new row and what happened to it.
From that follow the change of the node (old rows out, new rows in), the MERGE that writes it, and whether anything
changed at all, without looking at the table again. Groups that cannot be merged are flagged; `settled` puts their
recomputed rows in.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.merge import (
    DELTA_ALIAS,
    TARGET_ALIAS,
    groups_of,
    inserted_value,
    merged_value,
    must_recompute,
    now_empty,
    removal,
    same_key,
    step,
)
from spark_trickle.delta.plan import DELTA, RECOMPUTED, TARGET, WEIGHT, Groups, Kept, Node
from spark_trickle.delta.rules.aggregate import N
from spark_trickle.delta.types import hard_to_group, is_map
from spark_trickle.sql.leaves import StepLeaf, key_range
from spark_trickle.sql.operators import column

TRANSITIONS = StepLeaf("transitions")
"""Holds the result of `transitions` or `settled`."""

THERE, EMPTY, FLAG, GONE, CAME = (
    "_trickle_there",
    "_trickle_empty",
    "_trickle_flag",
    "_trickle_gone",
    "_trickle_came",
)
FILE, POSITION = "_trickle_file", "_trickle_pos"
"""Where the old row is: columns of `step.target` and of the transitions of it, if whoever runs them has addresses."""
_ADDRESS = (FILE, POSITION)
_X, _R = "_trickle_x", "_trickle_r"


def old(name: str) -> str:
    """Column of a transition that holds the value from before."""
    return f"_trickle_old_{name}"


def transitions(node: Node, *, addressed: bool = False) -> exp.Query:
    """Per touched group: keys, old and new values, whether the row goes, comes, or must be recomputed.

    Args:
        addressed: the target has the addresses of its rows, and the old rows' are wanted.
    """
    groups = groups_of(node)
    there = _present(THERE, TARGET_ALIAS) if groups.keys else exp.true()
    values: dict[str, exp.Expr] = {}
    for kept in groups.kept:
        merged = merged_value(kept, groups)
        values[kept.column] = merged if not groups.keys else _either(there, merged, inserted_value(kept, groups))
    empty: exp.Expr = exp.false()
    if groups.keys:
        nothing_came = exp.LTE(this=column(N, DELTA_ALIAS), expression=exp.Literal.number(0))
        empty = _either(there, now_empty(groups) or exp.false(), nothing_came)
    inner = exp.select(
        *(exp.alias_(column(key, DELTA_ALIAS), key, quoted=True) for key in groups.keys),
        *(exp.alias_(column(name, TARGET_ALIAS), old(name), quoted=True) for name in values),
        *(exp.alias_(value, name, quoted=True) for name, value in values.items()),
        exp.alias_(there.copy(), THERE, quoted=True),
        exp.alias_(empty, EMPTY, quoted=True),
        exp.alias_(must_recompute(groups), FLAG, quoted=True),
        *(column(name, TARGET_ALIAS) for name in _ADDRESS if addressed),
    ).from_(step(DELTA, DELTA_ALIAS))
    known = exp.select("*", exp.alias_(exp.true(), THERE, quoted=True)).from_(step(TARGET, "_trickle_known"))
    target = known.subquery(exp.to_identifier(TARGET_ALIAS, quoted=True))
    if groups.keys:
        inner = inner.join(target, on=same_key(groups.keys, TARGET_ALIAS, DELTA_ALIAS), join_type="left")
    else:
        inner = inner.join(target, join_type="cross")
    return _judged(inner, groups, addressed=addressed)


def settled(node: Node, *, addressed: bool = False) -> exp.Query:
    """The transitions with the recomputed rows of flagged groups in place; one that was not found again is empty."""
    groups = groups_of(node)
    names = tuple(kept.column for kept in groups.kept)
    flag = column(FLAG, _X)
    found = _present("_trickle_found", _R)
    inner = exp.select(
        *(exp.alias_(column(key, _X), key, quoted=True) for key in groups.keys),
        *(exp.alias_(column(old(name), _X), old(name), quoted=True) for name in names),
        *(exp.alias_(_either(flag, column(name, _R), column(name, _X)), name, quoted=True) for name in names),
        exp.alias_(column(THERE, _X), THERE, quoted=True),
        exp.alias_(_either(flag, exp.not_(found), column(EMPTY, _X)), EMPTY, quoted=True),
        exp.alias_(exp.false(), FLAG, quoted=True),
        *(column(name, _X) for name in _ADDRESS if addressed),
    ).from_(step(TRANSITIONS, _X))
    again = exp.select("*", exp.alias_(exp.true(), "_trickle_found", quoted=True)).from_(
        step(RECOMPUTED, "_trickle_again")
    )
    result = again.subquery(exp.to_identifier(_R, quoted=True))
    on = same_key(groups.keys, _X, _R) if groups.keys else exp.true()
    return _judged(inner.join(result, on=on, join_type="left"), groups, addressed=addressed)


def flagged_keys(node: Node) -> exp.Query:
    """Keys of the groups that must be recomputed."""
    groups = groups_of(node)
    chosen: list[exp.Expr] = [column(key, _X) for key in groups.keys] or [exp.alias_(exp.true(), FLAG, quoted=True)]
    return exp.select(*chosen).from_(step(TRANSITIONS, _X)).where(column(FLAG, _X))


def change(node: Node) -> exp.Query:
    """The change of the node: its columns and the weight."""
    groups = groups_of(node)

    def side(name: str, *, before: bool) -> exp.Expr:
        source = old(name) if before and name not in groups.keys else name
        return exp.alias_(column(source, _X), name, quoted=True)

    def rows(happened: str, weight: int, *, before: bool) -> exp.Select:
        chosen = [side(name, before=before) for name in node.columns]
        marked = exp.alias_(exp.cast(exp.Literal.number(weight), "bigint"), WEIGHT, quoted=True)
        return exp.select(*chosen, marked).from_(step(TRANSITIONS, _X)).where(column(happened, _X))

    return exp.union(rows(GONE, -1, before=True), rows(CAME, 1, before=False), distinct=False)


def write_statement(node: Node) -> exp.Merge:
    """The MERGE that writes the transitions of a node with keys."""
    groups = groups_of(node)
    either = exp.or_(column(GONE, _X), column(CAME, _X))
    source = (
        exp.select(*(column(name, _X) for name in (*node.columns, CAME))).from_(step(TRANSITIONS, _X)).where(either)
    )
    came = column(CAME, DELTA_ALIAS)
    values: dict[str, exp.Expr] = {name: column(name, DELTA_ALIAS) for name in node.columns}
    update = exp.Update(
        expressions=[exp.EQ(this=column(n), expression=v.copy()) for n, v in values.items() if n not in groups.keys]
    )
    whens = [exp.When(matched=True, source=False, condition=exp.not_(came.copy()), then=exp.Var(this="DELETE"))]
    if update.expressions:
        whens.append(exp.When(matched=True, source=False, then=update))
    insert = exp.Insert(
        this=exp.Tuple(expressions=[column(name) for name in values]),
        expression=exp.Tuple(expressions=[value.copy() for value in values.values()]),
    )
    whens.append(exp.When(matched=False, source=False, condition=came, then=insert))
    return exp.Merge(
        this=step(TARGET, TARGET_ALIAS),
        using=source.subquery(exp.to_identifier(DELTA_ALIAS, quoted=True)),
        on=same_key(groups.keys, TARGET_ALIAS, DELTA_ALIAS),
        whens=exp.Whens(expressions=whens),
    )


def removal_statement(node: Node) -> exp.Merge:
    """The MERGE that only takes rows away: Spark can broadcast the change and need not move a large table."""
    groups = groups_of(node)
    gone = exp.select(*(column(key, _X) for key in groups.keys)).from_(step(TRANSITIONS, _X)).where(column(GONE, _X))
    return removal(gone, groups.keys)


def touched_rows(node: Node) -> exp.Query:
    """The rows of the table that belong to groups of the delta: what `transitions` needs of a large table."""
    keys = groups_of(node).keys
    wanted = exp.select(*(column(key, "_trickle_w") for key in keys)).from_(step(DELTA, "_trickle_w"))
    query = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("_trickle_k", quoted=True)))
    query = query.from_(step(TARGET, "_trickle_k")).join(
        wanted.subquery(exp.to_identifier("_trickle_b", quoted=True)), on=same_key(keys, "_trickle_k", "_trickle_b")
    )
    # Files whose bounds hold none of the keys are not read.
    query = query.where(key_range(column(keys[0], "_trickle_k"), DELTA, keys[0], nulls=True))
    return query.hint(exp.Anonymous(this="BROADCAST", expressions=[exp.to_identifier("_trickle_b", quoted=True)]))


def rewritten(node: Node) -> exp.Query:
    """All rows of the table after the change: those that nothing happened to, and the new ones."""
    keys = groups_of(node).keys
    moved = exp.select(exp.Literal.number(1)).from_(step(TRANSITIONS, _X))
    moved = moved.where(column(GONE, _X), same_key(keys, _X, TARGET_ALIAS))
    stay = exp.select(*(column(name, TARGET_ALIAS) for name in node.columns)).from_(step(TARGET, TARGET_ALIAS))
    return exp.union(stay.where(exp.not_(exp.Exists(this=moved))), new_rows(node), distinct=False)


def new_rows(node: Node) -> exp.Query:
    """The rows that come: for a node without keys, its one new row."""
    chosen = [column(name, _X) for name in node.columns]
    return exp.select(*chosen).from_(step(TRANSITIONS, _X)).where(column(CAME, _X))


def _judged(inner: exp.Select, groups: Groups, *, addressed: bool) -> exp.Query:
    """Add what happened to each row; what stays as it was neither goes nor comes."""
    keys, names = groups.keys, tuple(kept.column for kept in groups.kept)
    same = exp.and_(*(_same(kept) for kept in groups.kept), exp.true())
    there, empty = column(THERE, _R), column(EMPTY, _R)
    stays = exp.paren(exp.and_(there.copy(), exp.not_(empty.copy()), exp.paren(same)))
    # A flagged row is not judged by values that are about to be replaced.
    moved = exp.or_(column(FLAG, _R), exp.not_(stays))
    carried = (*keys, *(old(name) for name in names), *names, THERE, EMPTY, FLAG, *(_ADDRESS if addressed else ()))
    return exp.select(
        *(column(name, _R) for name in carried),
        exp.alias_(exp.and_(there.copy(), exp.paren(moved.copy())), GONE, quoted=True),
        exp.alias_(exp.and_(exp.not_(empty.copy()), exp.paren(moved.copy())), CAME, quoted=True),
    ).from_(inner.subquery(exp.to_identifier(_R, quoted=True)))


def _same(kept: Kept) -> exp.Expr:
    """Whether a column is what it was. Spark cannot compare maps, and takes 0.0 and -0.0 for one."""
    before, now = column(old(kept.column), _R), column(kept.column, _R)
    equal = exp.NullSafeEQ(this=before, expression=now)
    text = exp.NullSafeEQ(this=exp.cast(before.copy(), "text"), expression=exp.cast(now.copy(), "text"))
    kind = kept.type.lower()
    if is_map(kind):
        entries = (exp.func("MAP_ENTRIES", value.copy()) for value in (before, now))
        # 'null' and NULL have the same text.
        return exp.and_(text, exp.NullSafeEQ(this=next(entries), expression=next(entries)))
    if "map<" in kind or "variant" in kind:
        return exp.false()
    return exp.and_(equal, text) if hard_to_group(kind) else equal


def _present(name: str, alias: str) -> exp.Expr:
    return exp.not_(exp.Is(this=column(name, alias), expression=exp.Null()))


def _either(condition: exp.Expr, yes: exp.Expr, no: exp.Expr) -> exp.Expr:
    return exp.case().when(condition.copy(), yes.copy()).else_(no.copy())
