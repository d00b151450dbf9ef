"""The domain of a correlated query: each different combination of the outer values that it reads, as a relation. Used
where a condition on outer values cannot be pulled out of the query.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.sql.free import free, with_expressions
from spark_trickle.sql.operators import (
    Again,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Match,
    Operator,
    OuterJoin,
    Project,
    Recursion,
    Scan,
    UnionAll,
    Window,
    column,
    inputs,
    substitute,
    used,
    with_inputs,
)
from spark_trickle.sql.scope import Names


def domain(outer: Operator, wanted: tuple[str, ...], names: Names) -> tuple[Operator, dict[str, exp.Expr]]:
    """Each different combination of some columns of the outer query, under new names, and those names."""
    source = _narrowed(outer, frozenset(wanted))
    renamed = {name: name for name in wanted}
    if free(source):
        # Later its free columns are pulled out of it, and out of the outer query itself: they must not be confused.
        source, every = _copied(source, names)
        renamed = {name: every[name] for name in wanted}
    fresh = {name: names.fresh(f"{name}_outer") for name in wanted}
    items = tuple(Item(fresh[name], column(renamed[name])) for name in wanted)
    return Distinct(Project(source, items)), {name: column(found) for name, found in fresh.items()}


def _narrowed(operator: Operator, wanted: frozenset[str]) -> Operator:
    """The part of a tree that has all of the columns: more combinations do no harm, fewer joins help."""
    match operator:
        case Filter():
            source = _narrowed(operator.input, wanted)
            mine = tuple(c for c in operator.conditions if used(c) <= set(source.columns))
            return Filter(source, mine) if mine else source
        case Join():
            found = next((source for source in operator.inputs if wanted <= set(source.columns)), None)
            if found is None:
                return operator
            source = _narrowed(found, wanted)
            mine = tuple(c for c in operator.conditions if used(c) <= set(source.columns))
            return Filter(source, mine) if mine else source
        # The columns of a side that may go without partner are NULL there: its own rows are not all combinations.
        case OuterJoin(keeps_right=False) | Match() if wanted <= set(operator.left.columns):
            return _narrowed(operator.left, wanted)
        case OuterJoin(keeps_left=False) if wanted <= set(operator.right.columns):
            return _narrowed(operator.right, wanted)
        case Window() | Generate() if wanted <= set(operator.input.columns):
            return _narrowed(operator.input, wanted)
        case Project() if wanted <= _kept(operator):
            return _narrowed(operator.input, wanted)
    return operator


def _kept(project: Project) -> set[str]:
    return {item.name for item in project.items if item.is_rename and item.expression.name == item.name}


def _copied(operator: Operator, names: Names) -> tuple[Operator, dict[str, str]]:
    """The same tree with new names for all its columns, and the new name of each output."""
    below: list[Operator] = []
    known: dict[str, str] = {}
    for source in inputs(operator):
        copy, renamed = _copied(source, names)
        below.append(copy)
        known |= renamed
    values: dict[str, exp.Expr] = {old: column(new) for old, new in known.items()}
    mine = {name: names.fresh(name) for name in operator.columns if name not in known}
    copy = with_inputs(with_expressions(operator, lambda part: substitute(part, values)), tuple(below))
    every = known | mine
    match copy:
        case Scan() | Again():
            return replace(copy, items=tuple(replace(item, name=mine[item.name]) for item in copy.items)), mine
        case Project() | Aggregate():
            return _named(copy, names)
        case UnionAll() | Recursion():
            fresh = {name: names.fresh(name) for name in copy.columns}
            return replace(copy, columns=tuple(fresh.values())), fresh
        case Window():
            keys = tuple(known[key] for key in copy.keys)
            items = tuple(Item(mine[item.name], item.expression) for item in copy.items)
            return replace(copy, keys=keys, items=items), every
        case Generate():
            return replace(copy, outputs=tuple(mine[name] for name in copy.outputs)), every
        case Match() if copy.mark:
            return replace(copy, mark=mine[copy.mark]), every
    return copy, every


def _named(operator: Project | Aggregate, names: Names) -> tuple[Operator, dict[str, str]]:
    fresh: dict[str, str] = {}

    def items(found: tuple[Item, ...]) -> tuple[Item, ...]:
        fresh.update({item.name: names.fresh(item.name) for item in found})
        return tuple(Item(fresh[item.name], item.expression) for item in found)

    if isinstance(operator, Project):
        return Project(operator.input, items(operator.items)), fresh
    return replace(operator, keys=items(operator.keys), calls=items(operator.calls)), fresh
