"""The look of a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.sql.leaves import Leaf
from spark_trickle.sql.operators import Item, Operator, Project, UnionAll, column, scans

Recur = Callable[[Operator, frozenset[Leaf]], Operator | None]
Rule = Callable[[Any, frozenset[Leaf], Recur], Operator | None]


def weighted(columns: tuple[str, ...]) -> tuple[Item, ...]:
    """The columns and the weight, passed on."""
    return tuple(Item(name, column(name)) for name in (*columns, WEIGHT))


def in_order(change: Operator, columns: tuple[str, ...]) -> Operator:
    """The change with exactly these columns, then the weight."""
    return change if change.columns == (*columns, WEIGHT) else Project(change, weighted(columns))


def added(terms: list[Operator]) -> Operator | None:
    """All terms of a change, which have the same columns in the same order, as one."""
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else UnionAll(tuple(terms), terms[0].columns, aligned=True)


def moves(operator: Operator, changed: frozenset[Leaf]) -> bool:
    """Does the operator read anything that changed?"""
    return any(scan.leaf in changed for scan in scans(operator))


def operand(value: exp.Expr) -> exp.Expr:
    """A value as one side of a comparison."""
    return value.copy() if isinstance(value, (exp.Column, exp.Func)) else exp.paren(value.copy())
