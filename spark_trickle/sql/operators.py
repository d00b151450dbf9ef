"""The operator tree: what a query does, as frozen values.

Each operator has uniquely named columns (without regard to case), and inputs of one join share no name, so scalar
expressions are sqlglot trees whose columns need no qualifier. A change is an operator tree too: the same operators,
with one more column that holds the weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sqlglot import exp

from spark_trickle.sql.leaves import Leaf, Version
from spark_trickle.sql.said import Said


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """One column of a leaf, under the name that the tree gives it."""

    name: str
    source: str
    type: str = ""
    """Spark's type, or nothing if it is not known."""


@dataclass(frozen=True, slots=True)
class Item:
    """A computed column."""

    name: str
    expression: exp.Expr

    @property
    def is_rename(self) -> bool:
        return isinstance(self.expression, exp.Column)


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of one leaf."""

    leaf: Leaf
    items: tuple[ScanColumn, ...]
    version: Version = Version.AFTER

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.items)


@dataclass(frozen=True, slots=True)
class OneRow:
    """One row without columns: SELECT without FROM."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which all conditions are true."""

    input: Operator
    conditions: tuple[exp.Expr, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Project:
    """One row per row, with other columns."""

    input: Operator
    items: tuple[Item, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.items)


@dataclass(frozen=True, slots=True)
class Join:
    """All combinations of rows of the inputs for which all conditions are true."""

    inputs: tuple[Operator, ...]
    conditions: tuple[exp.Expr, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for source in self.inputs for name in source.columns)


@dataclass(frozen=True, slots=True)
class UnionAll:
    """The rows of all inputs; columns correspond by position."""

    inputs: tuple[Operator, ...]
    columns: tuple[str, ...]
    aligned: bool = False
    """All inputs have the types of the result. If not, nothing may move into them: `CAST(x AS STRING)` of an integer is
    not that of the same number in a union with doubles."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each different row once."""

    input: Operator

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per different value of the keys; without keys one row, also over nothing."""

    input: Operator
    keys: tuple[Item, ...]
    calls: tuple[Item, ...]
    said: Said | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(item.name for item in (*self.keys, *self.calls))


@dataclass(frozen=True, slots=True)
class OuterJoin:
    """The inner join of two inputs, and the rows of one or both that found no partner, with NULLs beside them."""

    left: Operator
    right: Operator
    conditions: tuple[exp.Expr, ...]
    keeps_left: bool = True
    keeps_right: bool = False
    said: Said | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns, *self.right.columns)


class MatchKind(StrEnum):
    """What becomes of a left row, depending on whether some right row fits it."""

    SEMI = "semi"
    """It stays if one fits."""
    ANTI = "anti"
    """It stays if none fits."""
    MARK = "mark"
    """It stays, with a column that says whether one fits: true or false, never NULL."""


@dataclass(frozen=True, slots=True)
class Match:
    """Rows of the left input, by whether all conditions are true for some row of the right one."""

    left: Operator
    right: Operator
    conditions: tuple[exp.Expr, ...]
    kind: MatchKind
    mark: str = ""
    """Name of the column, for MARK."""
    said: Said | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns, self.mark) if self.kind is MatchKind.MARK else self.left.columns


@dataclass(frozen=True, slots=True)
class Generate:
    """Each row beside each row that a generator (explode, inline, stack, ...) makes of it."""

    input: Operator
    call: exp.Expr
    """The generator, over the columns of the input."""
    outputs: tuple[str, ...]
    outer: bool = False
    """A row for which the generator makes nothing stays, with NULLs."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *self.outputs)


@dataclass(frozen=True, slots=True)
class Window:
    """Each row with columns computed from its partition."""

    input: Operator
    keys: tuple[str, ...]
    """Columns of the input that make the partitions. Empty: one partition."""
    items: tuple[Item, ...]
    """Whole `f(...) OVER (PARTITION BY keys ORDER BY ... frame)` expressions. Ties that matter are decided."""
    said: Said | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *(item.name for item in self.items))


@dataclass(frozen=True, slots=True)
class Limit:
    """The first rows in an order that decides all ties between different rows."""

    input: Operator
    order: tuple[exp.Ordered, ...]
    count: int | None
    offset: int = 0
    said: Said | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Again:
    """Inside the step of a recursion: the rows that the step before found."""

    name: str
    items: tuple[ScanColumn, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.items)


