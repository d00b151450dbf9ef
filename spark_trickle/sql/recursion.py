"""WITH RECURSIVE: a base and a step, which reads what the step before found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql.operators import Again, Recursion, ScanColumn
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.relations import Built, in_order

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte


def refers_to_itself(entry: exp.CTE) -> bool:
    """Is the name of this WITH entry read inside it?"""
    name = entry.alias.lower()
    return any(not table.db and table.name.lower() == name for table in entry.this.find_all(exp.Table))


def recursion(builder: Builder, cte: Cte) -> Built:
    """A WITH entry that reads itself."""
    query = cte.query
    if not isinstance(query, exp.Union):
        raise wrong(builder.text, query, f"'{cte.name}' reads itself and is no UNION ALL of a base and a step")
    if query.args.get("distinct"):
        raise unsupported(builder.text, query, Refused.RECURSIVE_UNION, "UNION")
    for clause in ("order", "limit", "offset"):
        if query.args.get(clause) is not None:
            raise unsupported(builder.text, query.args[clause], Refused.RECURSIVE_CUT, clause=clause.upper())
    visible = builder.with_entries(query, cte.visible, cte.outer)
    base = builder.query(query.this, visible, cte.outer)
    named = cte.columns or base.names
    if len(named) != len(base.outputs):
        raise wrong(builder.text, query, f"{len(named)} names for {len(base.outputs)} columns")
    columns = tuple(builder.names.fresh(name) for name in named)
    outputs = tuple(zip(named, columns, strict=True))
    itself = replace(cte, columns=(), again=builder.names.fresh(cte.name), found=outputs)
    step = builder.query(query.expression, {**visible, cte.name.lower(): itself}, cte.outer)
    if len(step.outputs) != len(base.outputs):
        message = f"the base has {len(base.outputs)} columns and the step {len(step.outputs)}"
        raise wrong(builder.text, query.expression, message)
    operator = Recursion(itself.again, in_order(base, builder.names), in_order(step, builder.names), columns)
    return Built(operator, outputs)


def again(builder: Builder, cte: Cte) -> Built:
    """The recursion inside its own step."""
    items = tuple(ScanColumn(builder.names.fresh(name), source) for name, source in cte.found)
    outputs = tuple((name, item.name) for (name, _), item in zip(cte.found, items, strict=True))
    return Built(Again(cte.again, items), outputs)
