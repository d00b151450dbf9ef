"""COUNT(DISTINCT x) and its kin in two levels: first groups by the keys and x, with the other aggregates of these small
groups; then groups by the keys over them. Both levels are merged, where one level would read a whole group again
whenever it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from spark_trickle.delta.plan import Column
from spark_trickle.delta.rules.aggregate import arguments
from spark_trickle.delta.types import cast, decimal, is_integer
from spark_trickle.sql.operators import Aggregate, Item, Operator, Project, Recursion, column, inputs, used, with_inputs

Columns = Callable[[Operator], tuple[Column, ...]]
"""Types of the columns of an operator."""

_MERGED = (exp.Count, exp.Sum, exp.Min, exp.Max)
_WIDEST = 18
"""Digits of decimals whose sum of sums still has a type."""


def two_levels(operator: Operator, columns: Columns) -> Operator:
    """The tree with each grouping that allows it in two levels."""
    if isinstance(operator, Recursion):  # what its step reads of itself has no type by itself
        return operator
    operator = with_inputs(operator, tuple(two_levels(source, columns) for source in inputs(operator)))
    if not isinstance(operator, Aggregate):
        return operator
    return _split(operator, columns) or operator


def _distinct(call: exp.Expr) -> tuple[exp.Expr, ...]:
    """What a call counts each value of once; nothing if it takes all rows."""
    inside = call.args.get("this")
    return tuple(inside.expressions) if isinstance(inside, exp.Distinct) else ()


def _split(aggregate: Aggregate, columns: Columns) -> Operator | None:
    calls = [item.expression for item in aggregate.calls]
    lists = {_distinct(call) for call in calls if _distinct(call)}
    if len(lists) != 1 or not all(isinstance(call, _MERGED) for call in calls):
        return None
    values = next(iter(lists))
    if not all(used(value) for value in values):
        return None  # as a key, a number would be read as the position of an output column
    if any(len(values) > 1 and not isinstance(call, exp.Count) for call in calls if _distinct(call)):
        return None
    once = list(
        dict.fromkeys([*values, *(value for call in calls if not _distinct(call) for value in arguments(call))])
    )
    described = columns(Project(aggregate.input, tuple(Item(f"_trickle_value_{i}", v) for i, v in enumerate(once))))
    kinds = {value: found.type for value, found in zip(once, described, strict=True)}
    summed = [arguments(call)[0] for call in calls if isinstance(call, exp.Sum) and not _distinct(call)]
    exact = all(is_integer(kinds[value]) or _narrow(kinds[value]) for value in summed)
    if not exact or not all(_groupable(kinds[value]) for value in values):
        return None
    return _Levels(aggregate, values, kinds).build()


def _narrow(kind: str) -> bool:
    digits = decimal(kind)
    return digits is not None and digits[0] <= _WIDEST


def _groupable(kind: str) -> bool:
    return is_integer(kind) or decimal(kind) is not None or kind in ("string", "boolean", "date", "timestamp")


@dataclass(slots=True)
class _Levels:
    aggregate: Aggregate
    values: tuple[exp.Expr, ...]
    kinds: dict[exp.Expr, str]
    partials: list[Item] = field(default_factory=list)
    above: list[Item] = field(default_factory=list)
    outputs: list[Item] = field(default_factory=list)

    def build(self) -> Operator:
        aggregate = self.aggregate
        tag = aggregate.calls[0].name
        keys = tuple(Item(f"_trickle_by_{key.name}", key.expression) for key in aggregate.keys)
        once = tuple(Item(f"_trickle_once_{tag}_{i}", value) for i, value in enumerate(self.values))
        for item in aggregate.calls:
            self._add(item, [column(part.name) for part in once])
        inner = Aggregate(aggregate.input, (*keys, *once), tuple(self.partials))
        upper = tuple(Item(key.name, column(below.name)) for key, below in zip(aggregate.keys, keys, strict=True))
        outer = Aggregate(inner, upper, tuple(self.above))
        if all(item.is_rename and item.name == item.expression.name for item in self.outputs):
            return outer
        plain = (Item(key.name, column(key.name)) for key in aggregate.keys)
        return Project(outer, (*plain, *self.outputs))

    def _add(self, item: Item, once: list[exp.Column]) -> None:
        call = item.expression
        if _distinct(call):
            over = call.copy()
            over.set("this", once[0].copy())
            if len(once) > 1:
                known = exp.and_(*(exp.Is(this=part.copy(), expression=exp.Null()).not_() for part in once))
                over.set("this", exp.case().when(known, exp.Literal.number(1)))
            self._plain(item.name, over)
            return
        partial = Item(f"_trickle_part_{item.name}", call)
        self.partials.append(partial)
        if isinstance(call, (exp.Min, exp.Max)):
            self._plain(item.name, type(call)(this=column(partial.name)))
            return
        total = exp.Sum(this=column(partial.name))
        if isinstance(call, exp.Count):
            if self.aggregate.keys:
                self._plain(item.name, total)
                return
            name = self._named(item.name, total)
            zero = exp.Coalesce(this=column(name), expressions=[exp.Literal.number(0)])
            self.outputs.append(Item(item.name, zero))
            return
        digits = decimal(self.kinds[arguments(call)[0]])
        if digits is None:
            self._plain(item.name, total)
            return
        # A sum of sums has a wider type than the sum.
        name = self._named(item.name, total)
        self.outputs.append(Item(item.name, cast(column(name), f"decimal({digits[0] + 10},{digits[1]})")))

    def _plain(self, name: str, call: exp.Expr) -> None:
        self.above.append(Item(name, call))
        self.outputs.append(Item(name, column(name)))

    def _named(self, name: str, call: exp.Expr) -> str:
        self.above.append(Item(f"_trickle_total_{name}", call))
        return self.above[-1].name
