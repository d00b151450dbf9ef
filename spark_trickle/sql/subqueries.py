"""Queries inside expressions: EXISTS, IN, and those that stand for a value. Each becomes a column of the operator that
it is attached to, or, where it is a whole condition, decides which rows stay. How it comes to stand beside the outer
rows is in `attach`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql.attach import Attached, Kind, Use, attached
from spark_trickle.sql.free import free
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Item,
    Limit,
    Operator,
    Project,
    column,
    conjuncts,
    substitute,
    used,
)
from spark_trickle.sql.parse import wrong
from spark_trickle.sql.relations import Built
from spark_trickle.sql.said import said
from spark_trickle.sql.scope import Scope
from spark_trickle.sql.windows import has_window

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte

_TOO_MANY = "More than one row returned by a subquery used as an expression"


@dataclass(slots=True)
class Pending:
    """Subqueries met while binding, by the column that each will be; they wait for the operator they belong to."""

    builder: Builder
    ctes: Mapping[str, Cte]
    found: dict[str, Attached] = field(default_factory=dict)
    written: dict[tuple[exp.Expr, ...], str] = field(default_factory=dict)
    """Those that wait, by their text: one that is written twice is computed once."""

    @property
    def completions(self) -> list[str]:
        return self.builder.completions

    @property
    def kinds(self) -> Mapping[str, str]:
        return self.builder.kinds

    def scalar(self, node: exp.Expr, outer: Scope) -> exp.Column:
        """A query that stands for a value."""
        return self._known((node,)) or self._wait((node,), self._scalar(node, outer), node)

    def exists(self, node: exp.Expr, outer: Scope) -> exp.Column:
        """EXISTS (query)."""
        key = (exp.Exists(this=node),)
        return self._known(key) or self._wait(key, self._exists(node, outer), node)

    def contained(
        self, operands: tuple[exp.Expr, ...], node: exp.Expr, outer: Scope, negated: bool = False
    ) -> exp.Column:
        """Operands IN (query), or NOT IN; the operands are bound."""
        key = (*operands, node, exp.Boolean(this=negated))
        known = self._known(key)
        if known is not None:
            return known
        built = self.builder.query(node, self.ctes, outer)
        if len(built.outputs) != len(operands):
            raise wrong(
                self.builder.text, node, f"IN compares {len(operands)} with {len(built.outputs)} columns of a subquery"
            )
        operator, values = peeled(built, outer)
        if all(used(value) <= set(operator.columns) for value in values):
            # Nothing at its top reads an outer column: it stays as it is.
            operator, values = built.operator, tuple(column(found) for _, found in built.outputs)
        while isinstance(operator, Distinct):
            operator = operator.input
        name = self.builder.names.fresh("is_not_in" if negated else "is_in")
        kind = Kind.NOT_IN if negated else Kind.IN
        return self._wait(key, Attached(kind, name, operator, operands, values), node)

    def beside(self, operator: Operator, names: Iterable[str] | None = None) -> Operator:
        """The operator with a column for each subquery (those of the names, and those that they need)."""
        wanted = (set(self.found) if names is None else self.closed(names)) - self._over_windows()
        for found in [found for name, found in self.found.items() if name in wanted]:
            operator = self._attached(operator, found, Use.VALUE)
        return operator

    def _over_windows(self) -> set[str]:
        """Those that are compared with what a window function gives, and those that read such: they come after it."""
        late = {name for name, found in self.found.items() if has_window(found.operands)}
        left = len(late)
        while left:
            more = {name for name, found in self.found.items() if name not in late and not late.isdisjoint(found.reads)}
            late, left = late | more, len(more)
        return late

    def filtered(self, operator: Operator, condition: exp.Expr, shown: Collection[str] = ()) -> Operator:
        """The rows for which a condition is true. Subqueries in `shown` are also read elsewhere."""
        parts = conjuncts(condition)
        needed = self.closed({name for part in parts for name in used(part)})
        read_by_others = {name for found in self.found.values() for part in found.operands for name in used(part)}
        deciding: list[tuple[Attached, Use]] = []
        for found in [found for name, found in self.found.items() if name in needed]:
            mine = [part for part in parts if found.name in used(part)]
            whole = _whole(mine[0], found) if len(mine) == 1 else None
            if whole is None or found.name in shown or found.name in read_by_others:
                operator = self._attached(operator, found, Use.VALUE)
            else:
                parts.remove(mine[0])
                deciding.append((found, whole))
        operator = Filter(operator, tuple(parts)) if parts else operator
        for found, use in deciding:
            operator = self._attached(operator, found, use)
        return operator

    def closed(self, names: Iterable[str]) -> set[str]:
        """Waiting subqueries of these names, and those that these read."""
        wanted: set[str] = set()
        left = [name for name in names if name in self.found]
        while left:
            name = left.pop()
            if name not in wanted:
                wanted.add(name)
                left += [other for other in self.found[name].reads if other in self.found]
        return wanted

    def _attached(self, operator: Operator, found: Attached, use: Use) -> Operator:
        del self.found[found.name]
        self.written = {key: name for key, name in self.written.items() if name != found.name}
        return attached(operator, found, use, self.builder.names, self.builder.text)

    def _known(self, key: tuple[exp.Expr, ...]) -> exp.Column | None:
        return column(self.written[key]) if key in self.written else None

    def _wait(self, key: tuple[exp.Expr, ...], found: Attached, node: exp.Expr) -> exp.Column:
        self.written[tuple(part.copy() for part in key)] = found.name
        names = {Kind.EXISTS: "EXISTS", Kind.IN: "IN", Kind.NOT_IN: "NOT IN"}
        where = said(self.builder.text, node, names.get(found.kind, "the scalar subquery"), keyword="SELECT")
        self.found[found.name] = replace(found, said=where)
        return column(found.name)

    def _exists(self, node: exp.Expr, outer: Scope) -> Attached:
        operator: Operator = self.builder.query(_without_limit(node), self.ctes, outer).operator
        while isinstance(operator, (Project, Distinct)) or (
            isinstance(operator, Limit) and not operator.offset and operator.count != 0
        ):
            operator = operator.input  # none of these makes the difference between no row and some
        return Attached(Kind.EXISTS, self.builder.names.fresh("there_is"), operator)

    def _scalar(self, node: exp.Expr, outer: Scope) -> Attached:
        names = self.builder.names
        built = self.builder.query(node, self.ctes, outer)
        if len(built.outputs) != 1:
            raise wrong(self.builder.text, node, f"a scalar subquery with {len(built.outputs)} columns")
        output = built.outputs[0][1]
        if not free(built.operator) and built.one_row:
            return Attached(Kind.ONE_ROW, output, built.operator, values=(column(output),))
        operator, (value,) = peeled(built, outer)
        name = value.name if isinstance(value, exp.Column) else names.fresh(output)
        if isinstance(operator, Aggregate) and not operator.keys:
            return Attached(Kind.TOTAL, name, operator, values=(value,))
        if built.one_row:
            return Attached(Kind.ONE_ROW, name, operator, values=(value,))
        if isinstance(operator, Limit) and operator.count is not None and operator.count <= 1:
            return Attached(Kind.AT_MOST_ONE, output, built.operator, values=(column(output),))
        return self._guarded(operator, value)

    def _guarded(self, operator: Operator, value: exp.Expr) -> Attached:
        """One value, NULL without a row; several rows are an error, as in Spark."""
        names = self.builder.names
        found, count = names.fresh("value"), names.fresh("count")
        calls = (Item(found, exp.Max(this=value)), Item(count, exp.Count(this=exp.Star(), big_int=True)))
        several = exp.GT(this=column(count), expression=exp.Literal.number(1))
        error = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(_TOO_MANY)])
        checked = exp.Case(ifs=[exp.If(this=several, true=error)], default=column(found))
        return Attached(Kind.TOTAL, names.fresh("value"), Aggregate(operator, (), calls), values=(checked,))


def peeled(built: Built, outer: Scope) -> tuple[Operator, tuple[exp.Expr, ...]]:
    """A query without the projections at its top, and its outputs as expressions.

    One stays if there are names of the outer query under it: a CTE that both read has the same names in both.
    """
    operator = built.operator
    taken = outer.everything()
    values: tuple[exp.Expr, ...] = tuple(column(found) for _, found in built.outputs)
    while isinstance(operator, Project) and taken.isdisjoint(operator.input.columns):
        known = {item.name: item.expression for item in operator.items}
        values = tuple(
            known[value.name].copy()
            if isinstance(value, exp.Column) and value.name in known
            else substitute(value, known)
            for value in values
        )
        operator = operator.input
    return operator, values


def _without_limit(node: exp.Expr) -> exp.Expr:
    """The query of EXISTS: one row is as good as any, so no order and no number of rows matters, but for none."""
    bare = node
    while isinstance(bare, exp.Subquery):
        bare = bare.this
    limit = bare.args.get("limit")
    count = limit.expression if isinstance(limit, exp.Limit) else None
    if (
        bare.args.get("offset") is not None
        or not isinstance(count, exp.Literal)
        or not count.is_int
        or count.this == "0"
    ):
        return node
    copy = bare.copy()
    copy.set("limit", None)
    copy.set("order", None)
    return copy


def _whole(condition: exp.Expr, found: Attached) -> Use | None:
    """Is the condition just this subquery, or that it is not so?"""
    if found.kind not in (Kind.EXISTS, Kind.IN, Kind.NOT_IN):
        return None
    bare = condition.unnest()
    negated = False
    while isinstance(bare, exp.Not):
        negated = not negated
        bare = bare.this.unnest()
    if not isinstance(bare, exp.Column) or bare.name != found.name:
        return None
    return Use.MUST_NOT if negated else Use.MUST
