"""A change joined step by step: before it meets another large table, the rows so far are computed.

Of a join with a join Spark knows no size; it would move the large table about. Computed, the rows so far are few: they
are sent to the large table, and their keys tell which of its files matter.

Of several tables that could be joined next, those come first that lead to no other: they may leave fewer rows that
meet the rest, the smallest at the least cost. Whatever leads on keeps its order: a small table may have many rows for
each of ours (a nation's suppliers), until what else they must equal is there.

Likewise where a join is narrowed to the rows that fit a change: the input that is compared is narrowed first, and the
join begins there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from spark_trickle.delta.ranges import equal_columns
from spark_trickle.delta.rules.match import narrowed
from spark_trickle.sql.leaves import Leaf, StepLeaf, Version
from spark_trickle.sql.operators import (
    Filter,
    Item,
    Join,
    Match,
    MatchKind,
    Once,
    Operator,
    OuterJoin,
    Project,
    UnionAll,
    column,
    inputs,
    scans,
    used,
    with_inputs,
)
from spark_trickle.sql.render import next_joined

SMALL_BESIDE = 8
"""A table with so many times fewer rows than another is small beside it."""

NONE_LARGE: Mapping[Leaf, int] = MappingProxyType({})


def staged(operator: Operator, large: Mapping[Leaf, int]) -> Operator:
    """The same change; joins that begin with a change go step by step.

    Args:
        large: rows of the leaves that have many.
    """
    if not large:
        return operator
    if isinstance(operator, Join):
        operator = _distributed(operator, large)
    operator = with_inputs(operator, tuple(staged(source, large) for source in inputs(operator)))
    if isinstance(operator, Join) and _is_change(operator.inputs[0]):
        return _stepwise(operator, large)
    if isinstance(operator, Match) and operator.kind is MatchKind.SEMI and _is_change(operator.right):
        return _narrowed(operator.left, operator, large) or operator
    return operator


def _narrowed(operator: Operator, match: Match, large: Mapping[Leaf, int]) -> Operator | None:
    """The rows of an operator that fit a change, where they are found from the change on; None: it is no join."""
    asked = {name for condition in match.conditions for name in used(condition)}
    below: Operator | None = None
    match operator:
        case Filter():
            below = _narrowed(operator.input, match, large)
            return None if below is None else replace(operator, input=below)
        case Project() if asked & {*operator.columns} <= _unchanged(operator):
            below = _narrowed(operator.input, match, large)
            return None if below is None else replace(operator, input=below)
        case Match() if asked <= {*operator.left.columns, *match.right.columns}:
            below = _narrowed(operator.left, match, large)
            return None if below is None else _matched(operator, below, large)
        case Join():
            return _narrowed_join(operator, match, large)
    return None


def _matched(match: Match, left: Operator, large: Mapping[Leaf, int]) -> Operator:
    """A match of few rows: of a large right side only those with their keys can fit."""
    if not _is_large(match.right, large):
        return replace(match, left=left)
    few = Once(left, always=True)
    return replace(match, left=few, right=narrowed(match.right, match, few))


def _narrowed_join(join: Join, match: Match, large: Mapping[Leaf, int]) -> Operator | None:
    """One input can be narrowed by the conditions that read nothing else: a row that fits meets those, too."""
    compared = [
        tuple(c for c in match.conditions if used(c) <= {*source.columns, *match.right.columns})
        for source in join.inputs
    ]
    useful = [
        place
        for place, conditions in enumerate(compared)
        if any(isinstance(c.unnest(), (exp.EQ, exp.NullSafeEQ)) for c in conditions)
    ]
    if not useful or not _is_large(join, large):
        return None
    place = max(useful, key=lambda place: (_is_large(join.inputs[place], large), len(compared[place])))
    first = replace(match, left=join.inputs[place], conditions=compared[place])
    rest = tuple(source for at, source in enumerate(join.inputs) if at != place)
    found = _stepwise(replace(join, inputs=(first, *rest)), large)
    if len(compared[place]) < len(match.conditions):
        found = replace(match, left=found)
    return Project(found, tuple(Item(name, column(name)) for name in join.columns))


def _distributed(join: Join, large: Mapping[Leaf, int]) -> Operator:
    """(A + B) ⋈ S  as  A ⋈ S + B ⋈ S,  where S is filtered and small beside what A and B are joined with: those rows
    that S leaves meet the larger tables then, instead of all."""
    union = join.inputs[0]
    if not isinstance(union, UnionAll) or not all(_joins_by_name(branch) for branch in union.inputs):
        return join
    largest = max((large.get(scan.leaf, 0) for scan in scans(union) if not _is_change(scan)), default=0)
    small = [source for source in join.inputs[1:] if _rows(source, large) * SMALL_BESIDE <= largest]
    source = next((source for source in small if _leaves_few(source, union.columns, join.conditions)), None)
    if source is None:
        return join
    known = {*union.columns, *source.columns}
    meant = tuple(c for c in join.conditions if used(c) <= known)
    columns = (*union.columns, *source.columns)
    branches = tuple(_with_input(branch, source, meant) for branch in union.inputs)
    rest = tuple(other for other in join.inputs[1:] if other is not source)
    others = tuple(c for c in join.conditions if not any(c is done for done in meant))
    found = _distributed(Join((UnionAll(branches, columns, aligned=True), *rest), others), large)
    return Project(found, tuple(Item(name, column(name)) for name in join.columns))


def _joins_by_name(branch: Operator) -> bool:
    """Whether a term of a change is a join whose columns keep their names."""
    return (
        isinstance(branch, Project)
        and isinstance(branch.input, Join)
        and _is_change(branch.input.inputs[0])
        and _unchanged(branch) == {*branch.columns}
    )


def _with_input(branch: Operator, source: Operator, conditions: tuple[exp.Expr, ...]) -> Operator:
    assert isinstance(branch, Project) and isinstance(branch.input, Join)
    wider = Join((*branch.input.inputs, source), (*branch.input.conditions, *conditions))
    return Project(wider, (*branch.items, *(Item(name, column(name)) for name in source.columns)))


def _leaves_few(source: Operator, known: Sequence[str], waiting: Sequence[exp.Expr]) -> bool:
    """Whether joining an input early may leave fewer rows for the others."""
    return any(isinstance(part, Filter) for part in parts(source)) and _leads_nowhere(source, known, waiting)


def _stepwise(join: Join, large: Mapping[Leaf, int]) -> Operator:
    rest, waiting = list(join.inputs[1:]), list(join.conditions)
    found: Operator = join.inputs[0]
    joined = any(isinstance(part, (Join, OuterJoin, Match)) for part in parts(found))
    while rest:
        ends = [source for source in rest if _leads_nowhere(source, found.columns, waiting)]
        ends.sort(key=lambda source: _rows(source, large))
        source = ends[0] if ends else next_joined(found.columns, rest, waiting) or rest[0]
        rest.remove(source)
        if joined and _is_large(source, large):
            found = Once(found, always=True)
        known = {*found.columns, *source.columns}
        ready = tuple(condition for condition in waiting if used(condition) <= known)
        waiting = [condition for condition in waiting if not any(condition is done for done in ready)]
        found, joined = Join((found, source), ready), True
    return Join((found,), tuple(waiting)) if waiting else found


def parts(operator: Operator) -> Iterator[Operator]:
    """The operator and all below it."""
    yield operator
    for source in inputs(operator):
        yield from parts(source)


def _leads_nowhere(source: Operator, known: Sequence[str], waiting: Sequence[exp.Expr]) -> bool:
    """Whether no other column of an input has to equal one that is not there yet."""
    pairs = [pair for condition in waiting if (pair := equal_columns(condition)) is not None]
    mine = set(source.columns)
    ends = [(one, other) for pair in pairs for one, other in (pair, pair[::-1]) if one in mine and other not in mine]
    met = {one for one, other in ends if other in known}
    return bool(met) and {one for one, _ in ends} <= met


def _unchanged(project: Project) -> set[str]:
    """Columns that are what the input calls so."""
    return {item.name for item in project.items if item.is_rename and item.expression.name == item.name}


def _rows(operator: Operator, large: Mapping[Leaf, int]) -> int:
    return max((large.get(scan.leaf, 0) for scan in scans(operator)), default=0)


def _is_large(operator: Operator, large: Mapping[Leaf, int]) -> bool:
    return any(scan.leaf in large for scan in scans(operator))


def _is_change(operator: Operator) -> bool:
    return any(scan.version is Version.CHANGES or isinstance(scan.leaf, StepLeaf) for scan in scans(operator))
