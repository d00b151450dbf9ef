"""Key ranges: where a join compares a column of a changed leaf with a column of another leaf, only the rows of that
leaf within the range of the changed values can matter. `key_range(column, source, source_column)` says so next to the
leaf; whoever knows the values puts bounds there, and files outside of them are not read.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.delta.types import same_range
from spark_trickle.sql.operators import Filter, Item, Join, Operator, Project, Scan, ScanColumn, UnionAll, column, scans

KEY_RANGE = "key_range"


def restricted(join: Join, place: int, changed: frozenset[str]) -> tuple[Operator, ...]:
    """The inputs of a join, those beside the changing one restricted to the range of its join keys."""
    moving = [scan for scan in scans(join.inputs[place]) if scan.source in changed]
    result = list(join.inputs)
    if len(moving) != 1:
        return join.inputs  # rows of this input may come from a leaf that is read whole
    for names in _equal(join.conditions):
        known = _origin_of_any(join.inputs[place], names, moving[0])
        if known is None:
            continue
        for i, source in enumerate(join.inputs):
            for name in sorted(names & set(source.columns)):
                if i != place:
                    result[i] = _restrict(result[i], name, moving[0].source, known)
    return tuple(result)


def _equal(conditions: tuple[exp.Expr, ...]) -> list[set[str]]:
    """Columns that the conditions make equal, in classes."""
    classes: list[set[str]] = []
    for condition in conditions:
        bare = condition.unnest()
        if (
            not isinstance(bare, exp.EQ)
            or not isinstance(bare.left, exp.Column)
            or not isinstance(bare.right, exp.Column)
        ):
            continue
        pair = {bare.left.name, bare.right.name}
        touching = [found for found in classes if found & pair]
        classes = [found for found in classes if not found & pair]
        classes.append(pair.union(*touching))
    return classes


def _origin_of_any(operator: Operator, names: set[str], scan: Scan) -> ScanColumn | None:
    for name in sorted(names & set(operator.columns)):
        found = origin(operator, name)
        if found is not None and found[0] is scan:
            return found[1]
    return None


def origin(operator: Operator, name: str) -> tuple[Scan, ScanColumn] | None:
    """The leaf and its column that a column is, unchanged; None if it is computed or may come from several."""
    match operator:
        case Scan():
            return operator, next(item for item in operator.items if item.name == name)
        case Filter():
            return origin(operator.input, name)
        case Project():
            item = _item(operator, name)
            return origin(operator.input, item.expression.name) if item.is_rename else None
        case Join():
            return origin(next(source for source in operator.inputs if name in source.columns), name)
    return None


def _item(project: Project, name: str) -> Item:
    return next(item for item in project.items if item.name == name)


def _restrict(operator: Operator, name: str, source: str, key: ScanColumn) -> Operator:
    """The range next to each leaf that the column comes from unchanged; elsewhere it is left out, being only a help."""
    match operator:
        case Scan():
            mine = next(item for item in operator.items if item.name == name)
            if not same_range(mine.type, key.type):
                return operator
            arguments = [column(name), exp.Literal.string(source), exp.Literal.string(key.source)]
            return Filter(operator, (exp.Anonymous(this=KEY_RANGE, expressions=arguments),))
        case Filter():
            below = _restrict(operator.input, name, source, key)
            if isinstance(below, Filter) and isinstance(operator.input, Scan):
                return Filter(operator.input, (*operator.conditions, *below.conditions))
            return replace(operator, input=below)
        case Project():
            item = _item(operator, name)
            if not item.is_rename:
                return operator
            return replace(operator, input=_restrict(operator.input, item.expression.name, source, key))
        case Join():
            parts = tuple(
                _restrict(part, name, source, key) if name in part.columns else part for part in operator.inputs
            )
            return replace(operator, inputs=parts)
        case UnionAll():
            place = operator.columns.index(name)
            parts = tuple(_restrict(part, part.columns[place], source, key) for part in operator.inputs)
            return replace(operator, inputs=parts)
    return operator
