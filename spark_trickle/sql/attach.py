"""A subquery beside the rows of the query around it: as a join, a match, or a column. Correlation is taken out of it
first (`decorrelate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlglot import exp

from spark_trickle.sql.decorrelate import Decorrelation
from spark_trickle.sql.free import free
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Item,
    Join,
    Match,
    MatchKind,
    Operator,
    OuterJoin,
    Project,
    column,
    substitute,
    used,
)
from spark_trickle.sql.said import Said
from spark_trickle.sql.scope import Names


class Kind(StrEnum):
    """What a subquery stands for."""

    EXISTS = "exists"
    IN = "in"
    NOT_IN = "not in"
    ONE_ROW = "one row"
    """A value of its one row."""
    TOTAL = "total"
    """A value computed from an aggregate over everything that an outer row sees."""
    AT_MOST_ONE = "at most one"
    """A value of its row, NULL without one."""


class Use(StrEnum):
    """What the query around it does with the column."""

    VALUE = "value"
    MUST = "must"
    """Keeps rows for which it is true, and needs it for nothing else."""
    MUST_NOT = "must not"
    """Keeps rows for which it is false."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A subquery and the column that it will be."""

    kind: Kind
    name: str
    operator: Operator
    operands: tuple[exp.Expr, ...] = ()
    """What is compared, for IN, over the outer columns."""
    values: tuple[exp.Expr, ...] = ()
    """Its outputs, over its own columns (and outer ones)."""
    said: Said | None = None

    @property
    def reads(self) -> frozenset[str]:
        """Columns of the query around it that it needs."""
        mine = set(self.operator.columns)
        return free(self.operator).union(
            *(used(part) for part in self.operands), *(used(part) - mine for part in self.values)
        )


def attached(outer: Operator, found: Attached, use: Use, names: Names, text: str) -> Operator:
    """The outer operator with the column of a subquery, or with the rows that it leaves."""
    work = _Attaching(outer, found, Decorrelation(outer, names, text), names)
    match found.kind:
        case Kind.EXISTS:
            return work.exists(use)
        case Kind.IN:
            return work.contained(use)
        case Kind.NOT_IN:
            return work.missing(use)
        case Kind.TOTAL:
            return work.total()
        case Kind.ONE_ROW:
            return work.one_row()
        case Kind.AT_MOST_ONE:
            return work.at_most_one()


