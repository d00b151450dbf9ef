"""GROUPING SETS, CUBE and ROLLUP: each row once for each set, numbered, with NULL in the place of the keys that are
not in the set; then one grouping by all keys and the number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from sqlglot import exp

from spark_trickle.sql.functions import function_name
from spark_trickle.sql.operators import Generate, Item, Operator, Project, column

Bind = Callable[[exp.Expr], exp.Expr]
_Sets = list[tuple[exp.Expr, ...]]


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """The sets of one GROUP BY, as places in its keys."""

    keys: tuple[exp.Expr, ...]
    sets: tuple[frozenset[int], ...]
    number: str
    """Column that numbers the sets: equal sets give equal rows, but each its own."""

    def over(self, operator: Operator, names: Mapping[exp.Expr, str]) -> Operator:
        """Each row once for each set, with the keys under the given names."""
        numbers = [exp.Literal.number(place) for place in range(len(self.sets))]
        call = exp.Anonymous(this="explode", expressions=[exp.Anonymous(this="array", expressions=numbers)])
        plain = (Item(name, column(name)) for name in (*operator.columns, self.number))
        keys = (Item(names[key], self._key(place)) for place, key in enumerate(self.keys))
        return Project(Generate(operator, call, (self.number,)), (*plain, *keys))

    def _key(self, place: int) -> exp.Expr:
        key = self.keys[place].copy()
        if all(place in chosen for chosen in self.sets):
            return key
        return exp.case().when(self._among(lambda chosen: place in chosen), key)

    def value(self, call: exp.Expr) -> exp.Expr | None:
        """`grouping(key)` and `grouping_id()` from the number; None if the key is not one."""
        if function_name(call) == "grouping_id":
            ids = exp.Case(this=column(self.number))
            for place, chosen in enumerate(self.sets):
                absent = sum(1 << (len(self.keys) - 1 - key) for key in range(len(self.keys)) if key not in chosen)
                ids = ids.when(exp.Literal.number(place), exp.Literal.number(absent))
            return exp.cast(ids, exp.DType.BIGINT)
        if len(call.expressions) != 1 or call.expressions[0].unnest() not in self.keys:
            return None
        place = self.keys.index(call.expressions[0].unnest())
        absent_in = exp.case().when(self._among(lambda chosen: place not in chosen), exp.Literal.number(1))
        if all(place in chosen for chosen in self.sets):
            return exp.cast(exp.Literal.number(0), exp.DType.TINYINT)
        return exp.cast(absent_in.else_(exp.Literal.number(0)), exp.DType.TINYINT)

    def _among(self, fits: Callable[[frozenset[int]], bool]) -> exp.Expr:
        places = [exp.Literal.number(place) for place, chosen in enumerate(self.sets) if fits(chosen)]
        if not places:
            return exp.false()
        return exp.In(this=column(self.number), expressions=places)


def has_sets(group: exp.Expr | None) -> bool:
    """Does a GROUP BY group in several ways?"""
    if group is None:
        return False
    nested = any(isinstance(part, (exp.Rollup, exp.Cube, exp.GroupingSets)) for part in group.expressions)
    return nested or bool(_clauses(group))


def _clauses(group: exp.Expr) -> list[exp.Expr]:
    return [part for name in ("rollup", "cube", "grouping_sets") for part in group.args.get(name) or ()]


def grouping_sets(group: exp.Group, bind_key: Bind, number: Callable[[], str]) -> GroupingSets | None:
    """The sets of a GROUP BY; None if it is a plain one."""
    if not has_sets(group):
        return None
    clauses = _clauses(group)
    listed = [_sets(part, bind_key) for part in group.expressions]
    if clauses and not clauses[0].expressions:  # WITH ROLLUP, WITH CUBE: of all keys
        keys = [key for sets in listed for chosen in sets for key in chosen]
        sets = _rolled([(key,) for key in keys]) if isinstance(clauses[0], exp.Rollup) else _cubed([(k,) for k in keys])
    elif isinstance(clauses[0] if clauses else None, exp.GroupingSets) and listed:
        # GROUP BY a, b GROUPING SETS (...): the keys only give the order.
        keys = [key for sets in listed for chosen in sets for key in chosen]
        sets = _sets(clauses[0], bind_key)
    else:
        listed += [_sets(part, bind_key) for part in clauses]
        keys = []
        sets = [tuple(key for part in parts for key in part) for parts in product(*listed)]
    once = tuple(dict.fromkeys([*keys, *_in_order(listed), *(key for chosen in sets for key in chosen)]))
    return GroupingSets(once, tuple(frozenset(once.index(key) for key in chosen) for chosen in sets), number())


def _in_order(listed: list[_Sets]) -> list[exp.Expr]:
    return [key for sets in listed for chosen in sets for key in chosen]


def _sets(node: exp.Expr, bind_key: Bind) -> _Sets:
    match node:
        case exp.Rollup():
            return _rolled([_one(part, bind_key) for part in node.expressions])
        case exp.Cube():
            return _cubed([_one(part, bind_key) for part in node.expressions])
        case exp.GroupingSets():
            return [chosen for part in node.expressions for chosen in _nested(part, bind_key)]
    return [(bind_key(node),)]


def _nested(node: exp.Expr, bind_key: Bind) -> _Sets:
    if isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets)):
        return _sets(node, bind_key)
    return [_one(node, bind_key)]


def _one(node: exp.Expr, bind_key: Bind) -> tuple[exp.Expr, ...]:
    if isinstance(node, exp.Tuple):
        return tuple(bind_key(part) for part in node.expressions)
    return (bind_key(node.unnest()),)


def _rolled(parts: _Sets) -> _Sets:
    return [tuple(key for part in parts[:length] for key in part) for length in range(len(parts), -1, -1)]


def _cubed(parts: _Sets) -> _Sets:
    chosen = [found for length in range(len(parts), -1, -1) for found in combinations(parts, length)]
    return [tuple(key for part in found for key in part) for found in chosen]