@dataclass(frozen=True, slots=True)
class Recursion:
    """The rows of the base, and all that the step makes of them, again and again (WITH RECURSIVE, UNION ALL)."""

    name: str
    base: Operator
    step: Operator
    columns: tuple[str, ...]
    """By position those of base and step."""


@dataclass(frozen=True, slots=True)
class Once:
    """The same rows; a mark for whoever runs the tree: used in several places, it is computed once."""

    input: Operator
    always: bool = False
    """Computed by itself even if it is used in one place only: what comes next is better done knowing its size."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


Operator = (
    Scan
    | OneRow
    | Filter
    | Project
    | Join
    | UnionAll
    | Distinct
    | Aggregate
    | OuterJoin
    | Match
    | Generate
    | Window
    | Limit
    | Again
    | Recursion
    | Once
)
OPERATORS: tuple[type, ...] = (
    Scan,
    OneRow,
    Filter,
    Project,
    Join,
    UnionAll,
    Distinct,
    Aggregate,
    OuterJoin,
    Match,
    Generate,
    Window,
    Limit,
    Again,
    Recursion,
    Once,
)


def column(name: str, table: str | None = None) -> exp.Column:
    """A column of the tree as an expression."""
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))


def dotted(names: Sequence[str], base: exp.Expr | None = None) -> exp.Expr:
    """A field of a field of a base, or of the column that the first name is."""
    for name in names:
        part = exp.to_identifier(name, quoted=True)
        base = exp.column(part) if base is None else exp.Dot(this=base, expression=part)
    assert base is not None
    return base


def used(expression: exp.Expr) -> set[str]:
    """Names of the columns that an expression reads."""
    return {found.name for found in expression.find_all(exp.Column)}


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """What an operator reads."""
    match operator:
        case Join() | UnionAll():
            return operator.inputs
        case OuterJoin() | Match():
            return (operator.left, operator.right)
        case Recursion():
            return (operator.base, operator.step)
        case Scan() | OneRow() | Again():
            return ()
        case _:
            return (operator.input,)


def with_inputs(operator: Operator, new: tuple[Operator, ...]) -> Operator:
    """The same operator over other inputs."""
    match operator:
        case Join() | UnionAll():
            return replace(operator, inputs=new)
        case OuterJoin() | Match():
            return replace(operator, left=new[0], right=new[1])
        case Recursion():
            return replace(operator, base=new[0], step=new[1])
        case Scan() | OneRow() | Again():
            return operator
        case _:
            return replace(operator, input=new[0])


def scans(operator: Operator) -> Iterator[Scan]:
    """Every scan of a tree, left to right."""
    if isinstance(operator, Scan):
        yield operator
    for source in inputs(operator):
        yield from scans(source)


def at(operator: Operator, version: Version) -> Operator:
    """The same query, over another version of its leaves."""
    if isinstance(operator, Scan):
        return replace(operator, version=version)
    return with_inputs(operator, tuple(at(source, version) for source in inputs(operator)))


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition that must all be true, and the equalities of columns that all sides of an OR share.

    >>> [part.sql() for part in conjuncts(exp.condition("a = 1 AND (b = 2 AND c OR d)"))]
    ['a = 1', '(b = 2 AND c OR d)']
    >>> [part.sql() for part in conjuncts(exp.condition("a = b AND c OR d AND a = b"))]
    ['a = b', 'a = b AND c OR d AND a = b']
    """
    bare = condition.unnest()
    if isinstance(bare, exp.And):
        return [*conjuncts(bare.left), *conjuncts(bare.right)]
    if isinstance(bare, exp.Or):
        right = conjuncts(bare.right)
        # An OR stays as it is: said apart, an equality lets changes find their partners by it.
        return [*(part for part in conjuncts(bare.left) if _equal_columns(part) and part in right), condition]
    return [condition]


def _equal_columns(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.EQ) and all(
        isinstance(side, exp.Column) for side in (condition.left, condition.right)
    )


def substitute(expression: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Put expressions in the place of columns. What is not a single term is put in parentheses."""

    def put(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in values:
            value = values[node.name].copy()
            return (
                exp.paren(value) if isinstance(value, (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Case)) else value
            )
        return node

    return expression.transform(put)
