"""Parts of a change that are used in several places, each taken out as a step of its own: computed once, and their
values can bound what is read of large tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from spark_trickle.delta.plan import Delta, Shared
from spark_trickle.delta.ranges import kind_of, ranged
from spark_trickle.delta.staged import NONE_LARGE, staged
from spark_trickle.sql.leaves import KeyRange, Leaf, StepLeaf
from spark_trickle.sql.operators import (
    Filter,
    Item,
    Once,
    OneRow,
    Operator,
    Project,
    Scan,
    ScanColumn,
    UnionAll,
    column,
    inputs,
    scans,
    with_inputs,
)
from spark_trickle.sql.render import render
from spark_trickle.sql.rewrite import simplified


def delta_of(tree: Operator, large: Mapping[Leaf, int] = NONE_LARGE) -> Delta:
    """The change that a tree with `Once` marks computes.

    Args:
        large: leaves that are better not joined with anything whose size is not known, with their rows.
    """
    sharing = _Sharing()
    tree = staged(tree, large)
    sharing.count(tree)
    last = simplified(ranged(sharing.extracted(tree)))
    final = render(last)
    reads = _Reads()
    reads.look(last, final)
    steps: list[Shared] = []
    # Backwards: who reads a step comes after it, and says which of its columns.
    for step, part in reversed(sharing.steps):
        columns = reads.columns(step, part)
        narrow = simplified(ranged(_only(part, columns)))
        steps.append(Shared(step, render(_only(narrow, columns))))
        reads.look(narrow, steps[-1].query)
    return Delta(tuple(reversed(steps)), final)


@dataclass(slots=True)
class _Sharing:
    uses: dict[Operator, int] = field(default_factory=dict)
    made: dict[Operator, Operator] = field(default_factory=dict)
    steps: list[tuple[StepLeaf, Operator]] = field(default_factory=list)

    def count(self, operator: Operator) -> None:
        """How often each marked part is used; what is inside one counts once, however often that is used."""
        if isinstance(operator, Once):
            self.uses[operator] = self.uses.get(operator, 0) + 1
            if self.uses[operator] > 1:
                return
        for source in inputs(operator):
            self.count(source)

    def extracted(self, operator: Operator) -> Operator:
        if not isinstance(operator, Once):
            return with_inputs(operator, tuple(self.extracted(source) for source in inputs(operator)))
        if operator not in self.made:
            part = self.extracted(operator.input)
            if (operator.always or self.uses[operator] > 1) and not _cheap(part):
                part = self._step(part)
            self.made[operator] = part
        return self.made[operator]

    def _step(self, part: Operator) -> Operator:
        step = StepLeaf(f"shared_{len(self.steps) + 1}")
        kinds = {column: kind_of(part, column) for column in part.columns}
        self.steps.append((step, part))
        return Scan(step, tuple(ScanColumn(n, n, kinds[n]) for n in part.columns))


def _cheap(part: Operator) -> bool:
    """Rows of a change that are only filtered and computed from: those are at hand already."""
    return isinstance(part, (Scan, Filter, Project, UnionAll, OneRow)) and all(
        _cheap(source) for source in inputs(part)
    )


@dataclass(slots=True)
class _Reads:
    """Which columns of a step are read, by its rows' readers or for their bounds."""

    found: dict[Leaf, set[str]] = field(default_factory=dict)

    def look(self, tree: Operator, query: exp.Query) -> None:
        for scan in scans(tree):
            if isinstance(scan.leaf, StepLeaf):
                self.found.setdefault(scan.leaf, set()).update(item.source for item in scan.items)
        for bounds in query.find_all(KeyRange):
            self.found.setdefault(bounds.rows, set()).add(bounds.column)

    def columns(self, step: StepLeaf, part: Operator) -> tuple[str, ...]:
        read = self.found.get(step, set())
        return tuple(each for each in part.columns if each in read) or part.columns[:1]


def _only(operator: Operator, columns: tuple[str, ...]) -> Operator:
    if operator.columns == columns:
        return operator
    return Project(operator, tuple(Item(name, column(name)) for name in columns))
