"""A maintenance plan as text, for `explain`: what is kept, how, and the SQL that computes the change."""

from __future__ import annotations

from spark_trickle.delta.differentiate import delta
from spark_trickle.delta.partitions import partition_change
from spark_trickle.delta.plan import PUBLIC, Bag, Delta, Groups, Keep, Kept, MaintenancePlan, Node, Partitions
from spark_trickle.delta.rules.aggregate import may_not_fit
from spark_trickle.sql.parse import TrickleSpark
from spark_trickle.sql.show import show as show_tree

_WAYS = {
    Keep.COUNT: "merged",
    Keep.SUM: "merged",
    Keep.FLOAT_SUM: "added on insert, recomputed for groups that lost rows",
    Keep.AVG: "computed from its sum and count",
    Keep.MIN: "merged on insert, recomputed for groups that lost their extremum",
    Keep.MAX: "merged on insert, recomputed for groups that lost their extremum",
    Keep.RECOMPUTE: "recomputed for changed groups",
}


def show(plan: MaintenancePlan) -> str:
    """All nodes, in the order in which they are refreshed."""
    return "\n\n".join(_node(node) for node in plan.nodes)


def _node(node: Node) -> str:
    kind = "public table" if node.label == PUBLIC else f"internal table {node.label}"
    lines = [f"{kind} ({', '.join(node.columns)})"]
    upkeep = node.upkeep
    if isinstance(upkeep, Bag):
        by = f"by key ({', '.join(node.key)})" if node.key else "row by row"
        lines.append(f"  kept {by}")
    elif isinstance(upkeep, Groups):
        by = f"per ({', '.join(upkeep.keys)})" if upkeep.keys else "as one row"
        lines.append(f"  kept {by}")
        lines.extend(f"    {_kept(kept)}" for kept in upkeep.kept)
    else:
        by = f"partitions of ({', '.join(name for name, _ in upkeep.keys)})" if upkeep.keys else "the whole"
        lines.append(f"  kept by computing {by} again, writing what differs")
    lines.append(_indented(show_tree(upkeep.operator)))
    change = delta(node, frozenset(node.inputs))
    if change is None:
        lines.append("  change: none, it reads no table")
    elif isinstance(upkeep, Partitions):
        lines.append("  touched, if all inputs change:")
        lines.extend(_steps(change))
        lines.append("  change:")
        lines.extend(_steps(partition_change(node)))
    else:
        lines.append("  change, if all inputs change:")
        lines.extend(_steps(change))
    return "\n".join(lines)


def _steps(change: Delta) -> list[str]:
    parts = []
    for shared in change.shared:
        parts.append(f"    {shared.step}, used in several places:")
        parts.append(_indented(shared.query.sql(dialect=TrickleSpark, pretty=True), 6))
    return [*parts, _indented(change.query.sql(dialect=TrickleSpark, pretty=True), 4)]


def _kept(kept: Kept) -> str:
    call = kept.call.sql(dialect="spark").replace("`", "")
    rarely = ", recomputed for groups whose change does not fit the type" if may_not_fit(kept) else ""
    return f"{kept.column} = {call}: {_WAYS[kept.how]}{rarely}"


def _indented(text: str, by: int = 2) -> str:
    return "\n".join(" " * by + line for line in text.split("\n"))
