"""Small rewrites that spare the rules special cases: joins flattened, conditions moved next to the rows they are
about, what only looks at rows put above what multiplies them. The result of the query stays the same, row for row.
Columns that nobody reads are left out by `prune`.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Match,
    MatchKind,
    OneRow,
    Operator,
    OuterJoin,
    Project,
    Recursion,
    UnionAll,
    Window,
    column,
    inputs,
    substitute,
    used,
    with_inputs,
)
from spark_trickle.sql.prune import pruned


def simplified(operator: Operator) -> Operator:
    """All rewrites, once."""
    return pruned(pushed(operator))


def pushed(operator: Operator) -> Operator:
    """Conditions as far down as they go, joins flattened."""
    match operator:
        case Filter():
            return filtered(pushed(operator.input), operator.conditions)
        case Join():
            return _join(tuple(pushed(source) for source in operator.inputs), operator.conditions)
        case Project():
            return projected(pushed(operator.input), operator.items)
        case UnionAll():
            return _flat(operator)
        case OuterJoin():
            return _outer(operator, pushed(operator.left), pushed(operator.right))
        case Match():
            return _match(operator, pushed(operator.left), pushed(operator.right))
        case Recursion():
            return with_inputs(operator, tuple(_ordered(pushed(part), part.columns) for part in inputs(operator)))
    return with_inputs(operator, tuple(pushed(source) for source in inputs(operator)))


def _flat(union: UnionAll) -> Operator:
    """A union of unions is one, when all of them agree on types."""
    parts: list[Operator] = []
    for source in union.inputs:
        part = _ordered(pushed(source), source.columns)
        parts.extend(part.inputs if isinstance(part, UnionAll) and part.aligned and union.aligned else (part,))
    return replace(union, inputs=tuple(parts))


def _ordered(operator: Operator, columns: tuple[str, ...]) -> Operator:
    """Rewriting may change the order of columns, which counts where they correspond by position."""
    if operator.columns == columns:
        return operator
    return Project(operator, tuple(Item(name, column(name)) for name in columns))


def filtered(operator: Operator, conditions: tuple[exp.Expr, ...]) -> Operator:  # noqa: C901  one case per operator
    """The operator with conditions, placed as deep as they can be."""
    if not conditions:
        return operator
    match operator:
        case Filter():
            return filtered(operator.input, (*operator.conditions, *conditions))
        case Join():
            return _join(operator.inputs, (*operator.conditions, *conditions))
        case Project():
            values = {item.name: item.expression for item in operator.items}
            return Project(
                filtered(operator.input, tuple(substitute(condition, values) for condition in conditions)),
                operator.items,
            )
        case UnionAll() if operator.aligned:
            return replace(operator, inputs=tuple(_branch(operator, source, conditions) for source in operator.inputs))
        case Aggregate() | Distinct():
            return _below_groups(operator, conditions)
        case OuterJoin():
            return _filtered_outer(operator, conditions)
        case Match():
            down, rest = _about(conditions, operator.left.columns)
            return _with(replace(operator, left=filtered(operator.left, down)), rest)
        case Generate():
            down, rest = _about(conditions, operator.input.columns)
            return _with(replace(operator, input=filtered(operator.input, down)), rest)
        case Window():
            down, rest = _about(conditions, operator.keys)
            return _with(replace(operator, input=filtered(operator.input, down)), rest)
    return Filter(operator, conditions)


Conditions = tuple[exp.Expr, ...]


def _with(operator: Operator, conditions: Conditions) -> Operator:
    return Filter(operator, conditions) if conditions else operator


def _about(conditions: Conditions, columns: tuple[str, ...]) -> tuple[Conditions, Conditions]:
    """Conditions that read some of these columns and no others, and the rest."""
    down = tuple(c for c in conditions if used(c) and used(c) <= set(columns))
    return down, tuple(c for c in conditions if not any(c is other for other in down))


def _outer(join: OuterJoin, left: Operator, right: Operator) -> Operator:
    """Of the conditions of an outer join, those about the side that need not be there go to that side."""
    if join.keeps_right and not join.keeps_left:
        return _outer(OuterJoin(right, left, join.conditions, said=join.said), right, left)
    conditions = join.conditions
    if not join.keeps_right:
        down, conditions = _about(conditions, right.columns)
        right = filtered(right, down)
    return replace(join, left=left, right=right, conditions=conditions)


def _filtered_outer(join: OuterJoin, conditions: Conditions) -> Operator:
    """Conditions on a side whose rows all stay go down; one that no row of NULLs passes makes those rows needless."""
    needs_left = any(_rejects_nulls(c, join.left.columns) for c in conditions)
    needs_right = any(_rejects_nulls(c, join.right.columns) for c in conditions)
    keeps_left, keeps_right = join.keeps_left and not needs_right, join.keeps_right and not needs_left
    if not keeps_left and not keeps_right:
        return _join((join.left, join.right), (*join.conditions, *conditions))
    found = _outer(replace(join, keeps_left=keeps_left, keeps_right=keeps_right), join.left, join.right)
    assert isinstance(found, OuterJoin)
    if found.keeps_left and not found.keeps_right:
        down, conditions = _about(conditions, found.left.columns)
        found = replace(found, left=filtered(found.left, down))
    return _with(found, conditions)


def _rejects_nulls(condition: exp.Expr, columns: tuple[str, ...]) -> bool:
    """Is the condition never true when all of these columns are NULL? Only what is plain to see counts."""
    bare = condition.unnest()
    if not isinstance(bare, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)):
        return False
    return _is_null_with(bare.left, columns) or _is_null_with(bare.right, columns)


def _is_null_with(value: exp.Expr, columns: tuple[str, ...]) -> bool:
    """Is the value surely NULL when all of these columns are? Arithmetic with NULL is NULL."""
    bare = value.unnest()
    if isinstance(bare, exp.Column):
        return bare.name in columns
    if isinstance(bare, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        return _is_null_with(bare.left, columns) or _is_null_with(bare.right, columns)
    return isinstance(bare, exp.Neg) and _is_null_with(bare.this, columns)


def _match(match: Match, left: Operator, right: Operator) -> Operator:
    """Conditions on one side alone are that side's own; what must match may as well be filtered."""
    down, conditions = _about(match.conditions, right.columns)
    right = filtered(right, down)
    if match.kind is MatchKind.SEMI:
        down, conditions = _about(conditions, left.columns)
        left = filtered(left, down)
    return replace(match, left=left, right=right, conditions=conditions)


