"""Small rewrites that spare the rules special cases: joins flattened, conditions moved next to the rows they are
about, columns that nobody reads left out. The result of the query stays the same, row for row.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Item,
    Join,
    OneRow,
    Operator,
    Project,
    Scan,
    UnionAll,
    column,
    inputs,
    substitute,
    used,
    with_inputs,
)


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
    return with_inputs(operator, tuple(pushed(source) for source in inputs(operator)))


def _flat(union: UnionAll) -> Operator:
    """A union of unions is one, when all of them agree on types."""
    parts: list[Operator] = []
    for source in union.inputs:
        part = pushed(source)
        parts.extend(part.inputs if isinstance(part, UnionAll) and part.aligned and union.aligned else (part,))
    return replace(union, inputs=tuple(parts))


def filtered(operator: Operator, conditions: tuple[exp.Expr, ...]) -> Operator:
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
    return Filter(operator, conditions)


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


def pruned(operator: Operator, needed: frozenset[str] | None = None) -> Operator:
    """Only the columns that somebody reads; None: all of them."""
    wanted = frozenset(operator.columns) if needed is None else needed
    match operator:
        case Scan():
            kept = tuple(item for item in operator.items if item.name in wanted)
            return replace(operator, items=kept)
        case Project():
            items = tuple(item for item in operator.items if item.name in wanted)
            return Project(pruned(operator.input, _read(*(item.expression for item in items))), items)
        case Filter():
            return Filter(pruned(operator.input, wanted | _read(*operator.conditions)), operator.conditions)
        case Join():
            every = wanted | _read(*operator.conditions)
            parts = tuple(pruned(source, every & frozenset(source.columns)) for source in operator.inputs)
            return Join(parts, operator.conditions)
        case UnionAll():
            return _pruned_union(operator, wanted)
        case Aggregate():
            calls = tuple(item for item in operator.calls if item.name in wanted)
            if not operator.keys and not calls:
                calls = operator.calls[:1]  # without any call it would no longer be one row
            read = _read(*(item.expression for item in (*operator.keys, *calls)))
            return Aggregate(pruned(operator.input, read), operator.keys, calls)
    return with_inputs(operator, tuple(pruned(source) for source in inputs(operator)))


def _pruned_union(union: UnionAll, wanted: frozenset[str]) -> Operator:
    places = [place for place, name in enumerate(union.columns) if name in wanted]
    branches = []
    for source in union.inputs:
        names = [source.columns[place] for place in places]
        branch = pruned(source, frozenset(names))
        if branch.columns != tuple(names):
            branch = Project(branch, tuple(Item(name, column(name)) for name in names))
        branches.append(branch)
    return replace(union, inputs=tuple(branches), columns=tuple(union.columns[place] for place in places))


def _read(*expressions: exp.Expr) -> frozenset[str]:
    return frozenset(name for expression in expressions for name in used(expression))
