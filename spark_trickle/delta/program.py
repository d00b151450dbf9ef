"""What a refresh does to one node, as a value: queries in their order, what depends on whether there are rows, and how
the outcome is written.

Spark carries it out (`spark/execution/apply.py`), DuckDB does in the tests, `explain` prints it, golden files hold it.
Nothing is decided anywhere else about which queries run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from spark_trickle.delta import transitions
from spark_trickle.delta.differentiate import delta
from spark_trickle.delta.merge import recomputed
from spark_trickle.delta.partitions import partition_change
from spark_trickle.delta.plan import DELTA, GROUPS, RECOMPUTED, TARGET, Delta, Groups, Node, Partitions
from spark_trickle.delta.sizes import Sizes
from spark_trickle.delta.transitions import FLAG, TRANSITIONS
from spark_trickle.sql.leaves import KeptLeaf, StepLeaf, steps_of


@dataclass(frozen=True, slots=True)
class Compute:
    """Run a query. From now on its rows are what the step stands for."""

    step: StepLeaf
    query: exp.Query
    what: str
    """In words."""


@dataclass(frozen=True, slots=True)
class Together:
    """Several that need not wait for each other."""

    parts: tuple[Compute, ...]


@dataclass(frozen=True, slots=True)
class Inline:
    """A query that is put into whatever reads the step: it is read once."""

    step: StepLeaf
    query: exp.Query
    what: str


@dataclass(frozen=True, slots=True)
class Gather:
    """The rows of the node's own table that have keys of another step: looked up, or read between bounds by a query."""

    step: StepLeaf
    by: StepLeaf
    query: exp.Query
    what: str


@dataclass(frozen=True, slots=True)
class Where:
    """More steps, if a step has rows with a flag; without one, if it has any."""

    step: StepLeaf
    flag: str | None
    then: tuple[Step, ...]
    what: str


SHARED = "used in several places"

Step = Compute | Together | Inline | Gather | Where


class Writing(StrEnum):
    """What the last step is, and so how it gets into the table."""

    CHANGE = "rows with weights: some go, some come"
    TRANSITIONS = "each touched group as it was and as it is"
    ROW = "the one row of the table, where it differs"


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in order; the table is written from the last one, if it was computed."""

    steps: tuple[Step, ...]
    writes: StepLeaf
    writing: Writing

    @property
    def shares(self) -> bool:
        """Whether parts of the change are computed before the rest."""
        first = self.steps[0]
        return isinstance(first, Together) or (isinstance(first, Compute) and first.what == SHARED)


def program(node: Node, changed: frozenset[KeptLeaf], sizes: Sizes) -> Program | None:
    """What to do to a node if these leaves changed and no others; None: nothing can have changed in it."""
    change = delta(node, changed, sizes.large)
    if change is None:
        return None
    if isinstance(node.upkeep, Groups):
        return Program(tuple(_of_groups(node, node.upkeep, change, sizes)), TRANSITIONS, Writing.TRANSITIONS)
    if isinstance(node.upkeep, Partitions):
        return Program(tuple(_of_partitions(node, change)), DELTA, Writing.CHANGE)
    if node.key == () and sizes.own.travels:
        # At most one row, over tables of one row: computing it again is the cheapest.
        row = Compute(DELTA, node.query, "the row, computed again")
        return Program((row,), DELTA, Writing.ROW)
    return Program((*shared(change), Compute(DELTA, change.query, "the change")), DELTA, Writing.CHANGE)


def shared(change: Delta) -> Iterator[Step]:
    """The parts of a change that are used in several places; side by side those that need not wait."""
    waiting = list(change.shared)
    while waiting:
        missing = {part.step for part in waiting}
        ready = [part for part in waiting if not missing.intersection(steps_of(part.query))]
        parts = tuple(Compute(part.step, part.query, SHARED) for part in ready)
        yield parts[0] if len(parts) == 1 else Together(parts)
        waiting = [part for part in waiting if part not in ready]


def _of_groups(node: Node, upkeep: Groups, change: Delta, sizes: Sizes) -> Iterator[Step]:
    yield from shared(change)
    addressed = sizes.own.addressed
    if upkeep.keys and sizes.looks_first:
        yield Compute(DELTA, change.query, "what is added to each group")
        yield Gather(TARGET, DELTA, transitions.touched_rows(node), "the rows of those groups, as they are")
    else:
        # Partial aggregates, old rows and new rows in one query.
        yield Inline(DELTA, change.query, "what is added to each group")
    judged = transitions.transitions(node, addressed=addressed)
    yield Compute(TRANSITIONS, judged, "what becomes of each group")
    again = (
        Compute(GROUPS, transitions.flagged_keys(node), "their keys"),
        Inline(RECOMPUTED, recomputed(node), "their rows, computed again"),
        Compute(TRANSITIONS, transitions.settled(node, addressed=addressed), "what becomes of each group"),
    )
    yield Where(TRANSITIONS, FLAG, again, "groups that cannot be merged")


def _of_partitions(node: Node, touched: Delta) -> Iterator[Step]:
    yield from shared(touched)
    yield Compute(GROUPS, touched.query, "the partitions that are touched")
    again = partition_change(node)
    then = (*shared(again), Compute(DELTA, again.query, "what differs in them, computed again"))
    yield Where(GROUPS, None, then, "touched partitions")
