"""Key ranges: where a join compares a column of a changed leaf with a column of another leaf, only the rows of that
leaf within the range of the changed values can matter. `KEY_RANGE(column, rows.key)` says so next to the leaf; whoever
knows the values puts bounds there, and files outside of them are not read.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.delta.types import is_integer, same_range
from spark_trickle.sql.leaves import Leaf, StepLeaf, Version, key_range
from spark_trickle.sql.operators import (
    Filter,
    Generate,
    Item,
    Join,
    Match,
    MatchKind,
    Once,
    Operator,
    OuterJoin,
    Project,
    Scan,
    ScanColumn,
    UnionAll,
    Window,
    column,
    inputs,
    scans,
    used,
    with_inputs,
)


def restricted(join: Join, place: int, changed: frozenset[Leaf]) -> tuple[Operator, ...]:
    """The inputs of a join, those beside the changing one restricted to the range of its join keys."""
    moving = [scan for scan in scans(join.inputs[place]) if scan.leaf in changed]
    result = list(join.inputs)
    if len(moving) != 1:
        return join.inputs  # rows of this input may come from a leaf that is read whole
    for names in _equal(join):
        known = _origin_of_any(join.inputs[place], names, moving[0])
        if known is None:
            continue
        for i, source in enumerate(join.inputs):
            for name in sorted(names & set(source.columns)):
                if i != place:
                    result[i] = restrict(result[i], name, moving[0].leaf, known)
    return tuple(result)


def ranged(operator: Operator) -> Operator:
    """Ranges wherever rows are narrowed to the keys of a change or of a step."""
    operator = with_inputs(operator, tuple(ranged(source) for source in inputs(operator)))
    if isinstance(operator, Join):
        return _ranged_join(operator)
    if not isinstance(operator, Match) or operator.kind is not MatchKind.SEMI:
        return operator
    left = operator.left
    for condition in operator.conditions:
        bare = condition.unnest()
        if not isinstance(bare, (exp.EQ, exp.NullSafeEQ)):
            continue
        for one, other in ((bare.left, bare.right), (bare.right, bare.left)):
            if not isinstance(one, exp.Column) or not isinstance(other, exp.Column):
                continue
            if one.name in left.columns and other.name in operator.right.columns:
                left = _within(left, one.name, operator.right, other.name, nulls=isinstance(bare, exp.NullSafeEQ))
    return replace(operator, left=left)


def _ranged_join(join: Join) -> Operator:
    """Inputs beside the rows of a step are within the range of its keys."""
    steps = [source for source in join.inputs if isinstance(source, Scan) and isinstance(source.leaf, StepLeaf)]
    if len(steps) != 1:
        return join
    result = list(join.inputs)
    for condition in join.conditions:
        bare = condition.unnest()
        if not isinstance(bare, exp.EQ):
            continue
        for one, other in ((bare.left, bare.right), (bare.right, bare.left)):
            if not isinstance(one, exp.Column) or not isinstance(other, exp.Column):
                continue
            if other.name in steps[0].columns:
                result = [
                    _within(source, one.name, steps[0], other.name, nulls=False)
                    if source is not steps[0] and one.name in source.columns
                    else source
                    for source in result
                ]
    return replace(join, inputs=tuple(result))


def _within(left: Operator, name: str, right: Operator, its: str, *, nulls: bool) -> Operator:
    found = origin(right, its)
    if found is None:
        return left
    rows, key = found
    if rows.version is not Version.CHANGES and not isinstance(rows.leaf, StepLeaf):
        return left
    return restrict(left, name, rows.leaf, key, nulls=nulls)


def kind_of(operator: Operator, name: str) -> str:
    """Spark's type of a column, as far as it can be seen."""
    match operator:
        case UnionAll():
            place = operator.columns.index(name)
            kinds = {kind_of(source, source.columns[place]) for source in operator.inputs}
            return kinds.pop() if len(kinds) == 1 else ""
        case Project():
            item = _item(operator, name)
            return kind_of(operator.input, item.expression.name) if item.is_rename else ""
        case Join() | OuterJoin():
            return kind_of(next(source for source in inputs(operator) if name in source.columns), name)
        case Match():
            return kind_of(operator.left, name) if name in operator.left.columns else ""
        case Filter() | Once() | Generate() | Window():
            return kind_of(operator.input, name) if name in operator.input.columns else ""
        case Scan():
            return next(item.type for item in operator.items if item.name == name)
    return ""


def _equal(join: Join) -> list[set[str]]:
    """Columns that the conditions make equal, in classes. Those of more than two are of one type: a comparison of two
    types converts, and what equals the same need not be equal ('01' = 1 and 1 = '1').
    """
    classes: list[set[str]] = []
    alone: list[set[str]] = []
    for condition in join.conditions:
        both = equal_columns(condition)
        if both is None:
            continue
        pair = set(both)
        if not _same_kind(*(kind_of(join, part) for part in both)):
            alone.append(pair)
            continue
        touching = [found for found in classes if found & pair]
        classes = [found for found in classes if not found & pair]
        classes.append(pair.union(*touching))
    return classes + alone


def _same_kind(one: str, other: str) -> bool:
    return bool(one) and (one.lower() == other.lower() or (is_integer(one) and is_integer(other)))


