"""How each aggregate of a grouping is kept, and which companions it needs: a sum needs the count of its values, an
average both, and counts and sums need the number of rows to see a group vanish. Nothing is added that the grouping
already has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from spark_trickle.delta.plan import Column, Keep, Kept
from spark_trickle.delta.rules.aggregate import arguments
from spark_trickle.delta.rules.distinct import ROWS
from spark_trickle.delta.types import cast, decimal, is_floating, is_integer
from spark_trickle.sql.functions import function_name
from spark_trickle.sql.operators import Aggregate, Item, column

_MAX_EXACT_AVG = 18
"""Digits up to which the average of decimals, divided from sum and count, is rounded exactly like Spark's own."""

_WIDE, _WIDENED = "decimal(20,0)", "widened for an average"


@dataclass(frozen=True, slots=True)
class Upkeep:
    """A grouping that can keep itself, and how to get the wanted columns from it."""

    aggregate: Aggregate
    kept: tuple[Kept, ...]
    rows: str | None
    outputs: tuple[Item, ...]
    """The columns of the original grouping, over those of this one."""
    added: tuple[str, ...]
    """Columns that the original does not have."""


Facts = Mapping[exp.Expr, Column]
"""Type and nullability of arguments and of calls."""


def self_kept(aggregate: Aggregate, facts: Facts, *, lean: bool = False) -> Upkeep:
    """The grouping with all companions. An average becomes a sum and a count unless both are there already.

    Args:
        lean: spare a sum its count where a recomputation now and then can take its place: a sum is NULL when no value
            is left, and then the exact sum is 0, so only a group whose sum a removal made 0 has to be looked at.
    """
    return _Planner(aggregate, facts, lean).plan()


