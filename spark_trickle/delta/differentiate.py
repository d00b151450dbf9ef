"""The change of a node as a query over leaves. The recursion; what each operator does is in `rules`."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.consolidate import consolidated
from spark_trickle.delta.plan import Bag, Node
from spark_trickle.delta.rules import aggregate, change_of
from spark_trickle.sql.operators import Operator
from spark_trickle.sql.render import render
from spark_trickle.sql.rewrite import simplified


def delta(node: Node, changed: frozenset[str]) -> exp.Query | None:
    """The change of a node, if the leaves in `changed` changed and no others; None: there is none.

    Of a `Bag`: its columns and `_weight`, one row per different row. Of `Groups`: one row per key, with what `merge`
    needs.
    """
    tree = delta_tree(node, changed)
    return None if tree is None else render(tree)


def delta_tree(node: Node, changed: frozenset[str]) -> Operator | None:
    """The same, as an operator tree."""
    upkeep = node.upkeep
    if isinstance(upkeep, Bag):
        change = change_of(upkeep.operator, changed)
        return None if change is None else simplified(consolidated(change, upkeep.floating))
    change = change_of(upkeep.operator.input, changed)
    return None if change is None else simplified(aggregate.partials(upkeep, change))
