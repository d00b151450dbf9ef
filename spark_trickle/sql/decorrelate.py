"""Correlated queries made independent: the conditions on outer values are pulled to the top of the tree, to become the
conditions of a join. Equalities pass groupings as added keys, windows as added partition keys; what cannot pass is
decided inside, for each combination of outer values that there is (`domain`). Which join it becomes is `attach`'s work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from spark_trickle.sql.domain import domain
from spark_trickle.sql.free import free, read_here, with_expressions
from spark_trickle.sql.functions import bare_call, function_name
from spark_trickle.sql.known_types import converts, type_of
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Limit,
    Match,
    Operator,
    OuterJoin,
    Project,
    UnionAll,
    Window,
    column,
    substitute,
    used,
)
from spark_trickle.sql.ordering import kinds
from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.scope import Names

_EQUALITIES = (exp.EQ, exp.NullSafeEQ)
_ON_NOTHING = {
    "count": "0",
    "approx_count_distinct": "0",
    "regr_count": "0",
    "collect_list": "array()",
    "collect_set": "array()",
    "array_agg": "array()",
    "sort_array": "array()",
    "array_sort": "array()",
    "size": "0",
    "array_size": "0",
    "cardinality": "0",
}
"""What aggregates give for no rows, where it is not NULL."""
_NOT_NULL_ON_NOTHING = frozenset({"hll_sketch_agg", "bitmap_construct_agg", "bitmap_or_agg"})


@dataclass(frozen=True, slots=True)
class Pulled:
    """A tree without outer columns; its rows for one outer row are those for which the conditions are true."""

    operator: Operator
    conditions: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Decorrelation:
    """Pulls the columns of one outer operator out of the trees of its subqueries."""

    outer: Operator
    names: Names
    text: str

    def free(self, operator: Operator) -> frozenset[str]:
        """Columns of the outer operator that a tree reads."""
        return free(operator) & frozenset(self.outer.columns)

    def pull(self, operator: Operator) -> Pulled:  # noqa: C901  one case per operator
        """The tree without outer columns. It has all columns it had, and those that the conditions read."""
        if not self.free(operator):
            return Pulled(operator)
        match operator:
            case Filter():
                below = self.pull(operator.input)
                mine, rest = self._split(operator.conditions)
                return Pulled(_filter(below.operator, rest), (*below.conditions, *mine))
            case Project():
                below, values = self._without(self.pull(operator.input), self._here(operator))
                project = with_expressions(replace(operator, input=below.operator), lambda e: substitute(e, values))
                assert isinstance(project, Project)
                return self._exposed(project, below.conditions)
            case Join():
                parts = [self.pull(source) for source in operator.inputs]
                mine, rest = self._split(operator.conditions)
                conditions = tuple(c for part in parts for c in part.conditions)
                return Pulled(Join(tuple(part.operator for part in parts), rest), (*conditions, *mine))
            case UnionAll():
                return self._union(operator)
            case Distinct():
                below, _ = self._keyed(self.pull(operator.input), operator.columns)
                return Pulled(Distinct(below.operator), below.conditions)
            case Aggregate():
                return self._grouped(operator)
            case Window():
                return self._window(operator)
            case Limit():
                return self._limit(operator)
            case Generate():
                below, values = self._without(self.pull(operator.input), self._here(operator))
                call = substitute(operator.call, values)
                return Pulled(replace(operator, input=below.operator, call=call), below.conditions)
            case OuterJoin(keeps_left=True, keeps_right=True):
                return self._full(operator)
            case OuterJoin(keeps_left=False):
                turned = replace(operator, left=operator.right, right=operator.left, keeps_left=True, keeps_right=False)
                return self._beside(turned)
            case OuterJoin() | Match():
                return self._beside(operator)
        raise unsupported(self.text, None, Refused.CORRELATED_RECURSION, "RECURSIVE")

    def one_row(self, aggregate: Aggregate) -> tuple[Pulled, dict[str, exp.Expr]]:
        """An aggregate over everything that an outer row sees, as groups; an outer row may find none.

        Also what stands for its columns beside an outer row then: a count that was not found is 0.
        """
        below, values = self._without(self.pull(aggregate.input), self._here(aggregate))
        below, keys = self._keyed(below, below.operator.columns)
        calls, found = [], dict[str, exp.Expr]()
        for item in aggregate.calls:
            found[item.name] = value = self._on_nothing(item)
            calls.append(Item(next(iter(used(value))), substitute(item.expression, values)))
        names = tuple(Item(name, column(name)) for name in keys)
        grouped = replace(aggregate, input=below.operator, keys=names, calls=tuple(calls))
        return Pulled(grouped, below.conditions), found

    def _on_nothing(self, item: Item) -> exp.Expr:
        """The value of an aggregate beside an outer row, over the column of the groups."""
        name = function_name(bare_call(item.expression))
        if name in _NOT_NULL_ON_NOTHING:
            raise unsupported(self.text, None, Refused.VALUE_OF_NOTHING, name.upper(), name=name)
        value = _ON_NOTHING.get(name)
        if value is None:
            return column(item.name)
        nothing = exp.Literal.number(0) if value == "0" else exp.Anonymous(this="array")
        return exp.Coalesce(this=column(self.names.fresh(item.name)), expressions=[nothing])

    def _here(self, operator: Operator) -> frozenset[str]:
        return read_here(operator) & frozenset(self.outer.columns)

    def _split(self, conditions: Iterable[exp.Expr]) -> tuple[tuple[exp.Expr, ...], tuple[exp.Expr, ...]]:
        """Conditions that read outer columns, and the others."""
        outer = set(self.outer.columns)
        mine = tuple(c for c in conditions if used(c) & outer)
        return mine, tuple(c for c in conditions if c not in mine)

    def _decided(self, pulled: Pulled, wanted: frozenset[str]) -> tuple[Pulled, dict[str, exp.Expr]]:
        """The conditions decided inside, for each combination of outer values; outside, only these are compared."""
        read = frozenset(name for c in pulled.conditions for name in used(c)) & frozenset(self.outer.columns)
        names = tuple(sorted(wanted | read))
        source, values = domain(self.outer, names, self.names)
        inside = tuple(substitute(condition, values) for condition in pulled.conditions)
        # NULL is a value of an outer row like any other.
        same = tuple(exp.NullSafeEQ(this=column(name), expression=values[name].copy()) for name in names)
        return Pulled(_filter(Join((source, pulled.operator)), inside), same), values

    def _without(self, pulled: Pulled, wanted: frozenset[str]) -> tuple[Pulled, dict[str, exp.Expr]]:
        """Outer columns brought inside, if any are wanted there."""
        return self._decided(pulled, wanted) if wanted else (pulled, {})

    def _exposed(self, project: Project, conditions: tuple[exp.Expr, ...]) -> Pulled:
        """A projection that also shows what conditions on its input read."""
        shown = {item.name: item for item in project.items}
        items, renamed = list(project.items), dict[str, exp.Expr]()
        for name in sorted({name for c in conditions for name in used(c)} & set(project.input.columns)):
            if name in shown and shown[name].is_rename and shown[name].expression.name == name:
                continue
            fresh = self.names.fresh(name) if name in shown else name
            renamed[name] = column(fresh)
            items.append(Item(fresh, column(name)))
        moved = tuple(substitute(condition, renamed) for condition in conditions)
        return Pulled(Project(project.input, tuple(items)), moved)

    def _sides(self, condition: exp.Expr, inside: Operator | None = None) -> tuple[exp.Expr, exp.Expr] | None:
        """Of an equality of outer and inner values, the outer and the inner one. An inner value can be a key if no two
        of them equal the same outer value.
        """
        if not isinstance(condition, _EQUALITIES):
            return None
        outer = set(self.outer.columns)
        for inner, other in ((condition.left, condition.right), (condition.right, condition.left)):
            if used(inner) and not used(inner) & outer and used(other) and used(other) <= outer:
                several = inside is not None and converts(_kind(inner, inside), _kind(other, self.outer))
                return None if several else (other, inner)
        return None

    def _is_outer_only(self, condition: exp.Expr) -> bool:
        return used(condition) <= set(self.outer.columns)

    def _keyed(self, pulled: Pulled, columns: tuple[str, ...]) -> tuple[Pulled, tuple[str, ...]]:
        """Only these columns and some keys: all conditions compare a key with an outer value, or read nothing else."""
        if any(self._sides(c, pulled.operator) is None and not self._is_outer_only(c) for c in pulled.conditions):
            pulled, _ = self._decided(pulled, frozenset())
        items = {name: Item(name, column(name)) for name in columns}
        keys: dict[str, None] = {}
        conditions: list[exp.Expr] = []
        for condition in pulled.conditions:
            sides = self._sides(condition)
            if sides is None:
                conditions.append(condition)
                continue
            bare = sides[1].unnest()
            name = bare.name if isinstance(bare, exp.Column) else self.names.fresh("key")
            items[name] = Item(name, bare)
            keys[name] = None
            conditions.append(type(condition)(this=sides[0].copy(), expression=column(name)))
        operator = pulled.operator
        if tuple(items) != operator.columns:
            operator = Project(operator, tuple(items.values()))
        return Pulled(operator, tuple(conditions)), tuple(keys)

    def _grouped(self, aggregate: Aggregate) -> Pulled:
        if not aggregate.keys:
            return self._total(aggregate)
        below, values = self._without(self.pull(aggregate.input), self._here(aggregate))
        below, keys = self._keyed(below, below.operator.columns)
        grouped = with_expressions(replace(aggregate, input=below.operator), lambda e: substitute(e, values))
        assert isinstance(grouped, Aggregate)
        known = {item.expression.name: item.name for item in grouped.keys if item.is_rename}
        added = tuple(Item(self._free_name(name, grouped), column(name)) for name in keys if name not in known)
        renamed: dict[str, exp.Expr] = {item.expression.name: column(item.name) for item in added}
        renamed |= {name: column(found) for name, found in known.items() if name in keys}
        grouped = replace(grouped, keys=(*grouped.keys, *added))
        return Pulled(grouped, tuple(substitute(condition, renamed) for condition in below.conditions))

    def _free_name(self, name: str, operator: Operator) -> str:
        return self.names.fresh(name) if name in operator.columns else name

    def _total(self, aggregate: Aggregate) -> Pulled:
        """One row for each combination of outer values, also where there is nothing to aggregate."""
        pulled, found = self.one_row(aggregate)
        read = frozenset(name for c in pulled.conditions for name in used(c)) & frozenset(self.outer.columns)
        names = tuple(sorted(read))
        source, values = domain(self.outer, names, self.names)
        on = tuple(substitute(condition, values) for condition in pulled.conditions)
        items = (
            *(Item(value.name, value) for value in values.values()),
            *(Item(name, value) for name, value in found.items()),
        )
        same = tuple(exp.NullSafeEQ(this=column(name), expression=values[name].copy()) for name in names)
        return Pulled(Project(OuterJoin(source, pulled.operator, on), items), same)

    def _window(self, window: Window) -> Pulled:
        below, values = self._without(self.pull(window.input), self._here(window))
        below, keys = self._keyed(below, below.operator.columns)
        items = tuple(Item(i.name, _partitioned(substitute(i.expression, values), keys)) for i in window.items)
        partition = tuple(dict.fromkeys((*window.keys, *keys)))
        return Pulled(replace(window, input=below.operator, keys=partition, items=items), below.conditions)

    def _limit(self, limit: Limit) -> Pulled:
        """The first rows of each outer row, by their number."""
        below, values = self._without(self.pull(limit.input), self._here(limit))
        below, keys = self._keyed(below, below.operator.columns)
        if not keys:
            return Pulled(replace(limit, input=below.operator), below.conditions)
        order = exp.Order(expressions=[substitute(part, values) for part in limit.order])
        number = exp.Window(this=exp.Anonymous(this="row_number"), order=order)
        name = self.names.fresh("row_number")
        window = Window(below.operator, keys, (Item(name, _partitioned(number, keys)),), limit.said)
        bounds: list[exp.Expr] = []
        if limit.count is not None:
            last = exp.Literal.number(limit.offset + limit.count)
            bounds.append(exp.LTE(this=column(name), expression=last))
        if limit.offset:
            bounds.append(exp.GT(this=column(name), expression=exp.Literal.number(limit.offset)))
        return Pulled(_filter(window, tuple(bounds)), below.conditions)

    def _union(self, union: UnionAll) -> Pulled:
        branches = [self._keyed(self.pull(source), source.columns)[0] for source in union.inputs]
        wanted = [self._compared(branch) for branch in branches]
        if any(found is None or found != wanted[0] for found in wanted):
            # The branches compare different things: each is asked for the same outer values.
            every = self.free(union)
            branches = [self._decided(branch, every)[0] for branch in branches]
            branches = [
                self._keyed(branch, source.columns)[0] for branch, source in zip(branches, union.inputs, strict=True)
            ]
        parts, conditions = [], list[exp.Expr]()
        fresh = [self.names.fresh("key") for _ in branches[0].conditions]
        for branch, source in zip(branches, union.inputs, strict=True):
            sides = [c.expression.name for c in branch.conditions]
            items = [Item(name, column(name)) for name in source.columns]
            items += [Item(self.names.fresh(name), column(name)) for name in sides]
            parts.append(Project(branch.operator, tuple(items)))
        for name, condition in zip(fresh, branches[0].conditions, strict=True):
            conditions.append(type(condition)(this=condition.this.copy(), expression=column(name)))
        return Pulled(replace(union, inputs=tuple(parts), columns=(*union.columns, *fresh)), tuple(conditions))

    def _compared(self, branch: Pulled) -> list[tuple[type, exp.Expr]] | None:
        """The outer sides of the equalities of a branch; None if there is another condition."""
        if not branch.conditions or any(self._sides(c) is None for c in branch.conditions):
            return None
        return [(type(condition), condition.this) for condition in branch.conditions]

    def _beside(self, operator: OuterJoin | Match) -> Pulled:
        """Conditions on the rows that stay go up; those on how they find partners are decided for each outer row."""
        left, right = self.pull(operator.left), self.pull(operator.right)
        on = (*operator.conditions, *right.conditions)
        mine, _ = self._split(on)
        values: dict[str, exp.Expr] = {}
        if mine:
            wanted = frozenset(name for c in mine for name in used(c)) & frozenset(self.outer.columns)
            left, values = self._decided(left, wanted)
        conditions = tuple(substitute(condition, values) for condition in on)
        return Pulled(
            replace(operator, left=left.operator, right=right.operator, conditions=conditions), left.conditions
        )

    def _full(self, join: OuterJoin) -> Pulled:
        """Both sides for each combination of outer values; a row without partner has them from its own side."""
        wanted = self.free(join)
        left, mine = self._decided(self.pull(join.left), wanted)
        right, others = self._decided(self.pull(join.right), wanted)
        same = tuple(exp.NullSafeEQ(this=mine[name].copy(), expression=others[name].copy()) for name in sorted(wanted))
        on = (*(substitute(condition, mine) for condition in join.conditions), *same)
        fresh = {name: self.names.fresh(f"{name}_outer") for name in sorted(wanted)}
        items = (
            *(Item(name, column(name)) for name in join.columns),
            *(Item(fresh[n], exp.Coalesce(this=mine[n].copy(), expressions=[others[n].copy()])) for n in fresh),
        )
        outside = tuple(exp.NullSafeEQ(this=column(name), expression=column(found)) for name, found in fresh.items())
        joined = replace(join, left=left.operator, right=right.operator, conditions=on)
        return Pulled(Project(joined, items), outside)


def _kind(value: exp.Expr, operator: Operator) -> str:
    found = type_of(value, kinds(operator))
    return "" if found is None else found.sql(dialect="spark").lower()


def _filter(operator: Operator, conditions: tuple[exp.Expr, ...]) -> Operator:
    return Filter(operator, conditions) if conditions else operator


def _partitioned(expression: exp.Expr, keys: tuple[str, ...]) -> exp.Expr:
    """A window function with more partition keys."""
    copy = expression.copy()
    for window in [copy, *copy.find_all(exp.Window)] if isinstance(copy, exp.Window) else copy.find_all(exp.Window):
        known = list(window.args.get("partition_by") or [])
        window.set("partition_by", known + [column(name) for name in keys if column(name) not in known])
    return copy
