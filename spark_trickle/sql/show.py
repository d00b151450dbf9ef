"""An operator tree as indented text, for `explain` and golden files."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.operators import (
    AFTER,
    Aggregate,
    Distinct,
    Filter,
    Item,
    Join,
    OneRow,
    Operator,
    Project,
    Scan,
    UnionAll,
    inputs,
)


def show(operator: Operator, indent: int = 0) -> str:
    """The tree, one operator a line."""
    lines = ["  " * indent + _line(operator)]
    lines.extend(show(source, indent + 1) for source in inputs(operator))
    return "\n".join(lines)


def _line(operator: Operator) -> str:
    match operator:
        case Scan():
            columns = ", ".join(
                item.name if item.name == item.source else f"{item.source} AS {item.name}" for item in operator.items
            )
            version = "" if operator.version == AFTER else f"{operator.version} of "
            return f"Scan {version}{operator.source.replace('`', '')} [{columns}]"
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
