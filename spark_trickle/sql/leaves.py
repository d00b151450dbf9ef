"""Leaves: what the SQL of a plan reads. A leaf is a value, never a bare name, so that a table of a user's is never
taken for something of ours, whatever it is called.

In SQL a leaf is a two-part name: `after`.`orders`, `changes`.`internal:state_1f`, `step`.`groups`. The name is there
to be read; which leaf is meant is told by the value that the node of the tree carries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from sqlglot import exp

from spark_trickle.names import TableName


class Version(StrEnum):
    """Which state of a leaf is meant. A step has one only."""

    BEFORE = "before"
    AFTER = "after"
    CHANGES = "changes"


class _Value:
    """Trees are copied often, and what is frozen need not be."""

    __slots__ = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@dataclass(frozen=True, slots=True, order=True)
class SourceLeaf(_Value):
    """A table that the query reads."""

    table: TableName

    def __str__(self) -> str:
        return str(self.table)


@dataclass(frozen=True, slots=True, order=True)
class StateLeaf(_Value):
    """A node of the plan, by its label."""

    label: str

    def __str__(self) -> str:
        # A name of a table with a colon in it is shown in backticks.
        return f"internal:{self.label}"


@dataclass(frozen=True, slots=True, order=True)
class StepLeaf(_Value):
    """What an earlier step of the same refresh computed."""

    name: str

    def __str__(self) -> str:
        return self.name


Leaf = SourceLeaf | StateLeaf | StepLeaf
KeptLeaf = SourceLeaf | StateLeaf
"""A leaf that is a table, and has versions."""

Relation = Callable[[Version, Leaf], exp.Expr]
"""Tells what a leaf is here and now: a table, a table at a snapshot, a temporary view, a subquery."""

_LEAF = "leaf"


def leaf_table(leaf: Leaf, version: Version = Version.AFTER) -> exp.Table:
    """The leaf as SQL."""
    table = exp.table_(str(leaf), db=_folder(leaf, version), quoted=True)
    table.meta[_LEAF] = (version, leaf)
    return table


def leaf_at(node: exp.Expr | None) -> tuple[Version, Leaf] | None:
    """The leaf that a node of a tree stands for, if it does."""
    found: tuple[Version, Leaf] | None = node.meta_get(_LEAF) if isinstance(node, exp.Table) else None
    return found


def leaves_of(query: exp.Expr) -> Iterator[tuple[Version, Leaf]]:
    """All leaves that a query reads, each as often as it is read."""
    for table in query.find_all(exp.Table):
        found = leaf_at(table)
        if found is not None:
            yield found


def steps_of(query: exp.Expr) -> frozenset[StepLeaf]:
    """The earlier steps that a query reads."""
    return frozenset(leaf for _, leaf in leaves_of(query) if isinstance(leaf, StepLeaf))


def resolve(query: exp.Expr, relation: Relation) -> exp.Expr:
    """Put real relations in the place of leaves; the alias of a leaf stays."""

    def replace(node: exp.Expr) -> exp.Expr:
        here = leaf_at(node)
        if here is None:
            return node
        found, alias = relation(*here), node.alias
        return exp.alias_(found, alias, table=True, quoted=True) if alias else found

    return query.transform(replace)


class KeyRange(exp.Expression, exp.Func):
    """`KEY_RANGE(column, rows.key)`: is the column within the range of the keys of some rows? With `NULLS`, a NULL is
    where one of the keys is. A node of its own that no text is read as: users may have a function of that name.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True, "nulls": False}

    @property
    def rows(self) -> Leaf:
        """Whose keys: those of a step, or of the change of a table."""
        found: Leaf = self.meta[_LEAF]
        return found

    @property
    def column(self) -> str:
        """Which column of the rows holds the keys."""
        return str(self.expression.name)

    @property
    def nulls(self) -> bool:
        """Whether NULL equals NULL here."""
        return self.args.get("nulls") is not None


def key_range(value: exp.Expr, rows: Leaf, column: str, *, nulls: bool = False) -> KeyRange:
    """The condition that a value is within the range of a column of a step, or of the change of a table."""
    parts = (_folder(rows, Version.CHANGES), str(rows), column)
    found = KeyRange(this=value, expression=exp.Dot.build([exp.to_identifier(part, quoted=True) for part in parts]))
    if nulls:
        found.set("nulls", exp.Var(this="NULLS"))
    found.meta[_LEAF] = rows
    return found


def _folder(leaf: Leaf, version: Version) -> str:
    return "step" if isinstance(leaf, StepLeaf) else version.value
