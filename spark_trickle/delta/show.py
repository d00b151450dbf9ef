"""A maintenance plan as text, for `explain`: what is kept, how, and the program that a change goes through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from spark_trickle.delta.plan import PUBLIC, RECOMPUTED, TARGET, Bag, Groups, Keep, Kept, MaintenancePlan, Node
from spark_trickle.delta.program import Compute, Gather, Inline, Step, Together, Where, program
from spark_trickle.delta.rules.aggregate import may_not_fit
from spark_trickle.delta.sizes import Sizes
from spark_trickle.delta.staged import NONE_LARGE
from spark_trickle.delta.transitions import TRANSITIONS
from spark_trickle.sql.leaves import Leaf, StepLeaf
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


_BESIDE = (TRANSITIONS, RECOMPUTED, TARGET)


def show(plan: MaintenancePlan, rows: Mapping[Leaf, int] = NONE_LARGE) -> str:
    """All nodes, in the order in which they are refreshed.

    Args:
        rows: of the tables that are read, where that is known: large ones are joined step by step.
    """
    sizes = [f"{leaf}: about {rows[leaf]:,} rows" for leaf in plan.sources if leaf in rows]
    return "\n\n".join([*(["\n".join(sizes)] if sizes else []), *(_node(node, rows) for node in plan.nodes)])


def _node(node: Node, rows: Mapping[Leaf, int]) -> str:
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
    made = program(node, frozenset(node.inputs), Sizes(tables={leaf: rows.get(leaf, 0) for leaf in node.inputs}))
    if made is None:
        lines.append("  change: none, it reads no table")
    else:
        lines.append("  if all inputs change, a small change goes through:")
        lines.extend(_steps(made.steps, 4))
        lines.append(f"    write {made.writes}: {made.writing}")
    return "\n".join(lines)


def _steps(steps: tuple[Step, ...], by: int) -> Iterator[str]:
    for step in steps:
        match step:
            case Compute():
                yield from _said(f"compute {step.step}: {step.what}", step.step, step.query, by)
            case Inline():
                yield from _said(f"put {step.step} into what reads it: {step.what}", step.step, step.query, by)
            case Gather():
                yield from _said(f"gather {step.step} by the keys of {step.by}: {step.what}", step.step, step.query, by)
            case Together():
                yield " " * by + "side by side:"
                yield from _steps(step.parts, by + 2)
            case Where():
                rows = step.step if step.flag is None else f"{step.step} with {step.flag}"
                yield " " * by + f"if there is any {rows}: {step.what}"
                yield from _steps(step.then, by + 2)


def _said(what: str, step: StepLeaf, query: exp.Query, by: int) -> Iterator[str]:
    yield " " * by + what
    # What becomes of groups follows from how each column is kept: it is told on one line.
    yield _indented(query.sql(dialect=TrickleSpark, pretty=step not in _BESIDE), by + 2)


def _kept(kept: Kept) -> str:
    call = kept.call.sql(dialect="spark").replace("`", "")
    rarely = ", recomputed for groups whose change does not fit the type" if may_not_fit(kept) else ""
    return f"{kept.column} = {call}: {_WAYS[kept.how]}{rarely}"


def _indented(text: str, by: int = 2) -> str:
    return "\n".join(" " * by + line for line in text.split("\n"))
