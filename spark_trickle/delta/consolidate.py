"""Weights of equal rows added up, and rows whose weight is nothing left out. The input is a tree whose last column is
the weight.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.plan import WEIGHT, Column
from spark_trickle.delta.types import holds_map, is_floating, is_map
from spark_trickle.sql.operators import Aggregate, Filter, Item, Operator, Project, column


def consolidated(change: Operator, floating: tuple[Column, ...] = ()) -> Operator:
    """The change with one row per different row.

    Grouping takes 0.0 and -0.0 for the same and would put out one of them for both, and Spark fails to group maps that
    hold NULLs; rows with such columns are told apart by text.
    """
    special = {found.name: found.type for found in floating}
    names = [name for name in change.columns if name != WEIGHT]
    keys: list[Item] = []
    values: list[Item] = []
    for place, name in enumerate(names):
        if name not in special:
            keys.append(Item(name, column(name)))
            continue
        keys.append(Item(f"_trickle_text_{place}", exp.cast(column(name), "text")))
        if not is_floating(special[name]):
            # The text of a struct, an array or a map is not unique: equal text and equal value are.
            keys.append(Item(f"_trickle_key_{place}", _grouped(name, special[name])))
        values.append(Item(name, exp.AnyValue(this=column(name))))
    weight = Item(WEIGHT, exp.Sum(this=column(WEIGHT)))
    grouped: Operator = Filter(Aggregate(change, tuple(keys), (*values, weight)), (nonzero(WEIGHT),))
    if grouped.columns == (*names, WEIGHT):
        return grouped
    return Project(grouped, tuple(Item(name, column(name)) for name in (*names, WEIGHT)))


def _grouped(name: str, kind: str) -> exp.Expr:
    """What, next to its text, tells a value from others."""
    if is_map(kind):
        return exp.func("MAP_ENTRIES", column(name))
    if holds_map(kind):
        return exp.func("TO_JSON", exp.Anonymous(this="STRUCT", expressions=[column(name)]))
    return column(name)


def nonzero(name: str) -> exp.Expr:
    return exp.NEQ(this=column(name), expression=exp.Literal.number(0))
