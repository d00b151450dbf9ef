"""Joins of a FROM clause: inner, outer, semi and anti, with ON, USING or NATURAL, and LATERAL subqueries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql.attach import lateral
from spark_trickle.sql.bind import Binding, bind, without_aggregates
from spark_trickle.sql.decorrelate import Decorrelation
from spark_trickle.sql.operators import (
    Filter,
    Item,
    Join,
    Match,
    MatchKind,
    Operator,
    OuterJoin,
    Project,
    column,
    conjuncts,
)
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.relations import Built, Relation
from spark_trickle.sql.said import said
from spark_trickle.sql.scope import Scope, Visible
from spark_trickle.sql.subqueries import Pending, peeled

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte

_MATCHES = {"SEMI": MatchKind.SEMI, "ANTI": MatchKind.ANTI}


def join(builder: Builder, left: Relation, node: exp.Join, ctes: Mapping[str, Cte], outer: Scope) -> Relation:
    """One more relation beside those before it."""
    kind = _kind(builder, node)
    if isinstance(node.this, exp.Lateral) and isinstance(node.this.this, exp.Subquery):
        return _lateral(builder, left, node, ctes, outer)
    right = builder.relation(node.this, ctes, outer)
    names = _shared(left.scope, right.scope, node)
    if names:
        return _using(builder, left, right, names, node, kind)
    scope = left.scope.beside(right.scope)
    pending = Pending(builder, ctes)
    condition = _condition(builder, node, scope, outer, pending)
    if kind in ("LEFT", "RIGHT", "FULL", *_MATCHES):
        left, right = _with_subqueries(builder, left, right, pending, node)
        parts = tuple(conjuncts(condition)) if condition is not None else ()
        return Relation(_joined(builder, node, kind, left, right, parts), left.scope if kind in _MATCHES else scope)
    operator: Operator = Join((left.operator, right.operator))
    return Relation(operator if condition is None else pending.filtered(operator, condition), scope)


def _kind(builder: Builder, node: exp.Join) -> str:
    """LEFT, RIGHT, FULL, SEMI, ANTI, or nothing for an inner join."""
    side, kind = (node.side or "").upper(), (node.kind or "").upper()
    if kind in _MATCHES and side in ("", "LEFT"):
        return kind
    if kind in ("", "OUTER", "INNER", "CROSS") and side in ("", "LEFT", "RIGHT", "FULL"):
        return side
    name = f"{side} {kind}".strip()
    raise unsupported(builder.text, node.this, Refused.JOIN_KIND, side, name=name)


def _joined(
    builder: Builder, node: exp.Join, kind: str, left: Relation, right: Relation, conditions: tuple[exp.Expr, ...]
) -> Operator:
    where = said(builder.text, node.this, f"{kind} JOIN", keyword="JOIN")
    if kind in _MATCHES:
        return Match(left.operator, right.operator, conditions, _MATCHES[kind], said=where)
    if not kind:
        return Filter(Join((left.operator, right.operator)), conditions)
    return OuterJoin(left.operator, right.operator, conditions, kind != "RIGHT", kind != "LEFT", where)


def _condition(builder: Builder, node: exp.Join, scope: Scope, outer: Scope, pending: Pending) -> exp.Expr | None:
    condition = node.args.get("on")
    if condition is None or (isinstance(condition, exp.Boolean) and condition.this):
        return None
    where = Binding(builder.text, scope, pending, outer=outer)
    return without_aggregates(bind(condition, where), "ON", where)


def _with_subqueries(
    builder: Builder, left: Relation, right: Relation, pending: Pending, node: exp.Join
) -> tuple[Relation, Relation]:
    """The subqueries of a condition that decides about partners, each beside the rows that it reads."""
    for name, found in list(pending.found.items()):
        others = set(right.operator.columns) & found.reads
        if others and set(left.operator.columns) & found.reads:
            raise unsupported(builder.text, node.args["on"], Refused.SUBQUERY_ABOUT_PAIRS, "ON")
        if others:
            right = replace(right, operator=pending.beside(right.operator, [name]))
        else:
            left = replace(left, operator=pending.beside(left.operator, [name]))
    return left, right


def _shared(left: Scope, right: Scope, node: exp.Join) -> list[str]:
    using = [found.name for found in node.args.get("using") or ()]
    if using or (node.method or "").upper() != "NATURAL":
        return using
    mine: list[Visible] = [v for v in left.columns if not v.hidden]
    others = {v.name.lower() for v in right.columns if not v.hidden}
    return list(dict.fromkeys(v.name for v in mine if v.name.lower() in others))


def _using(builder: Builder, left: Relation, right: Relation, names: list[str], node: exp.Join, kind: str) -> Relation:
    """The shared columns are shown once and first; those of both sides can still be named with their table."""
    mine = [_only(left.scope, name, builder, node) for name in names]
    others = [_only(right.scope, name, builder, node) for name in names]
    same = tuple(
        exp.EQ(this=column(one.column), expression=column(other.column))
        for one, other in zip(mine, others, strict=True)
    )
    operator = _joined(builder, node, kind, left, right, same)
    if kind in _MATCHES:
        return Relation(operator, Scope((*mine, *(v for v in left.scope.columns if v not in mine))))
    shown = others if kind == "RIGHT" else mine
    if kind == "FULL":
        either = [
            Item(builder.names.fresh(one.name), exp.Coalesce(this=column(one.column), expressions=[column(two.column)]))
            for one, two in zip(mine, others, strict=True)
        ]
        shown = [Visible((), one.name, item.name) for one, item in zip(mine, either, strict=True)]
        operator = Project(operator, (*(Item(name, column(name)) for name in operator.columns), *either))
    hidden = tuple(
        replace(v, hidden=True) if v in mine or v in others else v
        for v in (*left.scope.columns, *right.scope.columns)
        if v not in shown
    )
    return Relation(operator, Scope((*shown, *hidden)))


def _only(scope: Scope, name: str, builder: Builder, node: exp.Join) -> Visible:
    """The column of a name; of several the first, as in Spark."""
    found = next((v for v in scope.columns if v.name.lower() == name.lower() and not v.hidden), None)
    if found is None:
        raise wrong(builder.text, node, f"column '{name}' of USING does not exist on both sides")
    return found


def _lateral(builder: Builder, left: Relation, node: exp.Join, ctes: Mapping[str, Cte], outer: Scope) -> Relation:
    """A subquery that reads the rows before it."""
    kind = _kind(builder, node)
    if kind not in ("", "LEFT") or node.args.get("using") or (node.method or "").upper() == "NATURAL":
        raise unsupported(builder.text, node.this, Refused.LATERAL_JOIN, "LATERAL")
    built = builder.query(node.this.this, ctes, left.scope.within(outer))
    core, found = peeled(built, left.scope.within(outer))
    outputs, values = [], dict[str, exp.Expr]()
    for (shown, _), value in zip(built.outputs, found, strict=True):
        plain = isinstance(value, exp.Column) and value.name in core.columns
        name = value.name if plain else builder.names.fresh(shown)
        outputs.append((shown, name))
        values[name] = value
    operator, kept = lateral(left.operator, core, values, builder.names, builder.text)
    scope = left.scope.beside(builder.renamed(Built(operator, tuple(outputs)), node.this).scope)
    pending = Pending(builder, ctes)
    condition = _condition(builder, node, scope, outer, pending)
    if kind == "LEFT" and not ((kept or built.one_row) and condition is None):
        return _left_lateral(builder, left, built, node, ctes, outer)
    return Relation(operator if condition is None else pending.filtered(operator, condition), scope)


def _left_lateral(
    builder: Builder, left: Relation, built: Built, node: exp.Join, ctes: Mapping[str, Cte], outer: Scope
) -> Relation:
    pending = Pending(builder, ctes)
    right = builder.renamed(built, node.this)
    scope = left.scope.beside(right.scope)
    condition = _condition(builder, node, scope, outer, pending)
    if pending.found:
        raise unsupported(builder.text, node.args["on"], Refused.LATERAL_SUBQUERY_IN_ON, "ON")
    pulled = Decorrelation(left.operator, builder.names, builder.text).pull(right.operator)
    on = (*pulled.conditions, *(conjuncts(condition) if condition is not None else ()))
    where = said(builder.text, node.this, "LEFT JOIN LATERAL", keyword="JOIN")
    return Relation(OuterJoin(left.operator, pulled.operator, on, said=where), scope)
