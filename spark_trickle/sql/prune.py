"""Columns that nobody reads left out, from the top of a tree to its leaves."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.sql.operators import (
    Aggregate,
    Filter,
    Generate,
    Item,
    Join,
    Limit,
    Match,
    MatchKind,
    Operator,
    OuterJoin,
    Project,
    Scan,
    UnionAll,
    Window,
    column,
    inputs,
    used,
    with_inputs,
)


def pruned(operator: Operator, needed: frozenset[str] | None = None) -> Operator:  # noqa: C901  one case per operator
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
        case OuterJoin():
            every = wanted | _read(*operator.conditions)
            left, right = (pruned(source, every & frozenset(source.columns)) for source in inputs(operator))
            return replace(operator, left=left, right=right)
        case Match():
            return _pruned_match(operator, wanted)
        case Generate():
            below = (wanted | _read(operator.call)) & frozenset(operator.input.columns)
            return replace(operator, input=pruned(operator.input, below))
        case Window():
            shown = tuple(item for item in operator.items if item.name in wanted)
            below = (wanted | _read(*(item.expression for item in shown)) | set(operator.keys)) & frozenset(
                operator.input.columns
            )
            source = pruned(operator.input, below)
            return replace(operator, input=source, items=shown) if shown else source
        case Limit():
            return replace(operator, input=pruned(operator.input, wanted | _read(*operator.order)))
        case Aggregate():
            calls = tuple(item for item in operator.calls if item.name in wanted)
            if not operator.keys and not calls:
                calls = operator.calls[:1]  # without any call it would no longer be one row
            read = _read(*(item.expression for item in (*operator.keys, *calls)))
            return replace(operator, input=pruned(operator.input, read), calls=calls)
    return with_inputs(operator, tuple(pruned(source) for source in inputs(operator)))


def _pruned_match(match: Match, wanted: frozenset[str]) -> Operator:
    if match.kind is MatchKind.MARK and match.mark not in wanted:
        return pruned(match.left, wanted)
    every = wanted | _read(*match.conditions)
    left, right = (pruned(source, every & frozenset(source.columns)) for source in inputs(match))
    return replace(match, left=left, right=right)


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
