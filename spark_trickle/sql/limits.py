"""ORDER BY with LIMIT and OFFSET: an order that decides all ties, and how many rows of it stay. Without LIMIT and
OFFSET an order means nothing, as a table has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql.bind import Binding, bind
from spark_trickle.sql.operators import Filter, Item, Limit, Project, column, used
from spark_trickle.sql.ordering import ascending, check_orderable, decides, ordered_columns
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.relations import Built
from spark_trickle.sql.said import said
from spark_trickle.sql.scope import Scope, Visible

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder

_ORDERS = ("order", "sort", "cluster", "distribute")


@dataclass(frozen=True, slots=True)
class Cut:
    """What LIMIT and OFFSET leave."""

    count: int | None
    offset: int
    order: tuple[exp.Ordered, ...]
    """As written."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """An output, or an expression beside them, by which rows are ordered."""

    key: int | exp.Expr
    written: exp.Ordered

    def by(self, name: str) -> exp.Ordered:
        return exp.Ordered(
            this=column(name), desc=self.written.args.get("desc") or None, nulls_first=self.written.args["nulls_first"]
        )


def cut_of(node: exp.Expr, text: str) -> Cut | None:
    """The LIMIT and OFFSET of a query, or None if there is nothing to cut."""
    if isinstance(node.args.get("limit"), exp.Fetch):
        raise unsupported(text, None, Refused.FETCH, "FETCH")
    count = _number(node.args.get("limit"), "LIMIT", text)
    offset = _number(node.args.get("offset"), "OFFSET", text) or 0
    if count is None and not offset:
        return None
    order = node.args.get("order")
    return Cut(count, offset, tuple(order.expressions) if order is not None else ())


def sorted_by(cut: Cut, names: Sequence[str], values: Sequence[exp.Expr], where: Binding) -> list[Sorted]:
    """The parts of an order, over the outputs of a query and, where they do not have it, what it reads."""
    lowered = [name.lower() for name in names]
    columns = tuple(replace(v, hidden=v.hidden or v.name.lower() in lowered) for v in where.scope.columns)
    here = replace(where, scope=Scope(columns), aliases=dict(zip(lowered, values, strict=True)))
    found: list[Sorted] = []
    for part in cut.order:
        bare = part.this.unnest()
        if len(cut.order) == 1 and is_all(bare, here.scope) and "all" not in lowered:
            found.extend(Sorted(position, part) for position in range(len(names)))
        elif isinstance(bare, exp.Literal) and bare.is_int:
            if not 1 <= int(bare.this) <= len(names):
                raise wrong(where.text, part, f"ORDER BY {bare.this}: there are {len(names)} output columns")
            found.append(Sorted(int(bare.this) - 1, part))
        elif isinstance(bare, exp.Column) and not bare.table and bare.name.lower() in lowered:
            found.append(Sorted(lowered.index(bare.name.lower()), part))
        else:
            bound = bind(bare, here).unnest()
            place = next((i for i, value in enumerate(values) if value.unnest() == bound), None)
            if used(bound) or place is not None:
                found.append(Sorted(bound if place is None else place, part))
    return found


def is_all(written: exp.Expr, scope: Scope) -> bool:
    """Whether what is alone in GROUP BY or ORDER BY is the word for all outputs: a column of that name comes first."""
    is_word = isinstance(written, exp.Column) and not written.table and written.name.lower() == "all"
    return is_word and scope.find(["all"]) is None


def limited(builder: Builder, node: exp.Expr, built: Built, where: Binding) -> Built:
    """A query, cut: the order may use its outputs only."""
    cut = cut_of(node, builder.text)
    if cut is None:
        return built
    for part in cut.order:
        if part.find(exp.Query) is not None:
            raise unsupported(builder.text, part, Refused.ORDER_SUBQUERY, "ORDER")
    outputs = {found for _, found in built.outputs}
    names = tuple(Visible((), name, found) for name, found in built.outputs)
    tables = tuple(replace(v, hidden=True) for v in where.scope.columns if v.column in outputs)
    here = replace(where, scope=Scope((*names, *tables)))
    keys = sorted_by(cut, built.names, [column(found) for _, found in built.outputs], here)
    operator, order = built.operator, []
    computed: list[Item] = []
    for key in keys:
        if isinstance(key.key, int):
            order.append(key.by(built.outputs[key.key][1]))
            continue
        computed.append(Item(builder.names.fresh("sort"), key.key))
        order.append(key.by(computed[-1].name))
    if computed:
        operator = Project(operator, (*(Item(name, column(name)) for name in operator.columns), *computed))
    return cut_to(builder, node, replace(built, operator=operator), cut, order)


def cut_to(builder: Builder, node: exp.Expr, built: Built, cut: Cut, order: list[exp.Ordered]) -> Built:
    """The first rows in an order that is completed, if need be, with the other outputs."""
    if cut.count == 0 or (built.one_row and cut.offset):
        return Built(Filter(built.operator, (exp.false(),)), built.outputs)
    if built.one_row:
        return built
    if not cut.order:
        _check_left_open(builder, node)
    once: dict[str, exp.Ordered] = {}
    for part in order:
        once.setdefault(part.this.name, part)
    order = list(once.values())
    read = ordered_columns(order)
    outputs = list(dict.fromkeys(found for _, found in built.outputs))
    rest = [name for name in outputs if name not in read]
    if rest and not decides(built.operator, read):
        check_orderable(built.operator, rest, builder.text, "LIMIT", "LIMIT")
        shown = {found: name for name, found in reversed(built.outputs)}
        written = ", ".join(part.sql(dialect="spark") for part in cut.order)
        others = ", ".join(shown[name] for name in rest)
        builder.completions.append(
            f"ORDER BY {written} does not decide ties before LIMIT: rows are further ordered by {others}"
            if written
            else f"{_keyword(node)} without ORDER BY leaves open which rows stay: they are ordered by {others}"
        )
        order.extend(ascending(name) for name in rest)
    names = dict.fromkeys([*outputs, *(part.this.name for part in order)])
    kept = Project(built.operator, tuple(Item(name, column(name)) for name in names))
    name = "LIMIT" if cut.count is not None else "OFFSET"
    where = said(builder.text, node.args.get(name.lower()), name, keyword=name)
    return Built(Limit(kept, tuple(order), cut.count, cut.offset, where), built.outputs)


def is_order_without_cut(node: exp.Expr) -> bool:
    """Whether a query says an order, and takes all rows of it."""
    cut = node.args.get("limit") or node.args.get("offset")
    return not cut and any(node.args.get(clause) for clause in _ORDERS)


def _check_left_open(builder: Builder, node: exp.Expr) -> None:
    """Refuse a LIMIT that leaves open which rows stay, where they are what is asked for, or were given an order below
    that Spark keeps, although it need not. Inside of a query any rows are right: there they are chosen."""
    keyword = _keyword(node)
    place = node.args[keyword.lower()]
    for clause in _ORDERS[1:]:
        if node.args.get(clause) is not None:
            what = Refused.LIMIT_OF_PARTS
            raise unsupported(builder.text, place, what, keyword, keyword=keyword, clause=clause.upper())
    if builder.unkept_orders or (node.parent is None and builder.depth == 0):
        raise unsupported(builder.text, place, Refused.LIMIT_WITHOUT_ORDER, keyword, keyword=keyword)


def _keyword(node: exp.Expr) -> str:
    return "LIMIT" if node.args.get("limit") is not None else "OFFSET"


def _number(clause: exp.Expr | None, keyword: str, text: str) -> int | None:
    if clause is None:
        return None
    value = clause.expression
    if isinstance(value, (exp.Var, exp.Column)) and value.name.upper() == "ALL":
        return None
    number = _constant(value)
    if number is None:
        shown = value.sql(dialect="spark")
        raise unsupported(text, clause, Refused.LIMIT_VALUE, keyword, keyword=keyword, value=shown)
    if number < 0:
        raise wrong(text, clause, f"{keyword} {number}: it cannot be negative")
    return number


def _constant(value: exp.Expr) -> int | None:
    """The number that an expression of whole numbers is."""
    bare = value.unnest()
    if isinstance(bare, exp.Literal):
        return int(bare.this) if bare.is_int or bare.this.isdigit() else None
    if isinstance(bare, exp.Cast):
        return _constant(bare.this) if bare.to.is_type(*exp.DataType.INTEGER_TYPES) else None
    if isinstance(bare, exp.Neg):
        inner = _constant(bare.this)
        return None if inner is None else -inner
    if not isinstance(bare, (exp.Add, exp.Sub, exp.Mul)):
        return None
    left, right = _constant(bare.left), _constant(bare.right)
    if left is None or right is None:
        return None
    return left + right if isinstance(bare, exp.Add) else left - right if isinstance(bare, exp.Sub) else left * right
