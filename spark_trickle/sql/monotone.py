"""Whether more rows in a source can only ever give more rows in the answer: a query is *monotone* in that source. Pure.

A circle of stream tables has a least fixed point, and reaches it, if each member is monotone in the others. Rows count
as often as they are there. Only the way from the root to the source counts: what is done to other tables beside it may
be anything. A query that is monotone in each of several sources is so in all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from spark_trickle.names import TableName
from spark_trickle.sql.leaves import Leaf, SourceLeaf
from spark_trickle.sql.operators import (
    Again,
    Aggregate,
    Filter,
    Join,
    Limit,
    Match,
    MatchKind,
    Operator,
    OuterJoin,
    Project,
    Recursion,
    Scan,
    UnionAll,
    Window,
    inputs,
    scans,
    used,
)


def obstacles(*readings: Operator) -> dict[TableName, str]:
    """Of the sources in which a query is not monotone: what stands in the way, and where.

    Args:
        readings: trees of the same query. One that shows that it is monotone is enough.
    """
    found: dict[TableName, str] = {}
    for leaf in sorted({scan.leaf for scan in scans(readings[0]) if isinstance(scan.leaf, SourceLeaf)}):
        told = [obstacle(reading, leaf) for reading in readings]
        if all(each is not None for each in told):
            found[leaf.table] = str(told[0])
    return found


@dataclass(frozen=True, slots=True)
class _Above:
    """What is done with the columns of an operator up to the next projection above it."""

    values: frozenset[str]
    """Columns that something is computed from."""
    asked: tuple[exp.Expr, ...] = ()
    """Conditions that rows must meet to stay."""

    def keeps(self, mark: str) -> bool:
        """Whether all that becomes of a mark is that more rows stay when it is true for more."""
        return mark not in self.values and all(_grows(condition, mark) for condition in self.asked)


_ANYTHING = None
"""Any column may be a value."""


def obstacle(operator: Operator, leaf: Leaf, above: _Above | None = _ANYTHING) -> str | None:
    """What makes more rows of a leaf take rows away; None: nothing does."""
    if not _reads(operator, leaf):
        return None
    if isinstance(operator, Aggregate):
        return _aggregate(operator, leaf)
    if (found := _itself(operator, leaf, above)) is not None:
        return found
    for source in inputs(operator):
        if (found := obstacle(source, leaf, _seen_from(operator, source, above))) is not None:
            return found
    return None


def _itself(operator: Operator, leaf: Leaf, above: _Above | None) -> str | None:
    """The operator, if it makes more rows of a leaf take rows away."""
    match operator:
        case Window() | Limit():
            return _named(operator)
        case Match() if operator.kind is not MatchKind.SEMI and _reads(operator.right, leaf):
            # `EXISTS (...) OR ...` is a mark that a condition asks for.
            marked = operator.kind is MatchKind.MARK and above is not None and above.keeps(operator.mark)
            return None if marked else f"the right side of {_named(operator)}"
        case OuterJoin() if any(_reads(side, leaf) for side in _null_extended(operator)):
            return f"the side of {_named(operator)} that NULLs stand in for"
    return None


def _seen_from(operator: Operator, source: Operator, above: _Above | None) -> _Above | None:
    """What is done with the columns of an input of an operator."""
    match operator:
        case Project():
            return _Above(frozenset(name for item in operator.items for name in used(item.expression)))
        case Filter() | Join() if above is not None:
            return replace(above, asked=(*above.asked, *operator.conditions))
        case Match() if above is not None and source is operator.left:
            compared = frozenset(name for condition in operator.conditions for name in used(condition))
            return replace(above, values=above.values | compared)
    return _ANYTHING


def _grows(condition: exp.Expr, mark: str) -> bool:
    """Whether a condition that is true stays so when a mark becomes true. Marks are never NULL."""
    bare = condition.unnest()
    if mark not in used(bare) or isinstance(bare, exp.Column):
        return True
    return isinstance(bare, (exp.And, exp.Or)) and _grows(bare.left, mark) and _grows(bare.right, mark)


def _null_extended(join: OuterJoin) -> list[Operator]:
    return [side for side, gives_way in ((join.right, join.keeps_left), (join.left, join.keeps_right)) if gives_way]


def _aggregate(operator: Aggregate, leaf: Leaf) -> str | None:
    """Groups without a value computed from them are only told apart. INTERSECT, the left side of EXCEPT and EXISTS
    count rows as well, and what they do with the counts is known."""
    if not operator.calls and operator.keys:
        return obstacle(operator.input, leaf)
    grows = operator.said.grows if operator.said is not None else ()
    if not grows:
        return _named(operator)
    below = operator.input
    if len(grows) == 1:
        return obstacle(below, leaf)
    if not isinstance(below, UnionAll) or len(below.inputs) != len(grows):
        return None if all(grows) and obstacle(below, leaf) is None else _named(operator)
    for branch, growing in zip(below.inputs, grows, strict=True):
        if not _reads(branch, leaf):
            continue
        if not growing:
            return f"the right side of {_named(operator)}"
        if (found := obstacle(branch, leaf)) is not None:
            return found
    return None


def _reads(operator: Operator, leaf: Leaf) -> bool:
    """Does it read the leaf, itself or, inside the step of a recursion that does, by reading that again?"""
    if isinstance(operator, Scan):
        return operator.leaf == leaf
    if isinstance(operator, Again):
        # Whether the recursion around it reads the leaf is known above: what a step does to itself counts as well.
        return True
    if isinstance(operator, Recursion):
        return any(scan.leaf == leaf for scan in scans(operator))
    return any(_reads(source, leaf) for source in inputs(operator))


def _named(operator: Aggregate | Window | Limit | Match | OuterJoin) -> str:
    if operator.said is not None:
        negated = (
            isinstance(operator, Match) and operator.kind is MatchKind.ANTI and operator.said.name in ("EXISTS", "IN")
        )
        return f"NOT {operator.said}" if negated else str(operator.said)
    kinds = {Aggregate: "the aggregate", Window: "the window function", Limit: "LIMIT", OuterJoin: "the outer join"}
    return kinds.get(type(operator), "the anti join")
