"""Parts of a change that are used in several places, each taken out as a step of its own: computed once, and their
values can bound what is read of large tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_trickle.delta.plan import SHARED, Delta, Shared, Version
from spark_trickle.delta.ranges import kind_of, ranged
from spark_trickle.delta.staged import staged
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
    with_inputs,
)
from spark_trickle.sql.render import render
from spark_trickle.sql.rewrite import simplified


def delta_of(tree: Operator, large: frozenset[str] = frozenset()) -> Delta:
    """The change that a tree with `Once` marks computes.

    Args:
        large: leaves that are better not joined with anything whose size is not known.
    """
    sharing = _Sharing()
    tree = staged(tree, large)
    sharing.count(tree)
    last = sharing.extracted(tree)
    return Delta(tuple(sharing.steps), render(simplified(ranged(last))))


@dataclass(slots=True)
class _Sharing:
    uses: dict[Operator, int] = field(default_factory=dict)
    made: dict[Operator, Operator] = field(default_factory=dict)
    steps: list[Shared] = field(default_factory=list)

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
        name = f"{SHARED}{len(self.steps) + 1}"
        kinds = {column: kind_of(part, column) for column in part.columns}
        self.steps.append(Shared(name, render(_in_order(simplified(ranged(part)), part.columns))))
        return Scan(name, tuple(ScanColumn(n, n, kinds[n]) for n in part.columns), Version.STEP.value)


def _cheap(part: Operator) -> bool:
    """Rows of a change that are only filtered and computed from: those are at hand already."""
    return isinstance(part, (Scan, Filter, Project, UnionAll, OneRow)) and all(
        _cheap(source) for source in inputs(part)
    )


def _in_order(operator: Operator, columns: tuple[str, ...]) -> Operator:
    if operator.columns == columns:
        return operator
    return Project(operator, tuple(Item(name, column(name)) for name in columns))
