"""Free columns: those that an operator tree reads from the rows of a query around it. Also a copy of a tree under new
names, for when one tree holds the same rows twice.
"""

from __future__ import annotations

from collections.abc import Callable
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
    Operator,
    OuterJoin,
    Project,
    Window,
    inputs,
    used,
)


def expressions(operator: Operator) -> tuple[exp.Expr, ...]:
    """What an operator itself computes, over the columns of its inputs."""
    match operator:
        case Filter() | Join() | OuterJoin() | Match():
            return operator.conditions
        case Project():
            return tuple(item.expression for item in operator.items)
        case Aggregate():
            return tuple(item.expression for item in (*operator.keys, *operator.calls))
        case Window():
            return tuple(item.expression for item in operator.items)
        case Generate():
            return (operator.call,)
        case Limit():
            return operator.order
    return ()


def with_expressions(operator: Operator, change: Callable[[exp.Expr], exp.Expr]) -> Operator:
    """The same operator with each of its expressions changed."""

    def items(found: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(Item(item.name, change(item.expression)) for item in found)

    match operator:
        case Filter() | Join() | OuterJoin() | Match():
            return replace(operator, conditions=tuple(change(condition) for condition in operator.conditions))
        case Project():
            return replace(operator, items=items(operator.items))
        case Aggregate():
            return replace(operator, keys=items(operator.keys), calls=items(operator.calls))
        case Window():
            return replace(operator, items=items(operator.items))
        case Generate():
            return replace(operator, call=change(operator.call))
        case Limit():
            ordered = tuple(change(part) for part in operator.order)
            return replace(operator, order=tuple(part for part in ordered if isinstance(part, exp.Ordered)))
    return operator


def read_here(operator: Operator) -> frozenset[str]:
    """Free columns that the operator itself reads."""
    below = {name for source in inputs(operator) for name in source.columns}
    return frozenset(name for part in expressions(operator) for name in used(part) if name not in below)


def free(operator: Operator) -> frozenset[str]:
    """Columns that a tree reads and has not: those of the queries around it."""
    return read_here(operator).union(*(free(source) for source in inputs(operator)))
