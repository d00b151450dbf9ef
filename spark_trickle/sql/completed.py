"""Aggregates whose text leaves several answers open, made to give one of them, always the same: `first(x)` may be any
x of the group, so it is the smallest here. Each decision is told to the user.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from spark_trickle.sql.functions import APPROXIMATE, function_name, is_ordered
from spark_trickle.sql.known_types import Kinds, type_of
from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused

_UNORDERED = {exp.DType.MAP, exp.DType.VARIANT}
_AROUND = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def complete(holder: exp.Expr, text: str, kinds: Kinds, said: list[str]) -> None:
    """Decide all such aggregates under a node; inside OVER the order of the window decides most of them.

    Args:
        said: where the decisions are added, a sentence each.
    """
    for call in reversed([found for found in holder.walk() if isinstance(found, exp.Anonymous)]):
        name = function_name(call)
        if name in APPROXIMATE:
            said.append(f"{_text(call)} is an approximation: each time its group changes, it is approximated anew")
        decide = DECISIONS.get(name)
        if decide is not None and not _by_window(call):
            before = _text(call)
            _check_order(call, text, kinds)
            after = decide(call)
            if after is not None:
                said.append(f"{before} may have several answers for the same rows: it is {_text(after)} here")


def _check_order(call: exp.Anonymous, text: str, kinds: Kinds) -> None:
    """Refuse values that cannot be ordered, where their type is known; elsewhere the engine refuses them."""
    for part in call.expressions[:1]:
        kind = type_of(part.expressions[0] if isinstance(part, exp.Distinct) else part, kinds)
        if kind is not None and (_UNORDERED & {found.this for found in kind.find_all(exp.DataType)}):
            name = function_name(call)
            raise unsupported(text, call, Refused.UNORDERED_VALUE, name.upper(), name=name)


_BY_VALUE = frozenset({"max_by", "min_by", "mode"})


def _by_window(call: exp.Expr) -> bool:
    """Does the order of a window decide? Not where values can: then no row need come before another."""
    parent = call.parent
    while isinstance(parent, _AROUND):
        parent = parent.parent
    if not isinstance(parent, exp.Window) or function_name(call) in _BY_VALUE:
        return False
    listed = function_name(call) in ("listagg", "string_agg")
    return not listed or (parent.args.get("order") is not None and not isinstance(call.parent, exp.WithinGroup))


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="spark", normalize_functions="lower").replace("`", "")


def _any(call: exp.Anonymous) -> exp.Expr | None:
    """Some value of the group: the smallest."""
    if not call.expressions:
        return None
    value = call.expressions[0]
    value = value.this if isinstance(value, (exp.IgnoreNulls, exp.RespectNulls)) else value
    whole = call.parent if isinstance(call.parent, (exp.IgnoreNulls, exp.RespectNulls)) else call
    return whole.replace(exp.Min(this=value.copy()))


def _mode(call: exp.Anonymous) -> exp.Expr | None:
    """Of several most frequent values the smallest. `mode() WITHIN GROUP (ORDER BY x)` says so itself."""
    if not call.expressions:
        return None
    value, *deterministic = call.expressions
    if deterministic and isinstance(deterministic[0], exp.Boolean) and deterministic[0].this:
        return None
    call.set("expressions", [value, exp.true()])
    return call


def _collected(call: exp.Anonymous) -> exp.Expr | None:
    """The values sorted; inside a function for which their order is the same, as they are."""
    if is_ordered(call):
        return None
    whole = call.parent if isinstance(call.parent, exp.Filter) else call
    return whole.replace(exp.Anonymous(this="sort_array", expressions=[whole.copy()]))


def _listed(call: exp.Anonymous) -> exp.Expr | None:
    """Values in their own order, or at least where the order that is asked for leaves ties."""
    distinct = isinstance(call.expressions[0], exp.Distinct)
    value = call.expressions[0].expressions[0] if distinct else call.expressions[0]
    last = exp.Ordered(this=value.copy(), nulls_first=True)
    within = call.parent
    if not isinstance(within, exp.WithinGroup):
        return call.replace(exp.WithinGroup(this=call.copy(), expression=exp.Order(expressions=[last])))
    order = within.expression
    # With DISTINCT, Spark wants the values to be ordered by themselves.
    if distinct or any(part.this == value for part in order.expressions):
        return None
    order.append("expressions", last)
    return within


def _extreme(call: exp.Anonymous) -> exp.Expr | None:
    """Of several rows with the same extremum, the one whose value is the extremum again."""
    if len(call.expressions) != 2:
        return None
    value, by = call.expressions
    if value == by:
        return None
    both = exp.Anonymous(this="struct", expressions=[by.copy(), value.copy()])
    known = exp.Is(this=exp.paren(by.copy()) if isinstance(by, exp.Binary) else by.copy(), expression=exp.Null()).not_()
    call.set("expressions", [value, exp.case().when(known, both)])
    return call


DECISIONS: dict[str, Callable[[exp.Anonymous], exp.Expr | None]] = {
    **dict.fromkeys(("any_value", "first", "first_value", "last", "last_value"), _any),
    **dict.fromkeys(("collect_list", "collect_set", "array_agg"), _collected),
    **dict.fromkeys(("listagg", "string_agg"), _listed),
    **dict.fromkeys(("max_by", "min_by"), _extreme),
    "mode": _mode,
}