def implied(join: Join) -> tuple[exp.Expr, ...]:
    """Equalities between columns of two inputs that follow from others, where no condition equates those inputs."""
    found: list[exp.Expr] = []
    stated = [used(condition) for condition in join.conditions if isinstance(condition.unnest(), exp.EQ)]
    for names in _equal(join):
        one_each = [next(iter(sorted(names & set(source.columns))), None) for source in join.inputs]
        for place, left in enumerate(one_each):
            for other, right in enumerate(one_each[:place]):
                if left is None or right is None:
                    continue
                both = {*join.inputs[place].columns, *join.inputs[other].columns}
                direct = any(len(pair & names) == 2 and pair <= both for pair in stated)
                # Of other types a comparison converts, and equal to the same is not always equal.
                kind = kind_of(join.inputs[place], left)
                if not direct and kind and kind == kind_of(join.inputs[other], right):
                    found.append(exp.EQ(this=column(right), expression=column(left)))
    return tuple(found)


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
        case Filter() | Once():
            return origin(operator.input, name)
        case Match():
            return origin(operator.left, name) if name in operator.left.columns else None
        case Generate() | Window():
            return origin(operator.input, name) if name in operator.input.columns else None
        case Project():
            item = _item(operator, name)
            return origin(operator.input, item.expression.name) if item.is_rename else None
        case Join() | OuterJoin():
            # The side that need not be there adds NULLs, which are equal to nothing.
            return origin(next(source for source in inputs(operator) if name in source.columns), name)
    return None


def _item(project: Project, name: str) -> Item:
    return next(item for item in project.items if item.name == name)


def restrict(operator: Operator, name: str, rows: Leaf, key: ScanColumn, *, nulls: bool = False) -> Operator:
    """The range next to each leaf that the column comes from unchanged; elsewhere it is left out, being only a help.

    Args:
        nulls: NULL is a key like others.
    """
    match operator:
        case Scan():
            mine = next(item for item in operator.items if item.name == name)
            return (
                Filter(operator, (key_range(column(name), rows, key.source, nulls=nulls),))
                if same_range(mine.type, key.type)
                else operator
            )
        case Filter():
            below = restrict(operator.input, name, rows, key, nulls=nulls)
            if isinstance(below, Filter) and isinstance(operator.input, Scan):
                return Filter(operator.input, (*operator.conditions, *below.conditions))
            return replace(operator, input=below)
        case Project():
            item = _item(operator, name)
            if not item.is_rename:
                return operator
            return replace(operator, input=restrict(operator.input, item.expression.name, rows, key, nulls=nulls))
        case UnionAll():
            place = operator.columns.index(name)
            kinds = {kind_of(part, part.columns[place]) for part in operator.inputs} - {""}
            if not all(_same_kind(kind, key.type) for kind in kinds):
                return operator  # rows are converted before they are compared
            parts = tuple(restrict(part, part.columns[place], rows, key, nulls=nulls) for part in operator.inputs)
            return replace(operator, inputs=parts)
    return _restrict_one(operator, name, rows, key, nulls=nulls)


def _restrict_one(operator: Operator, name: str, rows: Leaf, key: ScanColumn, *, nulls: bool) -> Operator:
    """Where the column comes from one input, and a row without it is no row of the result either.

    Whatever has to equal it for rows to be joined, or to count as a match, is within the range, too.
    """
    owners: tuple[Operator, ...] = ()
    match operator:
        case Join():
            owners = operator.inputs
        case OuterJoin() if not operator.keeps_right:
            owners = (operator.left,)
        case Match():
            owners = (operator.left,)
        case Generate():
            owners = (operator.input,)
        case Window() if name in operator.keys:
            owners = (operator.input,)
    if not any(name in owner.columns for owner in owners):
        return operator
    parts = list(inputs(operator))
    for place, part in enumerate(parts):
        if name in part.columns and any(part is owner for owner in owners):
            parts[place] = restrict(part, name, rows, key, nulls=nulls)
    for other in _equal_to(operator, name):
        # What is equal is not NULL.
        parts = [restrict(part, other, rows, key) if other in part.columns else part for part in parts]
    return with_inputs(operator, tuple(parts))


def _equal_to(operator: Operator, name: str) -> list[str]:
    """Columns of other inputs that a row of the result has the same value in, if anything was found there."""
    if not isinstance(operator, (Join, OuterJoin, Match)):
        return []
    kinds = {part: kind_of(owner, part) for owner in inputs(operator) for part in owner.columns}
    if isinstance(operator, Join):
        classes = [names for names in _equal(operator) if name in names]
        found = sorted({other for names in classes for other in names} - {name})
    else:
        asked = (pair for condition in operator.conditions if (pair := equal_columns(condition)) and name in pair)
        found = sorted({other for pair in asked for other in pair if other in operator.right.columns})
    return [other for other in found if _same_kind(kinds[name], kinds[other])]


def equal_columns(condition: exp.Expr) -> tuple[str, str] | None:
    """The two columns that a condition says are equal."""
    bare = condition.unnest()
    if isinstance(bare, exp.EQ) and isinstance(bare.left, exp.Column) and isinstance(bare.right, exp.Column):
        return bare.left.name, bare.right.name
    return None
