"""Expressions: each written name replaced by a column of the operator tree. Queries inside expressions become columns
of a relation that is joined; which relation is the builder's business (`Subqueries`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from spark_trickle.errors import SqlError
from spark_trickle.sql.completed import complete
from spark_trickle.sql.functions import algebraic, function_name, has_aggregate, is_generator
from spark_trickle.sql.operators import column, dotted
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.scope import AmbiguousError, Scope
from spark_trickle.sql.shorthand import BOUND, exact_decimal, named_by_text, variant_path, without_stars


class Subqueries(Protocol):
    """Makes a column of a query inside an expression."""

    def scalar(self, node: exp.Expr, outer: Scope) -> exp.Column: ...

    def exists(self, node: exp.Expr, outer: Scope) -> exp.Column: ...

    def contained(
        self, operands: tuple[exp.Expr, ...], node: exp.Expr, outer: Scope, negated: bool = False
    ) -> exp.Column: ...

    @property
    def completions(self) -> list[str]:
        """Where to say what was decided for the user."""
        ...

    @property
    def kinds(self) -> Mapping[str, str]:
        """Spark's types of columns of the tree, where they are known."""
        ...


@dataclass(frozen=True, slots=True)
class Binding:
    """Where an expression stands."""

    text: str
    scope: Scope
    subqueries: Subqueries
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    """Expressions of the same SELECT that were named before (lower case)."""
    outer: Scope = field(default_factory=Scope)
    """Names of the queries around this one."""


def bind(node: exp.Expr, where: Binding) -> exp.Expr:
    """The expression over columns of the operator tree."""
    holder = exp.Paren(this=node.copy())
    if any(found.args.get("query") is not None for found in holder.find_all(exp.In)):
        _nots_inward(holder)
    for collation in [part for kind in holder.find_all(exp.DataType) for part in kind.find_all(exp.Column)]:
        collation.replace(exp.Var(this=collation.sql(dialect="spark")))  # `STRING COLLATE UNICODE` names no column
    _bind(holder.this, where)
    complete(holder, where.text, where.subqueries.kinds, where.subqueries.completions)
    calls = [found for found in holder.walk() if isinstance(found, (exp.Filter, exp.Anonymous, exp.Any))]
    for call in reversed(calls):  # a call before the FILTER around it
        merged = algebraic(call)
        if merged is not call:
            call.replace(merged)
    bound: exp.Expr = holder.this
    bound.pop()
    return bound


def _bind(node: exp.Expr, where: Binding) -> None:
    decimal = exact_decimal(node)
    if decimal is not None:
        node.replace(decimal)
        return
    variant = variant_path(node)
    if variant is not None:
        node = node.replace(variant)
    if isinstance(node, (exp.Column, exp.Dot)) and node.meta.get(BOUND):
        return
    without_stars(node, where.scope.within(where.outer), where.subqueries.kinds, where.text)
    written = named_by_text(node)
    if written is not None:
        node = node.replace(dotted(written))
    if isinstance(node, (exp.Column, exp.Dot)):
        parts = _parts(node)
        if parts is not None:
            node.replace(_resolve(node, parts, where))
            return
    found = _subquery(node, where)
    if found is not None:
        node.replace(found)
        return
    _reject(node, where)
    if isinstance(node, exp.Anonymous):
        _prepare(node)
    for child in list(node.iter_expressions()):
        _bind(child, where)


def _subquery(node: exp.Expr, where: Binding) -> exp.Column | None:
    """The column of a query, if this is one, or a condition about one."""
    around = where.scope.within(where.outer)
    if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
        return where.subqueries.scalar(node, around)
    if isinstance(node, exp.Exists):
        return where.subqueries.exists(node.this, around)
    if isinstance(node, exp.Anonymous) and function_name(node) == "exists" and len(node.expressions) == 1:
        return where.subqueries.exists(node.expressions[0], around)
    negated = isinstance(node, exp.Not)
    bare = node.this.unnest() if negated else node
    if isinstance(bare, exp.In) and bare.args.get("query") is not None:
        operands = bare.this.unnest()
        parts = operands.expressions if isinstance(operands, exp.Tuple) else [bare.this]
        bound = tuple(bind(part, where) for part in parts)
        return where.subqueries.contained(bound, bare.args["query"], around, negated)
    return None


