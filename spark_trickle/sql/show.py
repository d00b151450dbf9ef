"""An operator tree as indented text, for `explain` and golden files."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.leaves import Version
from spark_trickle.sql.operators import (
    Again,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Limit,
    Match,
    Once,
    OneRow,
    Operator,
    OuterJoin,
    Project,
    Recursion,
    Scan,
    ScanColumn,
    UnionAll,
    Window,
    inputs,
)


def show(operator: Operator, indent: int = 0) -> str:
    """The tree, one operator a line."""
    lines = ["  " * indent + _line(operator)]
    lines.extend(show(source, indent + 1) for source in inputs(operator))
    return "\n".join(lines)


def _line(operator: Operator) -> str:  # noqa: C901  one case per operator
    match operator:
        case Scan():
            version = "" if operator.version is Version.AFTER else f"{operator.version} of "
            return f"Scan {version}{str(operator.leaf).replace('`', '')} [{_leaf(operator.items)}]"
        case Filter():
            return f"Filter {_all(operator.conditions)}"
        case Project():
            return f"Project [{_items(operator.items)}]"
        case Join():
            return f"Join {_all(operator.conditions)}".rstrip()
        case UnionAll():
            return f"UnionAll [{', '.join(operator.columns)}]"
        case Distinct():
            return "Distinct"
        case Aggregate():
            return f"Aggregate by [{_items(operator.keys)}] compute [{_items(operator.calls)}]"
        case OneRow():
            return "OneRow"
        case OuterJoin():
            sides = {(True, False): "Left", (False, True): "Right", (True, True): "Full"}
            return f"{sides[operator.keeps_left, operator.keeps_right]}Join {_all(operator.conditions)}".rstrip()
        case Match():
            into = f" AS {operator.mark}" if operator.mark else ""
            return f"Match {operator.kind} {_all(operator.conditions)}{into}".rstrip()
        case Generate():
            outer = " outer" if operator.outer else ""
            return f"Generate{outer} {_text(operator.call)} AS [{', '.join(operator.outputs)}]"
        case Window():
            return f"Window by [{', '.join(operator.keys)}] compute [{_items(operator.items)}]"
        case Limit():
            first = "all" if operator.count is None else operator.count
            skipped = f" after {operator.offset}" if operator.offset else ""
            return f"Limit {first}{skipped} by [{', '.join(_text(part) for part in operator.order)}]"
        case Again():
            return f"Again {operator.name} [{_leaf(operator.items)}]"
        case Once():
            return "Once"
        case Recursion():
            return f"Recursion {operator.name} [{', '.join(operator.columns)}]"


def _leaf(items: tuple[ScanColumn, ...]) -> str:
    return ", ".join(item.name if item.name == item.source else f"{item.source} AS {item.name}" for item in items)


def _items(items: tuple[Item, ...]) -> str:
    return ", ".join(
        item.name
        if item.is_rename and item.expression.name == item.name
        else f"{_text(item.expression)} AS {item.name}"
        for item in items
    )


def _all(conditions: tuple[exp.Expr, ...]) -> str:
    return " AND ".join(_text(condition) for condition in conditions)


def _text(expression: exp.Expr) -> str:
    return expression.sql(dialect="spark").replace("`", "")
