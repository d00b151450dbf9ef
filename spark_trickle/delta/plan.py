"""What keeps one stream table: nodes in order, the last of them public. Values only; `differentiate`, `merge` and
`partitions` make SQL of them.

A query is cut at each operator that needs state (grouping, DISTINCT, windows, LIMIT, recursion). Each piece is a
*node*: a relation kept in a table of its own, over *leaves* (`sql/leaves.py`): sources and earlier nodes, each before
and after the window, and its changes, which have its columns and an integer weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from spark_trickle.sql.leaves import KeptLeaf, SourceLeaf, StateLeaf, StepLeaf
from spark_trickle.sql.scope import RESERVED_PREFIX

if TYPE_CHECKING:
    from spark_trickle.sql.operators import Aggregate, Limit, Operator, Recursion, Window

WEIGHT = f"{RESERVED_PREFIX}weight"
"""Column of a change: how many copies of the row were added (positive) or removed (negative)."""

PUBLIC = "public"
"""Label of the node that users read."""


DELTA, TARGET, GROUPS, RECOMPUTED = (StepLeaf(name) for name in ("delta", "target", "groups", "recomputed"))


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the engine that runs the query describes it; `type` is Spark's (`bigint`, `decimal(12,2)`)."""

    name: str
    type: str
    nullable: bool = True


class Describer(Protocol):
    """Tells the columns of queries over leaves, without running them."""

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        """The columns of a query over sources and over nodes that it was told of."""
        ...

    def keep(self, leaf: StateLeaf, query: exp.Query) -> tuple[Column, ...]:
        """From now on there is this node; its columns are those of the query."""
        ...


@dataclass(frozen=True, slots=True)
class Bag:
    """Kept by adding and removing rows: its delta is a set of weighted rows."""

    operator: Operator
    floating: tuple[Column, ...] = ()
    """Columns with floating-point numbers in them: 0.0 and -0.0 are equal there, but not the same row."""


class Keep(StrEnum):
    """How one aggregate is kept."""

    COUNT = "count"
    """Changes are added."""
    SUM = "sum"
    """Integers and decimals: changes are added; without values it is NULL."""
    FLOAT_SUM = "float sum"
    """Added on insert; a group that lost rows is recomputed, because subtraction does not undo addition."""
    AVG = "avg"
    """Computed from a sum and a count of the same row."""
    MIN = "min"
    MAX = "max"
    """The better of old and new; a group whose extremum was deleted is recomputed."""
    RECOMPUTE = "recompute"
    """Each changed group is computed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One aggregate column of a `Groups` node."""

    column: str
    how: Keep
    call: exp.Expr
    """The aggregate, over the columns of the operator's input."""
    type: str
    """Spark's type of the column."""
    argument_type: str = ""
    count: str | None = None
    """Column of the same node that counts the values (SUM, AVG)."""
    sum: str | None = None
    """Column of the same node that holds their sum (AVG)."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Kept by merging partial aggregates into one row per key; groups that cannot be merged are recomputed."""

    operator: Aggregate
    """What the node holds; DISTINCT is grouping by all columns."""
    keys: tuple[str, ...]
    """Columns that identify a row, compared null-safe. Empty: one row, always."""
    kept: tuple[Kept, ...] = ()
    rows: str | None = None
    """Column that counts the rows of the group. None: a group that may have become empty is recomputed anyway."""
    floating: tuple[Column, ...] = ()
    """Columns of the operator's input with floating-point numbers in them."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """Kept by computing touched partitions again: their rows in the table make way for the new ones, row by row."""

    operator: Operator
    """What the node holds: a window, LIMIT or recursion, with conditions and projections above it."""
    core: Window | Limit | Recursion
    keys: tuple[tuple[str, str], ...] = ()
    """Columns that make the partitions: (of the node, of the input of the core). Empty: there is one partition."""
    floating: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class Shared:
    """A part of a change that is computed once."""

    step: StepLeaf
    query: exp.Query


@dataclass(frozen=True, slots=True)
class Delta:
    """A change as a query, after the parts of it that are used in several places."""

    shared: tuple[Shared, ...]
    query: exp.Query


@dataclass(frozen=True, slots=True)
class Node:
    """One relation that is kept."""

    label: str
    columns: tuple[str, ...]
    key: tuple[str, ...] | None
    """Columns that identify a row, if some do. None: a bag, rows may repeat."""
    query: exp.Query
    """Its whole contents, over `after` leaves."""
    inputs: tuple[KeptLeaf, ...]
    upkeep: Bag | Groups | Partitions

    @property
    def leaf(self) -> StateLeaf:
        """What the nodes above it read."""
        return StateLeaf(self.label)


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """All that is kept for one stream table."""

    nodes: tuple[Node, ...]
    sources: tuple[SourceLeaf, ...]

    @property
    def public(self) -> Node:
        return self.nodes[-1]
