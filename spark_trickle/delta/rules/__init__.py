"""RULES: for each operator, its change from the changes of its inputs.

A rule gives an operator tree with the columns of the operator and the weight, in that order, or None if nothing
changes. Operators with state (`STATEFUL`) are nodes of their own, cut out by `nodes.plan`; their rules turn a change
of the input into what the state needs.
"""

from __future__ import annotations

from spark_trickle.delta.rules import filter, generate, inner_join, match, outer_join, project, scan, union_all
from spark_trickle.delta.rules.rule import Rule
from spark_trickle.errors import InternalError
from spark_trickle.sql.leaves import Leaf
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    Match,
    OneRow,
    Operator,
    OuterJoin,
    Project,
    Recursion,
    Scan,
    UnionAll,
    Window,
)

RULES: dict[type, Rule] = {
    Scan: scan.differentiate,
    OneRow: scan.constant,
    Filter: filter.differentiate,
    Project: project.differentiate,
    Join: inner_join.differentiate,
    UnionAll: union_all.differentiate,
    OuterJoin: outer_join.differentiate,
    Match: match.differentiate,
    Generate: generate.differentiate,
}

STATEFUL: frozenset[type] = frozenset({Aggregate, Distinct, Window, Limit, Recursion})


def change_of(operator: Operator, changed: frozenset[Leaf]) -> Operator | None:
    """The change of a tree without state."""
    rule = RULES.get(type(operator))
    if rule is None:
        raise InternalError(f"no rule for {type(operator).__name__}: the planner should have cut there")
    return rule(operator, changed, change_of)