def _branch(union: UnionAll, source: Operator, conditions: tuple[exp.Expr, ...]) -> Operator:
    names = {mine: column(its) for mine, its in zip(union.columns, source.columns, strict=True)}
    return filtered(source, tuple(substitute(condition, names) for condition in conditions))


def _below_groups(operator: Aggregate | Distinct, conditions: tuple[exp.Expr, ...]) -> Operator:
    """A condition on keys alone drops whole groups: it may as well drop their rows."""
    if isinstance(operator, Distinct):
        return replace(operator, input=filtered(operator.input, conditions))
    keys = {item.name: item.expression for item in operator.keys}
    down = tuple(c for c in conditions if used(c) and used(c) <= set(keys))
    rest = tuple(c for c in conditions if c not in down)
    below = filtered(operator.input, tuple(substitute(condition, keys) for condition in down))
    grouped = replace(operator, input=below)
    return Filter(grouped, rest) if rest else grouped


def _join(sources: tuple[Operator, ...], conditions: tuple[exp.Expr, ...]) -> Operator:
    """One join of all; what only looks at rows, or only adds columns to them, comes after it.

    A small change then goes through the whole join before it meets the rest, which need look at few rows only.
    """
    for place, source in enumerate(sources):
        others = (*sources[:place], *sources[place + 1 :])
        if isinstance(source, Match) and source.kind is not MatchKind.MARK:
            below = _join((*sources[:place], source.left, *sources[place + 1 :]), conditions)
            return replace(source, left=below)
        if isinstance(source, OuterJoin) and others:
            pulled = _pulled(source, place, sources, conditions)
            if pulled is not None:
                return pulled
    return _flattened(sources, conditions)


def _pulled(
    join: OuterJoin, place: int, sources: tuple[Operator, ...], conditions: tuple[exp.Expr, ...]
) -> Operator | None:
    """An outer join that is an input of an inner one, put above it, where the result is the same."""
    filtered_ = _filtered_outer(join, tuple(c for c in conditions if used(c) <= set(join.columns)))
    about_both = tuple(c for c in conditions if not used(c) <= set(join.columns))
    if any(_rejects_nulls(c, join.right.columns) for c in about_both) and join.keeps_left and not join.keeps_right:
        return _join((*sources[:place], join.left, join.right, *sources[place + 1 :]), (*join.conditions, *conditions))
    if not isinstance(filtered_, OuterJoin) or filtered_.keeps_right:
        return None
    optional = set(filtered_.right.columns)
    if any(used(c) & optional for c in about_both):
        return None
    below = _join((*sources[:place], filtered_.left, *sources[place + 1 :]), about_both)
    return replace(filtered_, left=below)


def _flattened(sources: tuple[Operator, ...], conditions: tuple[exp.Expr, ...]) -> Operator:
    flat: list[Operator] = []
    every = list(conditions)
    for source in sources:
        if isinstance(source, Join):
            flat.extend(source.inputs)
            every.extend(source.conditions)
        elif not isinstance(source, OneRow):
            flat.append(source)
    if len(flat) < 2:
        return filtered(flat[0] if flat else OneRow(), tuple(every))
    kept = []
    for condition in every:
        owner = next((i for i, source in enumerate(flat) if used(condition) <= set(source.columns)), None)
        if owner is None or not used(condition):
            kept.append(condition)
        else:
            flat[owner] = filtered(flat[owner], (condition,))
    return Join(tuple(flat), tuple(kept))


def projected(operator: Operator, items: tuple[Item, ...]) -> Operator:
    """A projection of a projection is one, unless that would compute something twice."""
    if isinstance(operator, UnionAll) and (operator.aligned or all(item.is_rename for item in items)):
        return _projected_union(operator, items)
    if not isinstance(operator, Project):
        return Project(operator, items)
    values = {item.name: item.expression for item in operator.items}
    uses: dict[str, int] = {}
    for item in items:
        for found in item.expression.find_all(exp.Column):
            uses[found.name] = uses.get(found.name, 0) + 1
    cheap = all(count == 1 or isinstance(values[name], (exp.Column, exp.Literal)) for name, count in uses.items())
    if not cheap:
        return Project(operator, items)
    return Project(operator.input, tuple(Item(item.name, _inlined(item.expression, values)) for item in items))


def _projected_union(union: UnionAll, items: tuple[Item, ...]) -> Operator:
    """Each branch projected by itself."""
    branches = []
    for source in union.inputs:
        names: dict[str, exp.Expr] = {
            mine: column(its) for mine, its in zip(union.columns, source.columns, strict=True)
        }
        branches.append(projected(source, tuple(Item(item.name, _inlined(item.expression, names)) for item in items)))
    return replace(union, inputs=tuple(branches), columns=tuple(item.name for item in items))


def _inlined(expression: exp.Expr, values: dict[str, exp.Expr]) -> exp.Expr:
    return substitute(expression, values) if not isinstance(expression, exp.Column) else values[expression.name].copy()
