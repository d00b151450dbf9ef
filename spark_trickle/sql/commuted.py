"""Expressions that are the same to Spark although their operands are the other way round: `a + 1` and `1 + a`, `a < b`
and `b > a`. Only neighbours change places: in a longer chain, another order may be another type or rounding.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from spark_trickle.sql.operators import used

_EITHER_WAY = (
    *(exp.Add, exp.Mul, exp.And, exp.Or, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor),
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ),
)
_TURNED: dict[type[exp.Expr], type[exp.Binary]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}


def found_among(node: exp.Expr, known: Mapping[exp.Expr, str]) -> str | None:
    """What an expression is called among known ones, whichever way round they are written.

    >>> from spark_trickle.sql.parse import parse_query
    >>> first, other, chain = parse_query("SELECT (a + 1) * b > c, c < b * (1 + a), 1 + b + a").selects
    >>> found_among(first, {other: "x"}), found_among(chain, {other: "x"})
    ('x', None)
    """
    if node in known:
        return known[node]
    if not isinstance(node, (exp.Binary, exp.Paren, exp.Not, exp.Func)):
        return None
    candidates = [key for key in known if key.find(*_EITHER_WAY, *_TURNED, *_TURNED.values())]
    if not candidates:
        return None
    reads = used(node)
    candidates = [key for key in candidates if used(key) == reads]
    mine = _in_order(node) if candidates else node
    return next((known[key] for key in candidates if _in_order(key) == mine), None)


def _in_order(node: exp.Expr) -> exp.Expr:
    """The same with the operands of each operation in one order, without parentheses."""
    holder = exp.Paren(this=node.copy())
    for found in reversed(list(holder.this.walk())):
        if isinstance(found, exp.Paren):
            found.replace(found.this)
        elif isinstance(found, _EITHER_WAY):
            left, right = sorted((found.left, found.right), key=lambda each: each.sql(dialect="spark"))
            found.set("this", left)
            found.set("expression", right)
        elif type(found) in _TURNED:
            found.replace(_TURNED[type(found)](this=found.right, expression=found.left))
    ordered: exp.Expr = holder.this
    return ordered
