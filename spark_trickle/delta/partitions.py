"""Windows, LIMIT and recursion: a touched partition is computed again.

    Δ(op R) = op(σ[k ∈ T] R_after) - σ[k ∈ T] op(R)_kept        T = partition keys of ΔR

What the partition gave before is read from the table that holds it, so nothing is computed twice, and of the rows that
are computed again only those that differ are written. Without keys there is one partition: everything.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from spark_trickle.delta.consolidate import consolidated
from spark_trickle.delta.plan import GROUPS, TARGET, WEIGHT, Delta, Node, Partitions
from spark_trickle.delta.ranges import kind_of, restrict
from spark_trickle.delta.rules.rule import operand, weighted
from spark_trickle.delta.shared import delta_of
from spark_trickle.errors import InternalError
from spark_trickle.sql.operators import (
    Distinct,
    Filter,
    Item,
    Join,
    Match,
    MatchKind,
    Operator,
    Project,
    Scan,
    ScanColumn,
    UnionAll,
    column,
    inputs,
    with_inputs,
)

TOUCHED = "_trickle_touched"
"""Column of `groups` where there are no keys: one row if anything changed."""


def touched_tree(upkeep: Partitions, changes: list[Operator]) -> Operator:
    """The keys of the partitions in which the change of an input has rows."""
    found: list[Operator] = []
    for change in changes:
        items = tuple(Item(name, column(its)) for name, its in upkeep.keys) or (Item(TOUCHED, exp.true()),)
        found.append(Project(change, items))
    whole = found[0] if len(found) == 1 else UnionAll(tuple(found), found[0].columns, aligned=True)
    return Distinct(whole)


def partition_change(node: Node) -> Delta:
    """The change of the node, over the touched keys in `groups` and the table itself, `target`."""
    upkeep = node.upkeep
    if not isinstance(upkeep, Partitions):
        raise InternalError(f"'{node.label}' is not kept by partitions")
    now = _over(upkeep.operator, upkeep.core, _restricted_core(upkeep))
    came = Project(now, (*_columns(node.columns), Item(WEIGHT, _weight(1))))
    kept: Operator = Scan(TARGET, tuple(ScanColumn(name, name) for name in node.columns))
    if upkeep.keys:
        kept = within_groups(kept, [(name, column(name)) for name, _ in upkeep.keys])
    went = Project(kept, (*_columns(node.columns), Item(WEIGHT, _weight(-1))))
    both = UnionAll((came, went), tuple(item.name for item in weighted(node.columns)), aligned=True)
    return delta_of(consolidated(both, upkeep.floating))


def within_groups(operator: Operator, keys: list[tuple[str, exp.Expr]]) -> Operator:
    """The rows whose keys are among those in `groups`: (column of groups, expression over the rows).

    Joins are begun with the groups, of which there are few; elsewhere a semi join finds its own way down.
    """
    names = [f"_trickle_group_{i}" for i in range(len(keys))]
    for (name, value), alias in zip(keys, names, strict=True):
        if isinstance(value, exp.Column):
            key = ScanColumn(alias, name, kind_of(operator, value.name))
            operator = restrict(operator, value.name, GROUPS, key, nulls=True)
    same = tuple(
        exp.NullSafeEQ(this=operand(value), expression=column(alias))
        for (_, value), alias in zip(keys, names, strict=True)
    )
    groups = Scan(GROUPS, tuple(ScanColumn(alias, name) for (name, _), alias in zip(keys, names, strict=True)))
    if _joins(operator):
        # `groups` has each key once, so joining is restricting.
        return Join((groups, operator), same)
    return Match(operator, groups, same, MatchKind.SEMI)


def _restricted_core(upkeep: Partitions) -> Operator:
    core = upkeep.core
    if not upkeep.keys:
        return core
    (source,) = inputs(core)
    narrow = within_groups(source, [(name, column(its)) for name, its in upkeep.keys])
    return with_inputs(core, (Project(narrow, _columns(source.columns)),))


def _over(operator: Operator, core: Operator, instead: Operator) -> Operator:
    """The conditions and projections above the core, over something else."""
    if operator == core:
        return instead
    if not isinstance(operator, (Filter, Project)):
        raise InternalError(f"{type(operator).__name__} above a window")
    return replace(operator, input=_over(operator.input, core, instead))


def _joins(operator: Operator) -> bool:
    while isinstance(operator, (Filter, Project)):
        operator = operator.input
    return isinstance(operator, Join)


def _columns(names: tuple[str, ...]) -> tuple[Item, ...]:
    return tuple(Item(name, column(name)) for name in names)


def _weight(number: int) -> exp.Expr:
    return exp.cast(exp.Literal.number(number), "bigint")