def _nots_inward(node: exp.Expr) -> None:
    """NOT moved next to each IN (query) below it, as Spark does: there it decides what NULL means."""
    for found in [part for part in node.find_all(exp.Not) if part.find(exp.In)]:
        bare = found.this.unnest()
        if isinstance(bare, exp.Not):
            found.replace(exp.paren(bare.this.copy()))
        elif isinstance(bare, (exp.And, exp.Or)):
            other = exp.Or if isinstance(bare, exp.And) else exp.And
            sides = (exp.Not(this=exp.paren(side.copy())) for side in (bare.left, bare.right))
            found.replace(exp.paren(other(this=next(sides), expression=next(sides))))
        else:
            continue
        _nots_inward(node)
        return


def _prepare(node: exp.Anonymous) -> None:
    """Arguments that are no columns, and those whose names show in the result."""
    name = function_name(node)
    if name in _WITH_UNIT and len(node.expressions) == 3 and isinstance(node.expressions[0], exp.Column):
        node.expressions[0].replace(exp.Var(this=node.expressions[0].name))
    if name == "struct":
        for part in list(node.expressions):
            if isinstance(part, (exp.Column, exp.Dot)) and _parts(part) is not None:
                shown = part.expression.name if isinstance(part, exp.Dot) else part.name
                part.replace(exp.alias_(part.copy(), shown, quoted=True))


_WITH_UNIT = frozenset(["timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff"])
"""With three arguments, the first is a word such as DAY."""


def _parts(node: exp.Expr) -> list[exp.Identifier] | None:
    if isinstance(node, exp.Column):
        return None if isinstance(node.this, exp.Star) else list(node.parts)  # type: ignore[arg-type]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        first = _parts(node.this)
        return None if first is None else [*first, node.expression]
    return None


def _resolve(node: exp.Expr, parts: list[exp.Identifier], where: Binding) -> exp.Expr:
    names = [part.name for part in parts]
    try:
        found = where.scope.find(names)
    except AmbiguousError as err:
        raise wrong(where.text, node, str(err), hint="Write the name of its table before it") from err
    if found is not None:
        base: exp.Expr = column(found[0])
        fields = list(found[1])
    elif names[0].lower() in where.aliases:
        value = where.aliases[names[0].lower()].copy()
        base = value if isinstance(value, exp.Column) else exp.paren(value)
        fields = names[1:]
    else:
        around = where.outer.find_around(names)
        if around is None:
            raise _not_found(node, names, where)
        base, fields = column(around[0]), list(around[1])
    base.meta.update({key: value for key, value in parts[0].meta.items() if key == "start"})
    return dotted(fields, base)


def _not_found(node: exp.Expr, names: list[str], where: Binding) -> SqlError:
    written = ".".join(names)
    known = ", ".join(dict.fromkeys(v.name for v in where.scope.star()))
    return wrong(where.text, node, f"column '{written}' does not exist", hint=f"There is: {known or 'nothing'}")


_REJECTED: tuple[tuple[type[exp.Expr], Refused], ...] = (
    (exp.All, Refused.ALL_SUBQUERY),
    (exp.Star, Refused.STAR_IN_EXPRESSION),
    (exp.Placeholder, Refused.PARAMETER),
    (exp.Parameter, Refused.PARAMETER),
)


def _reject(node: exp.Expr, where: Binding) -> None:
    if isinstance(node, exp.Star) and isinstance(node.parent, exp.Count):
        return
    for kind, what in _REJECTED:
        if isinstance(node, kind) and not isinstance(node.parent, (exp.Like, exp.ILike)):
            raise unsupported(where.text, node, what, kind.__name__.upper())
    if isinstance(node, exp.Anonymous) and is_generator(node):
        raise wrong(where.text, node, f"{node.name} inside an expression", hint="Put it in a subquery of its own")


def without_aggregates(bound: exp.Expr, clause: str, where: Binding) -> exp.Expr:
    """Refuse aggregates where there are no groups yet."""
    if has_aggregate(bound):
        raise wrong(where.text, bound, f"an aggregate in {clause}", hint="Conditions on aggregates belong in HAVING")
    return without_windows(bound, clause, where)


def without_windows(bound: exp.Expr, clause: str, where: Binding) -> exp.Expr:
    """Refuse window functions where rows are still being chosen."""
    if bound.find(exp.Window) is not None:
        raise wrong(where.text, bound, f"a window function in {clause}", hint="Compute it in a subquery")
    return bound
