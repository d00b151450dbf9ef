"""How window functions depend on the order among rows that their ORDER BY does not tell apart, and how to ask for
one of the possible answers.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial

from sqlglot import exp

from spark_trickle.sql.functions import ALGEBRAIC, APPROXIMATE, RECOMPUTABLE, bare_call, function_name
from spark_trickle.sql.operators import column
from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused

RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
POSITIONS = frozenset({"row_number", "ntile", "lag", "lead"})
PICKS = frozenset({"first_value", "last_value", "nth_value"})
LISTS = frozenset({"collect_list", "array_agg"})
_BY_VALUE = frozenset({"max_by", "min_by", "mode"})
"""What these leave open, values have decided (`completed`)."""
BY_ARRIVAL = frozenset({"collect_set", "listagg", "string_agg"}) | APPROXIMATE
_SAME = {"first": "first_value", "any_value": "first_value", "last": "last_value"}


class Ties(StrEnum):
    """What ties mean for a window function."""

    NONE = "none"
    """Nothing: it gives the same whichever comes first."""
    ROWS = "rows"
    """A complete order decides."""
    WHOLE = "whole"
    """A complete order decides, with the whole partition as frame."""
    FIRST = "first"
    """A complete order decides, with a frame of rows: it takes the first row of the partition."""
    PEERS = "peers"
    """Its frame ends with the last of equal rows, which a complete order would change: rows must be numbered first."""


def with_plain_names(function: exp.Expr) -> exp.Expr:
    """One name for functions that have several; IGNORE NULLS written out."""
    if isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
        inner = with_plain_names(function.this)
        return exp.IgnoreNulls(this=inner) if isinstance(function, exp.IgnoreNulls) else inner
    if not isinstance(function, exp.Anonymous):
        return function.copy()
    name = function_name(function)
    plain = function.copy()
    plain.set("this", _SAME.get(name, name))
    if _SAME.get(name, name) in ("first_value", "last_value") and len(plain.expressions) == 2:
        ignore = plain.expressions[1].unnest()
        plain.set("expressions", plain.expressions[:1])
        return exp.IgnoreNulls(this=plain) if isinstance(ignore, exp.Boolean) and ignore.this else plain
    return plain


def ties(function: exp.Expr, ordered: bool, spec: exp.WindowSpec | None, text: str) -> Ties:
    """How a window function depends on ties."""
    bare = bare_call(function)
    name = function_name(bare)
    if name in RANKS:
        return Ties.NONE
    if name in POSITIONS:
        return Ties.ROWS
    whole, rows = _is_whole(ordered, spec), spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    listed = isinstance(function, exp.WithinGroup)
    if name in PICKS | LISTS | BY_ARRIVAL and not listed:
        if whole or rows:
            return Ties.WHOLE if whole else Ties.ROWS
        respectful = not isinstance(function, exp.IgnoreNulls)
        return Ties.FIRST if name == "first_value" and respectful and _from_first_to_here(spec) else Ties.PEERS
    if name not in ALGEBRAIC | RECOMPUTABLE | _BY_VALUE and not listed:
        raise unsupported(text, bare, Refused.WINDOW_FUNCTION, name.upper(), name=name)
    return Ties.ROWS if rows and not whole else Ties.NONE


def untied(function: exp.Expr, spec: exp.WindowSpec | None, kind: Ties) -> tuple[exp.Expr, exp.WindowSpec | None]:
    """The function and its frame, for a complete order."""
    if kind is Ties.WHOLE:
        return function, _frame("UNBOUNDED", "FOLLOWING")
    return (function, _frame("CURRENT ROW", None)) if kind is Ties.FIRST else (function, spec)


def numbered(
    function: exp.Expr, number: str, spec: exp.WindowSpec | None, text: str
) -> tuple[exp.Expr, Callable[[exp.Expr], exp.Expr]]:
    """The same by the number of each row in a complete order, and how to get the value from the result."""
    ignores = isinstance(function, exp.IgnoreNulls)
    bare = function.this if ignores else function
    name, place = function_name(bare), column(number)
    arguments = list(bare.expressions)
    if name in ("first_value", "last_value"):
        by = _if_not_null(arguments[0], place) if ignores else place
        picked = "min_by" if name == "first_value" else "max_by"
        return exp.Anonymous(this=picked, expressions=[_struct(v=arguments[0]), by]), _field
    if name == "nth_value" and not ignores and _starts_unbounded(spec):
        there = exp.EQ(this=place, expression=arguments[1].copy())
        # All but one value are NULL: the greatest is that one.
        return exp.Max(this=exp.case().when(there, arguments[0].copy())), lambda found: found
    if name == "nth_value":
        pair = _struct(n=place, v=arguments[0])
        pair = _if_not_null(arguments[0], pair) if ignores else pair
        return exp.Anonymous(this="collect_list", expressions=[pair]), partial(_at, arguments[1])
    if name in LISTS:
        pair = _if_not_null(arguments[0], _struct(n=place, v=arguments[0]))
        return exp.Anonymous(this="collect_list", expressions=[pair]), _values
    if name == "collect_set":
        # The same values whichever row comes first: sorted they are the same set.
        return bare.copy(), lambda found: exp.Anonymous(this="sort_array", expressions=[found])
    raise unsupported(text, bare, Refused.WINDOW_PEERS, "OVER", name=name)


def _field(found: exp.Expr) -> exp.Expr:
    return exp.Dot(this=found, expression=exp.to_identifier("v", quoted=True))


def _at(place: exp.Expr, found: exp.Expr) -> exp.Expr:
    """The value of the pair at a place, from 1, in their order; NULL, if they are fewer."""
    before = exp.Sub(this=exp.paren(place.copy()), expression=exp.Literal.number(1))
    ordered = exp.Anonymous(this="array_sort", expressions=[found])
    return _field(exp.Anonymous(this="get", expressions=[ordered, before]))


def _values(found: exp.Expr) -> exp.Expr:
    pair = exp.Lambda(
        this=exp.Dot.build([exp.to_identifier("p"), exp.to_identifier("v")]), expressions=[exp.to_identifier("p")]
    )
    ordered = exp.Anonymous(this="array_sort", expressions=[found])
    return exp.Anonymous(this="transform", expressions=[ordered, pair])


def _struct(**fields: exp.Expr) -> exp.Expr:
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=value.copy()) for name, value in fields.items()
        ]
    )


def _if_not_null(value: exp.Expr, result: exp.Expr) -> exp.Expr:
    present = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    return exp.case().when(present, result.copy())


def _frame(end: str, side: str | None) -> exp.WindowSpec:
    return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end=end, end_side=side)


def _word(value: object) -> str:
    return value.upper() if isinstance(value, str) else ""


def _is_whole(ordered: bool, spec: exp.WindowSpec | None) -> bool:
    if spec is None:
        return not ordered
    ends = _word(spec.args.get("end")) == "UNBOUNDED" and _word(spec.args.get("end_side")) == "FOLLOWING"
    return _starts_unbounded(spec) and ends


def _starts_unbounded(spec: exp.WindowSpec | None) -> bool:
    return spec is None or (
        _word(spec.args.get("start")) == "UNBOUNDED" and _word(spec.args.get("start_side")) == "PRECEDING"
    )


def _from_first_to_here(spec: exp.WindowSpec | None) -> bool:
    return _starts_unbounded(spec) and (spec is None or _word(spec.args.get("end")) in ("", "CURRENT ROW"))