@dataclass(slots=True)
class _Planner:
    aggregate: Aggregate
    facts: Facts
    lean: bool = False
    calls: dict[exp.Expr, str] = field(default_factory=dict)
    """Calls of the new grouping and their columns."""
    added: list[str] = field(default_factory=list)

    def plan(self) -> Upkeep:
        how = {item.name: self._how(item.expression) for item in self.aggregate.calls}
        if Keep.RECOMPUTE in how.values():
            return self._recomputed()
        self.calls = {item.expression: item.name for item in self.aggregate.calls if how[item.name] is not Keep.AVG}
        # Extrema and floating sums notice by themselves when a group may have become empty.
        watchful = self._floating() or {Keep.MIN, Keep.MAX} & set(how.values())
        if self.aggregate.keys and not watchful and self._rows() is None:
            self._call(exp.Count(this=exp.Star(), big_int=True), ROWS)
        outputs = [self._output(item, how[item.name]) for item in self.aggregate.calls]
        for call in list(self.calls):
            if self._how(call) is Keep.SUM and not self._floating() and not self.lean:
                self._count(_unsummed(arguments(call)[0]), self.calls[call])
        calls = tuple(Item(name, call) for call, name in self.calls.items())
        return Upkeep(
            Aggregate(self.aggregate.input, self.aggregate.keys, calls),
            tuple(self._kept(call) for call in self.calls),
            self._rows(),
            (*(Item(key.name, column(key.name)) for key in self.aggregate.keys), *outputs),
            tuple(self.added),
        )

    def _floating(self) -> bool:
        """A group that lost rows is recomputed, whatever else it holds."""
        calls = [item.expression for item in self.aggregate.calls]
        sums = [call for call in calls if self._how(call) in (Keep.AVG, Keep.FLOAT_SUM)]
        return any(is_floating(self._type(arguments(call)[0])) for call in sums)

    def _recomputed(self) -> Upkeep:
        """One aggregate that needs its whole group spares all others their companions."""
        kept = tuple(
            Kept(column=item.name, how=Keep.RECOMPUTE, call=item.expression, type=self.facts[item.expression].type)
            for item in self.aggregate.calls
        )
        outputs = tuple(Item(name, column(name)) for name in self.aggregate.columns)
        return Upkeep(self.aggregate, kept, None, outputs, ())

    def _how(self, call: exp.Expr) -> Keep:
        name = function_name(call)
        values = arguments(call)
        if any(isinstance(value, exp.Distinct) for value in values) or isinstance(call, exp.Filter):
            return Keep.RECOMPUTE
        if name == "count":
            return Keep.COUNT
        if name in ("min", "max") and len(values) == 1:
            return Keep.MIN if name == "min" else Keep.MAX
        if name in ("sum", "avg", "mean") and len(values) == 1:
            return self._how_sum(self._type(values[0]), average=name != "sum")
        return Keep.RECOMPUTE

    def _how_sum(self, kind: str, *, average: bool) -> Keep:
        digits = decimal(kind)
        if digits is not None:
            precision, scale = digits
            # Multiplying by a weight must not cost digits behind the point (Spark keeps six of them at least).
            exact = precision <= 27 or scale <= 6
            if not exact or (average and precision > _MAX_EXACT_AVG):
                return Keep.RECOMPUTE
        elif not is_integer(kind) and not is_floating(kind):
            return Keep.RECOMPUTE
        if average:
            return Keep.AVG
        return Keep.FLOAT_SUM if is_floating(kind) else Keep.SUM

    def _output(self, item: Item, how: Keep) -> Item:
        if how is not Keep.AVG:
            return Item(item.name, column(item.name))
        value = arguments(item.expression)[0]
        sum_, count = self._find_sum(value), self._find_count(value)
        if sum_ is not None and count is not None:
            # Both are there: the average can stand beside them, computed anew from them at each merge.
            self.calls[item.expression] = item.name
            return Item(item.name, column(item.name))
        sum_ = sum_ or self._call(exp.Sum(this=_summed(value, self._type(value))), f"_trickle_sum_{item.name}")
        count = self._count(value, item.name)
        return Item(item.name, average(column(sum_), column(count), self.facts[item.expression].type))

    def _count(self, value: exp.Expr, of: str) -> str:
        """The column that counts the values, added if there is none."""
        found = self._find_count(value)
        return found or self._call(exp.Count(this=value.copy(), big_int=True), f"_trickle_count_{of}")

    def _kept(self, call: exp.Expr) -> Kept:
        how = self._how(call)
        values = arguments(call)
        needs_count = how is Keep.AVG or (how is Keep.SUM and not self._floating())
        return Kept(
            column=self.calls[call],
            how=how,
            call=call,
            type=self.facts[call].type if call in self.facts else self._companion_type(how, values),
            argument_type=self._type(values[0]) if values else "",
            count=self._find_count(_unsummed(values[0])) if needs_count else None,
            sum=self._find_sum(values[0]) if how is Keep.AVG else None,
        )

    def _companion_type(self, how: Keep, values: list[exp.Expr]) -> str:
        if how is Keep.COUNT:
            return "bigint"
        if how is Keep.FLOAT_SUM:
            return "double"
        digits = decimal(self._type(values[0]))
        return "bigint" if digits is None else f"decimal({min(38, digits[0] + 10)},{digits[1]})"

    def _type(self, value: exp.Expr) -> str:
        if value in self.facts:
            return self.facts[value].type
        return _WIDE if value.meta.get(_WIDENED) else ""

    def _nullable(self, value: exp.Expr) -> bool:
        if isinstance(value, (exp.Literal, exp.Boolean)):
            return False
        return value not in self.facts or self.facts[value].nullable

    def _rows(self) -> str | None:
        """A column that counts rows: COUNT(*), or COUNT of what is never NULL."""
        for call, name in self.calls.items():
            counts = isinstance(call, exp.Count) and self._how(call) is Keep.COUNT
            if counts and not any(self._nullable(value) for value in arguments(call)):
                return name
        return None

    def _find_count(self, value: exp.Expr) -> str | None:
        for call, name in self.calls.items():
            if isinstance(call, exp.Count) and self._how(call) is Keep.COUNT and arguments(call) == [value]:
                return name
        return None if self._nullable(value) else self._rows()

    def _find_sum(self, value: exp.Expr) -> str | None:
        for call, name in self.calls.items():
            if (
                function_name(call) == "sum"
                and self._how(call) in (Keep.SUM, Keep.FLOAT_SUM)
                and arguments(call) == [value]
            ):
                return name
        return None

    def _call(self, call: exp.Expr, name: str) -> str:
        if call in self.calls:
            return self.calls[call]
        self.calls[call] = name
        self.added.append(name)
        return name


def _summed(value: exp.Expr, kind: str) -> exp.Expr:
    """What to add up for an average: a sum of bigint may overflow where Spark's average does not."""
    if kind.lower() not in ("bigint", "long"):
        return value.copy()
    widened = cast(value.copy(), _WIDE)
    widened.meta[_WIDENED] = True
    return widened


def _unsummed(value: exp.Expr) -> exp.Expr:
    return value.this if isinstance(value, exp.Cast) and value.meta.get(_WIDENED) else value


def average(sum_: exp.Expr, count: exp.Expr, kind: str) -> exp.Expr:
    """Spark's AVG from sum and count: decimals divided as decimals, everything else as doubles."""
    if decimal(kind) is not None:
        quotient = cast(_divided(sum_.copy(), cast(count.copy(), "decimal(20,0)")), kind)
    else:
        quotient = _divided(cast(sum_.copy(), "double"), count.copy())
    return exp.case().when(exp.GT(this=count.copy(), expression=exp.Literal.number(0)), quotient)


def _divided(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    # A merged count is itself a sum of two: without parentheses only its first part would divide.
    parts = (exp.paren(part) if isinstance(part, exp.Binary) else part for part in (one, other))
    return exp.Div(this=next(parts), expression=next(parts), typed=False, safe=True)
