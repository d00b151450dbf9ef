"""Which rows of a member of a circle may have lost a reason to be there. The first half of delete-and-rederive. Pure.

A row of an answer is there because of rows of the sources: a *derivation*. DISTINCT, UNION, INTERSECT and semi joins
keep one row for many derivations, and in a circle the others may be derivations from the row itself. So a row counts as
lost as soon as one of its derivations used a row that is gone, whatever other derivations it has; those are looked for
when the circle goes round again. Too many rows are never wrong here, one too few would be.

A derivation is found by putting the rows that are gone in the place of one input, the others being as they were:

    lost(A ⋈ B) = lost(A) ⋈ B  ∪  A ⋈ lost(B)          lost(A ∪ B) = lost(A) ∪ lost(B)          lost(δ A) = lost(A)

What reads no member of the circle is beside it: there rows may come and go as they like, and the change of the whole
part tells which went. Where that cannot be told, all rows of the node are lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from spark_trickle.delta.consolidate import consolidated
from spark_trickle.delta.plan import DELTA, TARGET, WEIGHT, Bag, Column, Delta, Groups, MaintenancePlan, Node
from spark_trickle.delta.rules import RULES, change_of
from spark_trickle.delta.rules.rule import added
from spark_trickle.delta.shared import delta_of
from spark_trickle.delta.staged import NONE_LARGE
from spark_trickle.names import TableName
from spark_trickle.sql.leaves import Leaf, SourceLeaf, StateLeaf, StepLeaf, Version
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Item,
    Join,
    Match,
    MatchKind,
    Operator,
    OuterJoin,
    Project,
    Scan,
    ScanColumn,
    UnionAll,
    column,
    inputs,
    scans,
    with_inputs,
)

GONE = StepLeaf("gone")
"""Rows of the member that are known to be lost already."""
REMOVED = StepLeaf("removed")
"""The change that took them away."""


def lost_step(member: TableName) -> StepLeaf:
    """Rows of a member that were found to be lost in the step before."""
    return StepLeaf(f"lost:{member}")


@dataclass(frozen=True, slots=True)
class Fall:
    """What went, seen from one member."""

    members: frozenset[SourceLeaf]
    """All of the circle."""
    changed: Mapping[SourceLeaf, bool]
    """Sources outside of the circle that changed, and whether rows were only added to them."""
    falling: frozenset[SourceLeaf] | None = None
    """Members of which rows are lost, in their `lost_step`; None: it begins, with what changed outside."""

    def concerns(self, leaf: Leaf) -> bool:
        return leaf in self.changed if self.falling is None else leaf in self.falling


def lost_rows(
    plan: MaintenancePlan, fall: Fall, *, known: bool = False, large: Mapping[Leaf, int] = NONE_LARGE
) -> Delta | None:
    """The rows of the public node that may have lost a derivation, each once; None: none can have.

    Args:
        known: leave out those that are in `GONE`.
        large: leaves with many rows, as for `delta`.
    """
    work = _Losses(fall, {node.leaf: node for node in plan.nodes})
    found = work.of_node(plan.public)
    if found is None:
        return None
    # Only rows that are there: others would lead to others, perhaps for ever.
    tree: Operator = Distinct(_there(plan.public, found))
    if known:
        tree = _same(tree, GONE, plan.public, MatchKind.ANTI)
    return delta_of(tree, large)


def derived_rows(plan: MaintenancePlan, fall: Fall, *, large: Mapping[Leaf, int] = NONE_LARGE) -> Delta | None:
    """The same rows, perhaps several times, and perhaps those that are known, too; but not looked for in the table:
    what is derived from rows that were there was there itself. None: none can be lost, or some may never have been.

    For tables that were the answers of their queries, and columns in which equal values are one.
    """
    work = _Losses(fall, {node.leaf: node for node in plan.nodes})
    found = work.of_node(plan.public)
    return None if found is None or not work.derived else delta_of(_several(found), large)


def removed(node: Node) -> Delta:
    """The rows of a public node that are in `GONE`, all copies, as a change that takes them away."""
    target = Scan(TARGET, tuple(ScanColumn(name, name) for name in node.columns))
    minus = Item(WEIGHT, exp.cast(exp.Literal.number(-1), "bigint"))
    items = (*(Item(name, column(name)) for name in node.columns), minus)
    change = Project(_same(target, GONE, node, MatchKind.SEMI), items)
    return delta_of(consolidated(change, _floating(node)))


def undone(node: Node, *, changed: bool) -> exp.Query:
    """What `REMOVED` took from a node, given back, together with the change in the step `delta`, if there is one."""
    kept = tuple(Item(name, column(name)) for name in node.columns)
    weight = ScanColumn(WEIGHT, WEIGHT, "bigint")
    items = (*(ScanColumn(name, name) for name in node.columns), weight)
    parts: list[Operator] = [Project(Scan(REMOVED, items), (*kept, Item(WEIGHT, exp.Neg(this=column(WEIGHT)))))]
    if changed:
        parts.append(Project(Scan(DELTA, items), (*kept, Item(WEIGHT, column(WEIGHT)))))
    both = added(parts)
    assert both is not None
    return delta_of(consolidated(both, _floating(node))).query


def _floating(node: Node) -> tuple[Column, ...]:
    return () if isinstance(node.upkeep, Groups) else node.upkeep.floating


class _Untold(Exception):
    """It cannot be told which rows went."""


@dataclass(slots=True)
class _Losses:
    fall: Fall
    nodes: Mapping[Leaf, Node]
    derived: bool = True
    """Whether all rows that were found are derived from rows that were there; False: some may never have been."""

    def of_node(self, node: Node) -> Operator | None:
        """The rows of a node that may be lost, with all its columns."""
        if not self._concerned(node.upkeep.operator):
            return None
        try:
            if isinstance(node.upkeep, Bag):
                return self.lost(node.upkeep.operator)
            if isinstance(node.upkeep, Groups):
                return self._of_groups(node, node.upkeep)
        except _Untold:
            pass
        return _all(node)

    def _only_told_apart(self, node: Node) -> bool:
        """Is it a DISTINCT that reads a member? What went of its input was in one of its groups."""
        groups = node.upkeep
        if not isinstance(groups, Groups) or any(kept.column != groups.rows for kept in groups.kept):
            return False
        return self._inside(node.leaf)

    def _touched(self, node: Node, groups: Groups) -> Operator | None:
        """Keys of the groups of which a row went; or came, where that may take the group away (EXCEPT)."""
        touched = self.lost(groups.operator.input, both=not self._only_told_apart(node))
        if touched is None:
            return None
        items = tuple(Item(f"_trickle_k{i}", key.expression) for i, key in enumerate(groups.operator.keys))
        return Distinct(Project(touched, items))

    def _of_groups(self, node: Node, groups: Groups) -> Operator | None:
        keys = self._touched(node, groups)
        if keys is None:
            return None
        same = tuple(
            exp.NullSafeEQ(this=column(name), expression=column(f"_trickle_k{i}")) for i, name in enumerate(groups.keys)
        )
        return Match(_all(node), keys, same, MatchKind.SEMI)

    def lost(self, operator: Operator, *, both: bool = False) -> Operator | None:  # noqa: C901  one case per operator
        """Rows of a tree that may be lost, with its columns, perhaps several times.

        Args:
            both: also those that came, of what is beside the circle.
        """
        if not self._concerned(operator):
            return None
        if not self._reads_circle(operator):
            return self._beside(operator, both=both)
        match operator:
            case Scan():
                return self._scan(operator)
            case UnionAll():
                parts = [
                    _named(found, operator.columns, source.columns)
                    for source in operator.inputs
                    if (found := self.lost(source, both=both)) is not None
                ]
                return added(list(parts))
            case Join():
                return added(self._terms(operator, both=both))
            case Match():
                return self._match(operator, both=both)
            case OuterJoin():
                return self._outer(operator, both=both)
            case Distinct():
                return self.lost(operator.input, both=both)
            case Aggregate():
                raise _Untold  # a grouping that is no node
        if type(operator) not in RULES:
            raise _Untold
        (source,) = inputs(operator)
        found = self.lost(source, both=both)
        return None if found is None else with_inputs(operator, (_named(found, source.columns),))

    def _scan(self, scan: Scan) -> Operator | None:
        if isinstance(scan.leaf, SourceLeaf) and self.fall.concerns(scan.leaf):
            return Scan(lost_step(scan.leaf.table), scan.items)
        node = self.nodes.get(scan.leaf)
        if node is None:
            return None
        if self._only_told_apart(node) and (found := self._by_keys(scan, node)) is not None:
            return found
        found = self.of_node(node)
        if found is None:
            return None
        return Project(found, tuple(Item(item.name, column(item.source)) for item in scan.items))

    def _by_keys(self, scan: Scan, node: Node) -> Operator | None:
        """Rows of a DISTINCT of which only its keys are read: they need not be looked for in its table."""
        groups = node.upkeep
        assert isinstance(groups, Groups)
        place = {name: f"_trickle_k{i}" for i, name in enumerate(groups.keys)}
        if not all(item.source in place for item in scan.items) or not self._concerned(groups.operator):
            return None
        try:
            keys = self._touched(node, groups)
        except _Untold:
            return None
        if keys is None:
            return None
        return Project(keys, tuple(Item(item.name, column(place[item.source])) for item in scan.items))

    def _terms(self, join: Join, *, both: bool) -> list[Operator]:
        terms: list[Operator] = []
        for place, source in enumerate(join.inputs):
            found = self.lost(source, both=both)
            if found is not None:
                others = [self._old(other) for other in join.inputs]
                others[place] = _named(found, source.columns)
                terms.append(_named(replace(join, inputs=tuple(others)), join.columns))
        return terms

    def _match(self, match: Match, *, both: bool) -> Operator | None:
        """A row that fits goes with the row that it fits; one that must not fit goes when such a row comes."""
        terms: list[Operator] = []
        left, right = self._old(match.left), self._old(match.right)
        found = self.lost(match.left, both=both)
        if found is not None:
            terms.append(replace(match, left=_named(found, match.left.columns), right=right))
        inside = self._reads_circle(match.right)
        fallen = self.lost(match.right, both=not inside and match.kind is not MatchKind.SEMI)
        if fallen is not None:
            touched = Match(left, fallen, match.conditions, MatchKind.SEMI)
            self.derived = self.derived and match.kind is not MatchKind.ANTI
            terms.append(replace(match, left=touched, right=right) if match.kind is MatchKind.MARK else touched)
        return added([_named(term, match.columns) for term in terms])

    def _outer(self, join: OuterJoin, *, both: bool) -> Operator | None:
        """Rows of the side that stays, with what stood beside them, where that or they themselves changed."""
        if join.keeps_left and join.keeps_right:
            raise _Untold
        if join.keeps_right:
            swapped = replace(join, left=join.right, right=join.left, keeps_left=True, keeps_right=False)
            found = self._outer(swapped, both=both)
            return None if found is None else Project(found, tuple(Item(n, column(n)) for n in join.columns))
        terms: list[Operator] = []
        left, right = self._old(join.left), self._old(join.right)
        found = self.lost(join.left, both=both)
        if found is not None:
            terms.append(replace(join, left=_named(found, join.left.columns), right=right))
        fallen = self.lost(join.right, both=True)
        if fallen is not None:
            terms.append(replace(join, left=Match(left, fallen, join.conditions, MatchKind.SEMI), right=right))
        return added([_named(term, join.columns) for term in terms])

    def _beside(self, operator: Operator, *, both: bool) -> Operator | None:
        """What went of a part that reads no member, or what went and came."""
        for scan in scans(operator):
            if scan.leaf in self.nodes and self._concerned(self.nodes[scan.leaf].upkeep.operator):
                return self._nodes_beside(operator, both=both)
        if isinstance(operator, Scan) and not both and operator.leaf in self._only_added():
            return None
        change = change_of(operator, frozenset(self.fall.changed))
        if change is None:
            return None
        if not both:
            # In a change of several terms rows may go that were never there: another term brings them.
            self.derived = self.derived and _is_scan(operator)
            change = Filter(change, (exp.LT(this=column(WEIGHT), expression=exp.Literal.number(0)),))
        return Project(change, tuple(Item(name, column(name)) for name in operator.columns))

    def _nodes_beside(self, operator: Operator, *, both: bool) -> Operator | None:
        """The same over state that is kept beside the circle: which of its groups were touched is known, what they
        have become is not."""
        if both:
            raise _Untold
        match operator:
            case Scan():
                return self._scan(operator)
            case Join():
                return added(self._terms(operator, both=False))
            case UnionAll() | Match() | OuterJoin():
                raise _Untold
        (source,) = inputs(operator)
        found = self.lost(source)
        return None if found is None else with_inputs(operator, (_named(found, source.columns),))

    def _only_added(self) -> set[Leaf]:
        """Tables beside the circle from which nothing went."""
        return {leaf for leaf, only_added in self.fall.changed.items() if only_added}

    def _concerned(self, operator: Operator) -> bool:
        """Does it read anything, near or far, that changed or is falling?"""
        return any(
            self.fall.concerns(scan.leaf)
            or (scan.leaf in self.nodes and self._concerned(self.nodes[scan.leaf].upkeep.operator))
            for scan in scans(operator)
        )

    def _reads_circle(self, operator: Operator) -> bool:
        return any(scan.leaf in self.fall.members or self._inside(scan.leaf) for scan in scans(operator))

    def _inside(self, leaf: Leaf) -> bool:
        """Is it a node that reads a member?"""
        return leaf in self.nodes and self._reads_circle(self.nodes[leaf].upkeep.operator)

    def _old(self, operator: Operator) -> Operator:
        """The tree over what was there. Members and nodes have not been touched yet: theirs is what is there."""
        if isinstance(operator, Scan):
            return replace(operator, version=Version.BEFORE if operator.leaf in self.fall.changed else Version.AFTER)
        return with_inputs(operator, tuple(self._old(source) for source in inputs(operator)))


def _several(operator: Operator) -> Operator:
    """The rows of an operator, perhaps several times."""
    match operator:
        case Distinct():
            return operator.input
        case Project() if all(isinstance(item.expression, exp.Column) for item in operator.items):
            return replace(operator, input=_several(operator.input))
    return operator


def _is_scan(operator: Operator) -> bool:
    """Is it rows of one table, perhaps filtered and computed from?"""
    while isinstance(operator, (Filter, Project)):
        operator = operator.input
    return isinstance(operator, Scan)


def _all(node: Node) -> Operator:
    """All rows of a node."""
    leaf: Leaf = TARGET if node.leaf == StateLeaf("public") else node.leaf
    return Scan(leaf, tuple(ScanColumn(name, name) for name in node.columns))


def _there(node: Node, found: Operator) -> Operator:
    """Rows of a public node that are among some."""
    names = tuple(f"_trickle_l{i}" for i, _ in enumerate(node.columns))
    its = Project(found, tuple(Item(new, column(name)) for new, name in zip(names, node.columns, strict=True)))
    same = tuple(
        exp.NullSafeEQ(this=column(name), expression=column(new)) for new, name in zip(names, node.columns, strict=True)
    )
    return Match(Scan(TARGET, tuple(ScanColumn(name, name) for name in node.columns)), its, same, MatchKind.SEMI)


def _same(rows: Operator, step: StepLeaf, node: Node, kind: MatchKind) -> Operator:
    """Those of some rows of a node that are, or are not, among the rows of a step."""
    items = tuple(ScanColumn(f"_trickle_g{i}", name) for i, name in enumerate(node.columns))
    same = tuple(
        exp.NullSafeEQ(this=column(name), expression=column(item.name))
        for name, item in zip(node.columns, items, strict=True)
    )
    return Match(rows, Scan(step, items), same, kind)


def _named(operator: Operator, columns: tuple[str, ...], of: tuple[str, ...] | None = None) -> Operator:
    """The operator with these columns; `of` are its own that correspond to them."""
    its = of or columns
    if operator.columns == columns:
        return operator
    return Project(operator, tuple(Item(name, column(its[i])) for i, name in enumerate(columns)))