@dataclass(frozen=True, slots=True)
class _Attaching:
    outer: Operator
    found: Attached
    correlation: Decorrelation
    names: Names

    def exists(self, use: Use) -> Operator:
        operator = self.found.operator
        if isinstance(operator, Aggregate) and not operator.keys:
            return self._decided(self.outer, exp.true(), use)
        pulled = self.correlation.pull(operator)
        if not pulled.conditions:
            return self._decided(*self._any(operator, use), use)
        return self._match(pulled.operator, pulled.conditions, use)

    def contained(self, use: Use) -> Operator:
        """IN: true or false. Where it would be NULL, Spark says false, also in a select list."""
        pulled = self.correlation.pull(self.found.operator)
        return self._match(pulled.operator, (*pulled.conditions, *self._equal()), use)

    def missing(self, use: Use) -> Operator:
        """NOT IN: true if all comparisons are false, else false."""
        pulled = self.correlation.pull(self.found.operator)
        equal = self._equal()
        if not pulled.conditions and len(equal) == 1 and used(self.found.values[0]) <= set(pulled.operator.columns):
            return self._alone(pulled.operator, equal[0], use)
        perhaps = exp.Coalesce(this=exp.and_(*equal), expressions=[exp.true()])
        conditions = (*pulled.conditions, perhaps)
        if use is not Use.VALUE:
            return self._match(pulled.operator, conditions, Use.MUST_NOT if use is Use.MUST else Use.MUST)
        fits = self.names.fresh("fits")
        marked = Match(self.outer, pulled.operator, conditions, MatchKind.MARK, fits, self.found.said)
        return self._with(marked, self.found.name, exp.Not(this=column(fits)))

    def _equal(self) -> tuple[exp.EQ, ...]:
        pairs = zip(self.found.operands, self.found.values, strict=True)
        return tuple(exp.EQ(this=_operand(mine), expression=_operand(its)) for mine, its in pairs)

    def _any(self, operator: Operator, use: Use) -> tuple[Operator, exp.Expr]:
        """Beside the outer rows whether an independent query has rows: a count of at most one, which seldom changes."""
        one, number = self.names.fresh("one"), self.names.fresh("count")
        once = Distinct(Project(operator, (Item(one, exp.true()),)))
        where = self.found.said
        if where is not None and use is Use.MUST:
            where = replace(where, grows=(True,))  # the rows that are kept for it stay when there are more
        count = Aggregate(once, (), (Item(number, exp.Count(this=exp.Star(), big_int=True)),), where)
        some = exp.GT(this=column(number), expression=exp.Literal.number(0))
        return Join((self.outer, count)), some

    def _alone(self, operator: Operator, equal: exp.EQ, use: Use) -> Operator:
        """NOT IN a column of an independent query: an equality, and one row that says whether NULLs matter.

        That row seldom changes: it is NULL without rows, else whether there is a NULL among them.
        """
        is_null, nulls = self.names.fresh("is_null"), self.names.fresh("has_nulls")
        missing = exp.Is(this=_operand(self.found.values[0]), expression=exp.Null())
        kinds = Distinct(Project(operator, (Item(is_null, missing),)))
        flag = Aggregate(kinds, (), (Item(nulls, exp.Max(this=column(is_null))),), self.found.said)
        some = exp.Not(this=exp.Is(this=column(nulls), expression=exp.Null()))
        unsure = exp.and_(some, column(nulls))
        if not isinstance(self.found.operands[0], exp.Literal):
            unknown = exp.Is(this=_operand(self.found.operands[0]), expression=exp.Null())
            unsure = exp.and_(some, exp.paren(exp.or_(unknown, column(nulls))))
        if use is Use.MUST:
            rest = Match(self.outer, operator, (equal,), MatchKind.ANTI, said=self.found.said)
            return self._only(Join((rest, flag)), (exp.Not(this=exp.paren(unsure)),))
        fits = self.names.fresh("fits")
        marked = Join((Match(self.outer, operator, (equal,), MatchKind.MARK, fits, self.found.said), flag))
        return self._decided(marked, exp.Not(this=exp.paren(exp.or_(column(fits), unsure))), use)

    def total(self) -> Operator:
        """Beside each row the aggregate of what it sees; without a group, that of nothing."""
        aggregate, (value,) = self.found.operator, self.found.values
        assert isinstance(aggregate, Aggregate)
        if not self.correlation.free(aggregate):
            return self._with(Join((self.outer, aggregate)), self.found.name, value)
        pulled, known = self.correlation.one_row(aggregate)
        joined = OuterJoin(self.outer, pulled.operator, pulled.conditions, said=self.found.said)
        return self._with(joined, self.found.name, over(value, known))

    def one_row(self) -> Operator:
        pulled = self.correlation.pull(self.found.operator)
        joined: Operator = Join((self.outer, pulled.operator))
        joined = Filter(joined, pulled.conditions) if pulled.conditions else joined
        return self._with(joined, self.found.name, self.found.values[0])

    def at_most_one(self) -> Operator:
        pulled = self.correlation.pull(self.found.operator)
        return OuterJoin(self.outer, pulled.operator, pulled.conditions, said=self.found.said)

    def _match(self, right: Operator, conditions: tuple[exp.Expr, ...], use: Use) -> Operator:
        match use:
            case Use.MUST:
                return Match(self.outer, right, conditions, MatchKind.SEMI, said=self.found.said)
            case Use.MUST_NOT:
                return Match(self.outer, right, conditions, MatchKind.ANTI, said=self.found.said)
        return Match(self.outer, right, conditions, MatchKind.MARK, self.found.name, self.found.said)

    def _decided(self, operator: Operator, value: exp.Expr, use: Use) -> Operator:
        """A condition that is computed beside each row, used as it is asked for."""
        match use:
            case Use.MUST:
                return self._only(operator, (value,))
            case Use.MUST_NOT:
                return self._only(operator, (exp.Not(this=exp.paren(value)),))
        return self._with(operator, self.found.name, value)

    def _only(self, operator: Operator, conditions: tuple[exp.Expr, ...]) -> Operator:
        kept = Filter(operator, conditions)
        return Project(kept, tuple(Item(name, column(name)) for name in self.outer.columns))

    def _with(self, operator: Operator, name: str, value: exp.Expr) -> Operator:
        """The outer columns and one more."""
        if isinstance(value, exp.Column) and value.name == name:
            return operator
        items = tuple(Item(found, column(found)) for found in self.outer.columns)
        return Project(operator, (*items, Item(name, value)))


def lateral(
    outer: Operator, operator: Operator, values: dict[str, exp.Expr], names: Names, text: str
) -> tuple[Operator, bool]:
    """Each outer row beside each row of a query that reads it. `values` are the outputs, over the query's columns.

    Also tells whether each outer row is there, even if the query gives nothing for it.
    """
    correlation = Decorrelation(outer, names, text)
    items = tuple(Item(name, column(name)) for name in outer.columns)
    if isinstance(operator, Aggregate) and not operator.keys and correlation.free(operator):
        pulled, known = correlation.one_row(operator)
        joined: Operator = OuterJoin(outer, pulled.operator, pulled.conditions)
        shown = tuple(Item(name, over(value, known)) for name, value in values.items())
        return Project(joined, (*items, *shown)), True
    pulled = correlation.pull(operator)
    joined = Join((outer, pulled.operator))
    joined = Filter(joined, pulled.conditions) if pulled.conditions else joined
    if all(isinstance(value, exp.Column) and value.name == name for name, value in values.items()):
        return joined, False
    return Project(joined, (*items, *(Item(name, value) for name, value in values.items()))), False


def over(value: exp.Expr, known: Mapping[str, exp.Expr]) -> exp.Expr:
    """The expression with its columns replaced by what is known of them."""
    return (
        known[value.name].copy() if isinstance(value, exp.Column) and value.name in known else substitute(value, known)
    )


def _operand(value: exp.Expr) -> exp.Expr:
    """A side of a comparison."""
    copy = value.copy()
    return exp.paren(copy) if isinstance(copy, (exp.Binary, exp.Unary, exp.Between, exp.In)) else copy
