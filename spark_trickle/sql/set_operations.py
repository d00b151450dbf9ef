"""UNION, INTERSECT and EXCEPT. The last two count, for each different row, how often each side has it: a union of both
sides with a tag, grouped by all columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Item,
    Operator,
    Project,
    column,
)
from spark_trickle.sql.ordering import check_orderable
from spark_trickle.sql.parse import wrong
from spark_trickle.sql.relations import Built, in_order, union_all
from spark_trickle.sql.said import Said, said
from spark_trickle.sql.scope import Names, Scope

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte


def set_operation(builder: Builder, node: exp.SetOperation, ctes: Mapping[str, Cte], outer: Scope | None) -> Built:
    """Two queries as one."""
    left, right = builder.query(node.this, ctes, outer), builder.query(node.expression, ctes, outer)
    name = type(node).__name__.upper()
    if len(left.outputs) != len(right.outputs):
        raise wrong(builder.text, node.expression, f"{name} of {len(left.outputs)} and {len(right.outputs)} columns")
    if node.args.get("by_name"):
        by_name = {name.lower(): found for name, found in right.outputs}
        if set(by_name) != {name.lower() for name in left.names}:
            raise wrong(builder.text, node.expression, f"{name} BY NAME of different column names")
        right = Built(right.operator, tuple((name, by_name[name.lower()]) for name in left.names))
    if isinstance(node, exp.Union):
        built = union_all((left, right), builder.names)
        return Built(Distinct(built.operator), built.outputs) if node.args.get("distinct") else built
    for side in (left, right):
        columns = [found for _, found in side.outputs]
        check_orderable(side.operator, columns, builder.text, name, name)
    both = isinstance(node, exp.Intersect)
    where = said(builder.text, node.expression, name, keyword=name, grows=(True, both))
    counted = _counted(left, right, builder.names, where)
    mine, other = (column(found) for found in counted.operator.columns[-2:])
    operator = Filter(counted.operator, _stays(both, bool(node.args["distinct"]), mine, other))
    if node.args["distinct"]:
        return Built(operator, counted.outputs)
    times = exp.Least(this=mine, expressions=[other]) if both else exp.Sub(this=mine, expression=other)
    return Built(_repeated(operator, times, builder.names), counted.outputs)


def _counted(left: Built, right: Built, names: Names, where: Said) -> Built:
    """Each different row once, and as its last two columns how often each side has it."""
    sides = tuple(_tagged(side, place, names) for place, side in enumerate((left, right)))
    both = union_all(sides, names)
    keys = [found for _, found in both.outputs[:-2]]
    calls = tuple(
        Item(names.fresh(wish), exp.Sum(this=column(tag)))
        for wish, (_, tag) in zip(("in_left", "in_right"), both.outputs[-2:], strict=True)
    )
    grouped = Aggregate(both.operator, tuple(Item(name, column(name)) for name in keys), calls, where)
    return Built(grouped, both.outputs[:-2])


def _tagged(side: Built, place: int, names: Names) -> Built:
    operator = in_order(side, names)
    columns = tuple((name, found) for (name, _), found in zip(side.outputs, operator.columns, strict=True))
    tags = tuple(
        Item(names.fresh(wish), exp.Literal.number(int(place == i))) for i, wish in enumerate(("of_left", "of_right"))
    )
    items = (*(Item(found, column(found)) for found in operator.columns), *tags)
    return Built(Project(operator, items), (*columns, *((tag.name, tag.name) for tag in tags)))


def _stays(intersect: bool, distinct: bool, mine: exp.Column, other: exp.Column) -> tuple[exp.Expr, ...]:
    none = exp.Literal.number(0)
    here = exp.GT(this=mine.copy(), expression=none.copy())
    if intersect:
        return (here, exp.GT(this=other.copy(), expression=none))
    if distinct:
        return (here, exp.EQ(this=other.copy(), expression=none))
    return (exp.GT(this=mine.copy(), expression=other.copy()),)


def _repeated(operator: Operator, times: exp.Expr, names: Names) -> Operator:
    """Each row as often as a number of its own says."""
    first, last = exp.cast(exp.Literal.number(1), "BIGINT"), exp.cast(times, "BIGINT")
    numbers = exp.Anonymous(this="sequence", expressions=[first, last])
    return Generate(operator, exp.Anonymous(this="explode", expressions=[numbers]), (names.fresh("nth"),))
