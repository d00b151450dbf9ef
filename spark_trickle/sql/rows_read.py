"""The rows that a SELECT reads: FROM, LATERAL VIEW and WHERE. What comes after a pipe reads those of the step before,
with all their names, unless that step selects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql import generators
from spark_trickle.sql.bind import Binding, bind, without_aggregates
from spark_trickle.sql.operators import OneRow
from spark_trickle.sql.relations import Relation
from spark_trickle.sql.scope import Scope
from spark_trickle.sql.subqueries import Pending

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte

_PASSED = frozenset({"expressions", "hint", "from_", "joins", "laterals", "where", "with_"})
_UNORDERED = frozenset({"order", "sort", "distribute", "cluster"})


def rows_read(builder: Builder, node: exp.Select, pending: Pending, outer: Scope) -> Relation:
    """What the other clauses of a SELECT are about."""
    relation = _from(builder, node, pending.ctes, outer)
    for view in node.args.get("laterals") or ():
        where = Binding(builder.text, relation.scope, pending, outer=outer)
        relation = generators.lateral_view(builder, relation, view, where)
    condition = node.args.get("where")
    if condition is None:
        return relation
    where = Binding(builder.text, relation.scope, pending, outer=outer)
    bound = without_aggregates(bind(condition.this, where), "WHERE", where)
    return Relation(pending.filtered(relation.operator, bound), relation.scope)


def _from(builder: Builder, node: exp.Select, ctes: Mapping[str, Cte], outer: Scope) -> Relation:
    clause = node.args.get("from_")
    if clause is None:
        return Relation(OneRow(), Scope())
    relation = builder.relation(clause.this, ctes, outer)
    for join in node.args.get("joins") or ():
        relation = builder.join(relation, join, ctes, outer)
    return relation


def piped(builder: Builder, query: exp.Expr, ctes: Mapping[str, Cte], outer: Scope | None) -> Relation:
    """What a step after a pipe reads."""
    while isinstance(query, exp.Subquery) and set(_clauses(query)) == {"this"}:
        query = query.this
    if isinstance(query, exp.Select) and _passes(query):
        visible = builder.with_entries(query, ctes, outer)
        return rows_read(builder, query, Pending(builder, visible), outer or Scope())
    return builder.query(query, ctes, outer).under(())


def _passes(query: exp.Select) -> bool:
    """Does it show what it reads, as it is?"""
    plain = [type(found) for found in query.expressions] == [exp.Star] and not any(query.expressions[0].args.values())
    return plain and set(_clauses(query)) <= _PASSED | _UNORDERED


def _clauses(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]
