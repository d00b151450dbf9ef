"""Orders of rows: whether one decides all ties, what to add if it does not, and which columns can be ordered at all.
Used wherever a result depends on which row comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlglot import exp

from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Limit,
    Match,
    OneRow,
    Operator,
    Project,
    Scan,
    Window,
    column,
    inputs,
)
from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused

_UNORDERED = ("map<", "variant")


def decides(operator: Operator, columns: Collection[str]) -> bool:
    """Do no two rows agree on all these columns? Only what is plain to see counts."""
    match operator:
        case OneRow():
            return True
        case Aggregate():
            return {item.name for item in operator.keys} <= set(columns)
        case Distinct():
            return set(operator.columns) <= set(columns)
        case Filter() | Window() | Limit():
            return decides(operator.input, columns)
        case Match():
            return decides(operator.left, columns)
        case Project():
            names = {item.expression.name for item in operator.items if item.is_rename and item.name in columns}
            return decides(operator.input, names)
    return False


def ascending(name: str) -> exp.Ordered:
    """A column as a part of an order, as Spark sorts unless told otherwise."""
    return exp.Ordered(this=column(name), nulls_first=True)


def ordered_columns(order: Iterable[exp.Ordered]) -> set[str]:
    """The plain columns in an order."""
    return {part.this.unnest().name for part in order if isinstance(part.this.unnest(), exp.Column)}


def shown(order: Iterable[exp.Ordered]) -> str:
    """An order for people."""
    return ", ".join(part.sql(dialect="spark").replace("`", "") for part in order)


def kinds(operator: Operator) -> dict[str, str]:
    """Spark's types of those columns that come straight from a table."""
    if isinstance(operator, Scan):
        return {item.name: item.type.lower() for item in operator.items}
    below = {name: kind for source in inputs(operator) for name, kind in kinds(source).items()}
    if isinstance(operator, Project):
        return {item.name: below.get(item.expression.name, "") for item in operator.items if item.is_rename}
    return {name: kind for name, kind in below.items() if name in operator.columns}


def check_orderable(operator: Operator, columns: Iterable[str], text: str, construct: str, keyword: str) -> None:
    """Refuse to decide ties by what has no order."""
    known = kinds(operator)
    for name in columns:
        kind = known.get(name, "")
        if any(word in kind for word in _UNORDERED):
            what = Refused.TIES_WITHOUT_ORDER
            raise unsupported(text, None, what, keyword, name=construct, by=name, kind=kind)
