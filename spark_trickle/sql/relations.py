"""Relations while a query is being built: an operator, and what its columns are called. Small steps that several
clauses share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spark_trickle.sql.operators import Item, Join, Operator, Project, UnionAll, column
from spark_trickle.sql.scope import Names, Scope, Visible


@dataclass(frozen=True, slots=True)
class Relation:
    """Something in a FROM clause."""

    operator: Operator
    scope: Scope


@dataclass(frozen=True, slots=True)
class Built:
    """A query: its operator and its output columns, as (name for the user, column of the operator)."""

    operator: Operator
    outputs: tuple[tuple[str, str], ...]
    one_row: bool = False
    """Always exactly one row."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    def under(self, qualifier: tuple[str, ...], renamed: tuple[str, ...] = ()) -> Relation:
        """The query as a relation of an outer query."""
        names = renamed or self.names
        visible = tuple(
            Visible(tuple(part.lower() for part in qualifier), name, column)
            for name, (_, column) in zip(names, self.outputs, strict=True)
        )
        return Relation(self.operator, Scope(visible))


def joined(operators: tuple[Operator, ...]) -> Operator:
    """All of them side by side."""
    return operators[0] if len(operators) == 1 else Join(operators)


def in_order(built: Built, names: Names) -> Operator:
    """The query with exactly its output columns, in order; a column that is put out twice gets two names."""
    columns = tuple(found for _, found in built.outputs)
    if columns == built.operator.columns:
        return built.operator
    items, seen = [], set[str]()
    for wish, found in built.outputs:
        name = names.fresh(wish) if found in seen else found
        seen.add(found)
        items.append(Item(name, column(found)))
    return Project(built.operator, tuple(items))


def union_all(branches: tuple[Built, ...], names: Names) -> Built:
    """All rows of all branches; names are the first one's."""
    parts = [in_order(branch, names) for branch in branches]
    columns = tuple(names.fresh(name) for name in branches[0].names)
    return Built(UnionAll(tuple(parts), columns), tuple(zip(branches[0].names, columns, strict=True)))


def separated(relation: Relation, names: Names, kinds: dict[str, str]) -> Relation:
    """A column of its own for each name: of `a AS x, a AS y`, a clause may turn or group x and not y."""
    owners: dict[str, str] = {}
    again: dict[Visible, str] = {}
    for visible in relation.scope.star():
        if owners.setdefault(visible.column, visible.name.lower()) != visible.name.lower():
            again[visible] = names.fresh(visible.name)
    if not again:
        return relation
    items = [Item(name, column(name)) for name in relation.operator.columns]
    for visible, name in again.items():
        items.append(Item(name, column(visible.column)))
        if visible.column in kinds:
            kinds[name] = kinds[visible.column]
    columns = tuple(replace(v, column=again[v]) if v in again else v for v in relation.scope.columns)
    return Relation(Project(relation.operator, tuple(items)), replace(relation.scope, columns=columns))
