"""A query's operator tree to the nodes that keep it: cut at each operator with state, so that a node is a grouping
over a tree without state, or a tree without state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from spark_trickle.delta.plan import (
    PUBLIC,
    Bag,
    Column,
    Describe,
    Groups,
    MaintenancePlan,
    Node,
    Version,
    resolve,
)
from spark_trickle.delta.rules.aggregate import arguments
from spark_trickle.delta.rules.distinct import counted
from spark_trickle.delta.types import cast, hard_to_group
from spark_trickle.delta.upkeep import Upkeep, self_kept
from spark_trickle.sql.functions import ALGEBRAIC, function_name
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Item,
    Join,
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


def plan(operator: Operator, describe: Describe) -> MaintenancePlan:
    """What keeps the result of a query, whose tree has the output names, as `build` gives it."""
    planner = _Planner(describe)
    tree = simplified(planner.aligned(operator))
    sources = tuple(dict.fromkeys(scan.source for scan in scans(tree)))
    if not planner.public_groups(tree):
        planner.public_bag(planner.cut(tree))
    return MaintenancePlan(tuple(planner.nodes), sources)


@dataclass(slots=True)
class _Planner:
    describe: Describe
    nodes: list[Node] = field(default_factory=list)
    made: list[tuple[Operator, Operator]] = field(default_factory=list)
    """Groupings that have a node already, and what stands in their place: the same grouping twice is kept once."""

    def columns(self, operator: Operator) -> tuple[Column, ...]:
        """Types of an operator's columns; nodes do not exist yet, so their queries stand in for them."""
        query: exp.Expr = render(operator)
        for node in reversed(self.nodes):
            query = _inlined(query, node)
        assert isinstance(query, exp.Query)
        return self.describe(query)

    def aligned(self, operator: Operator) -> Operator:
        """Branches of a union cast to its types: a change of one branch alone must have them too."""
        operator = with_inputs(operator, tuple(self.aligned(source) for source in inputs(operator)))
        if not isinstance(operator, UnionAll):
            return operator
        kinds = [found.type for found in self.columns(operator)]
        branches = tuple(self._branch(source, kinds) for source in operator.inputs)
        return replace(operator, inputs=branches, aligned=True)

    def _branch(self, source: Operator, kinds: list[str]) -> Operator:
        mine = [found.type for found in self.columns(source)]
        if mine == kinds:
            return source
        items = tuple(
            Item(name, column(name) if has == wanted else cast(column(name), wanted))
            for name, has, wanted in zip(source.columns, mine, kinds, strict=True)
        )
        return Project(source, items)

    def cut(self, operator: Operator) -> Operator:
        """The tree with a leaf in the place of each grouping, which becomes a node."""
        for known, instead in self.made:
            if known == operator:
                return instead
        whole = operator
        operator = with_inputs(operator, tuple(self.cut(source) for source in inputs(operator)))
        if isinstance(operator, Distinct):
            operator = counted(operator)
            kept = self._kept(operator)
            wanted = tuple(Item(key.name, column(key.name)) for key in operator.keys)
        elif isinstance(operator, Aggregate):
            kept = self._kept(operator)
            wanted = kept.outputs
        else:
            return operator
        node = self._groups(f"state_{len(self.nodes) + 1}", kept, kept.aggregate.columns)
        self.nodes.append(node)
        kinds = {found.name: found.type for found in self.columns(kept.aggregate)}
        leaf = Scan(node.label, tuple(ScanColumn(name, name, kinds[name]) for name in node.columns))
        self.made.append((whole, Project(leaf, wanted)))
        return self.made[-1][1]

    def _kept(self, aggregate: Aggregate, *, lean: bool = False) -> Upkeep:
        calls = [item.expression for item in aggregate.calls]
        plain = [call for call in calls if function_name(call) in ALGEBRAIC]
        values = [value for call in plain for value in arguments(call) if not isinstance(value, exp.Distinct)]
        once = list(dict.fromkeys(values))
        items = tuple(Item(f"_trickle_argument_{i}", value) for i, value in enumerate(once))
        facts = dict(zip(once, self.columns(Project(aggregate.input, items)), strict=True)) if once else {}
        facts.update(zip(calls, self.columns(aggregate)[len(aggregate.keys) :], strict=True))
        return self_kept(aggregate, facts, lean=lean)

    def _groups(self, label: str, kept: Upkeep, columns: tuple[str, ...]) -> Node:
        aggregate = kept.aggregate
        keys = tuple(key.name for key in aggregate.keys)
        read = {name for item in aggregate.calls for name in _names(item.expression)}
        floating = tuple(
            found
            for found in (self.columns(aggregate.input) if read else ())
            if found.name in read and hard_to_group(found.type)
        )
        upkeep = Groups(aggregate, keys, kept.kept, kept.rows, floating)
        query = render(Project(aggregate, tuple(Item(name, column(name)) for name in columns)))
        return Node(label, columns, keys, query, _inputs(aggregate), upkeep)

    def public_groups(self, tree: Operator) -> bool:
        """A grouping whose own columns are state enough is kept in the public table itself."""
        if not isinstance(tree, Project) or not isinstance(tree.input, Aggregate):
            return False
        wanted = {item.expression.name: item.name for item in tree.items if item.is_rename}
        if len(wanted) != len(tree.items) or set(wanted) != set(tree.input.columns):
            return False
        cut = _Planner(self.describe)
        below = cut.cut(tree.input.input)
        aggregate = Aggregate(
            below,
            tuple(Item(wanted[key.name], key.expression) for key in tree.input.keys),
            tuple(Item(wanted[call.name], call.expression) for call in tree.input.calls),
        )
        kept = cut._kept(aggregate, lean=True)
        if kept.added:
            return False
        self.nodes = cut.nodes
        self.nodes.append(self._groups(PUBLIC, kept, tree.columns))
        return True

    def public_bag(self, tree: Operator) -> None:
        tree = simplified(tree)
        floating = tuple(found for found in self.columns(tree) if hard_to_group(found.type))
        key = _key(tree, {node.label: node for node in self.nodes})
        self.nodes.append(Node(PUBLIC, tree.columns, key, render(tree), _inputs(tree), Bag(tree, floating)))


def _inlined(query: exp.Expr, node: Node) -> exp.Expr:
    def replaced(version: Version, name: str) -> exp.Expression:
        if name == node.label:
            return node.query.subquery(copy=True)
        return exp.table_(name, db=version.value, quoted=True)

    return resolve(query, replaced)


def _names(expression: exp.Expr) -> set[str]:
    return {found.name for found in expression.find_all(exp.Column)}


def _inputs(operator: Operator) -> tuple[str, ...]:
    return tuple(dict.fromkeys(scan.source for scan in scans(operator)))


def _key(operator: Operator, nodes: dict[str, Node]) -> tuple[str, ...] | None:
    """Columns that identify a row: those of groupings, as long as all of them are passed on."""
    match operator:
        case OneRow():
            return ()
        case Scan():
            node = nodes.get(operator.source)
            if node is None or node.key is None:
                return None
            names = {item.source: item.name for item in operator.items}
            return tuple(names[name] for name in node.key) if set(node.key) <= set(names) else None
        case OneRow():
            return ()
        case Filter():
            return _key(operator.input, nodes)
        case Project():
            below = _key(operator.input, nodes)
            if below is None:
                return None
            names = {item.expression.name: item.name for item in operator.items if item.is_rename}
            return tuple(names[name] for name in below) if set(below) <= set(names) else None
        case Join():
            keys = [_key(source, nodes) for source in operator.inputs]
            return None if None in keys else tuple(name for key in keys if key is not None for name in key)
    return None
