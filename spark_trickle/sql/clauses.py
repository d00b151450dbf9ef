"""Clauses that nothing reads. The parser knows more than Spark has and than there are rules for; what the builder would
pass over without a word is refused here, before it looks.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused

_CUT = frozenset({"with_", "order", "limit", "offset", "sort", "distribute", "cluster"})
_READ: tuple[tuple[type[exp.Expr], frozenset[str]], ...] = (
    (
        exp.Select,
        _CUT
        | {"expressions", "hint", "distinct", "from_", "laterals", "joins", "where", "group", "having", "qualify"}
        | {"windows"},
    ),
    (exp.Subquery, _CUT | {"this", "alias", "joins", "pivots", "sample"}),
    (exp.SetOperation, _CUT | {"this", "expression", "distinct", "by_name"}),
    (exp.Table, frozenset({"this", "db", "catalog", "alias", "joins", "pivots", "sample", "version"})),
    (exp.Join, frozenset({"this", "on", "side", "kind", "using", "method", "pivots"})),
    (exp.With, frozenset({"expressions", "recursive"})),
    (exp.Star, frozenset({"except_", "replace", "rename"})),
    (exp.Distinct, frozenset({"expressions"})),
    (exp.WindowSpec, frozenset({"kind", "start", "start_side", "end", "end_side"})),
)
"""What the builder reads of each kind of node (hints are not for it)."""


def check_clauses(tree: exp.Expr, text: str) -> None:
    """Refuse what would be passed over."""
    for node in tree.walk():
        if isinstance(node, exp.QueryTransform):
            raise unsupported(text, node, Refused.TRANSFORM, "TRANSFORM")
        if node.args.get("pivots") and not _turns_what_is_seen(node):
            raise unsupported(text, node.args["pivots"][0], Refused.PIVOT_AFTER_JOINS, _keyword(node))
        for kind, read in _READ:
            if isinstance(node, kind):
                _check(node, read, text)


def _check(node: exp.Expr, read: frozenset[str], text: str) -> None:
    for clause, value in node.args.items():
        if value and clause not in read:
            place = value[0] if isinstance(value, list) else value
            found = place if isinstance(place, exp.Expr) else node
            raise unsupported(text, found, Refused.CLAUSE, name=clause.strip("_").upper())


def _turns_what_is_seen(node: exp.Expr) -> bool:
    """Whether the parser put a PIVOT where Spark does: after JOIN ... ON it turns the whole join, and so it would
    without ON, where the parser takes it for a part of the last table.
    """
    if isinstance(node, exp.Join):
        return bool(node.args.get("on") or node.args.get("using"))
    return isinstance(node, (exp.Table, exp.Subquery, exp.Values)) and isinstance(node.parent, (exp.From, exp.Subquery))


def _keyword(node: exp.Expr) -> str:
    return "UNPIVOT" if node.args["pivots"][0].args.get("unpivot") else "PIVOT"
