"""The change of a node as a query over leaves. The recursion; what each operator does is in `rules`."""

from __future__ import annotations

from collections.abc import Mapping

from spark_trickle.delta.consolidate import consolidated
from spark_trickle.delta.partitions import touched_tree
from spark_trickle.delta.plan import Bag, Delta, Node, Partitions
from spark_trickle.delta.rules import aggregate, change_of
from spark_trickle.delta.shared import delta_of
from spark_trickle.delta.staged import NONE_LARGE
from spark_trickle.sql.leaves import Leaf
from spark_trickle.sql.operators import Operator, Recursion, inputs, scans


def delta(node: Node, changed: frozenset[Leaf], large: Mapping[Leaf, int] = NONE_LARGE) -> Delta | None:
    """The change of a node, if the leaves in `changed` changed and no others; None: there is none.

    The leaves in `large` have many rows, and how many: a change is joined with them step by step.

    Of a `Bag`: its columns and the weight, one row per different row. Of `Groups`: one row per key, with what `merge`
    needs. Of `Partitions`: the keys of those touched, for `partitions.partition_change`.
    """
    tree = _tree(node, changed)
    return None if tree is None else delta_of(tree, large)


def _tree(node: Node, changed: frozenset[Leaf]) -> Operator | None:
    upkeep = node.upkeep
    if isinstance(upkeep, Bag):
        change = change_of(upkeep.operator, changed)
        return None if change is None else consolidated(change, upkeep.floating)
    if isinstance(upkeep, Partitions):
        # A recursion's step reads the recursion itself: whatever table it reads, all of it is computed again.
        sources = scans(upkeep.core) if isinstance(upkeep.core, Recursion) else inputs(upkeep.core)
        changes = [found for source in sources if (found := change_of(source, changed)) is not None]
        return touched_tree(upkeep, changes) if changes else None
    change = change_of(upkeep.operator.input, changed)
    return None if change is None else aggregate.partials(upkeep, change)
