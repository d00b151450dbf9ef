"""A query's operator tree to the nodes that keep it: cut at each operator with state, so that a node is a grouping
over a tree without state, or a tree without state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from spark_trickle.delta.distinct_aggregates import two_levels
from spark_trickle.delta.plan import (
    PUBLIC,
    WEIGHT,
    Bag,
    Column,
    Describer,
    Groups,
    MaintenancePlan,
    Node,
    Partitions,
)
from spark_trickle.delta.rules.aggregate import arguments
from spark_trickle.delta.rules.distinct import counted
from spark_trickle.delta.types import cast, hard_to_group
from spark_trickle.delta.upkeep import Upkeep, self_kept
from spark_trickle.sql.functions import ALGEBRAIC, function_name
from spark_trickle.sql.leaves import KeptLeaf, Leaf, SourceLeaf, StepLeaf
from spark_trickle.sql.operators import (
    Again,
    Aggregate,
    Distinct,
    Filter,
    Item,
    Join,
    Limit,
    Match,
    MatchKind,
    OneRow,
    Operator,
    OuterJoin,
    Project,
    Recursion,
    Scan,
    ScanColumn,
    UnionAll,
    Window,
    column,
    inputs,
    scans,
    with_inputs,
)
from spark_trickle.sql.output_types import is_collated, unheld
from spark_trickle.sql.parse import TrickleSpark
from spark_trickle.sql.refusals import Refused, refused
from spark_trickle.sql.render import render
from spark_trickle.sql.rewrite import simplified


def plan(operator: Operator, describer: Describer) -> MaintenancePlan:
    """What keeps the result of a query, whose tree has the output names, as `build` gives it."""
    planner = _Planner(describer)
    tree = simplified(two_levels(planner.aligned(operator), planner.columns))
    sources = tuple(leaf for leaf in _inputs(tree) if isinstance(leaf, SourceLeaf))
    if any(item.source.lower() == WEIGHT for scan in scans(tree) for item in scan.items):
        raise refused(Refused.RESERVED_NAME, name=WEIGHT)
    if not planner.public_groups(tree) and not planner.public_partitions(tree):
        planner.public_bag(planner.cut(tree))
    return MaintenancePlan(tuple(planner.nodes), sources)


@dataclass(slots=True)
class _Planner:
    describer: Describer
    nodes: list[Node] = field(default_factory=list)
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)
    """Types of the columns of each node, by its label."""
    made: dict[Operator, Operator] = field(default_factory=dict)
    """Groupings that have a node already, and what stands in their place: the same grouping twice is kept once."""
    unions: dict[Operator, Operator] = field(default_factory=dict)
    """Trees whose unions are aligned: what a query reads in several places is looked at once."""
    described: dict[Operator, tuple[Column, ...]] = field(default_factory=dict)

    def columns(self, operator: Operator) -> tuple[Column, ...]:
        """Types of an operator's columns, asked once for each; what a projection calls them makes no difference."""
        asked = operator
        if isinstance(operator, Project):
            items = (Item(f"_trickle_{place}", item.expression) for place, item in enumerate(operator.items))
            asked = Project(operator.input, tuple(items))
        if asked not in self.described:
            self.described[asked] = self.describer.describe(render(asked))
        return tuple(
            replace(found, name=name) for found, name in zip(self.described[asked], operator.columns, strict=False)
        )

    def aligned(self, operator: Operator) -> Operator:
        """Branches of a union cast to its types: a change of one branch alone must have them too."""
        if operator not in self.unions:
            self.unions[operator] = self._aligned(operator)
        return self.unions[operator]

    def _aligned(self, operator: Operator) -> Operator:
        if isinstance(operator, Recursion):  # what its step reads of itself has no type by itself
            return replace(operator, base=self.aligned(operator.base))
        operator = with_inputs(operator, tuple(self.aligned(source) for source in inputs(operator)))
        if not isinstance(operator, UnionAll):
            return operator
        mine = [[found.type for found in self.columns(source)] for source in operator.inputs]
        if all(kinds == mine[0] for kinds in mine):
            return replace(operator, aligned=True)
        wanted = [found.type for found in self.columns(operator)]
        branches = tuple(
            self._branch(source, kinds, wanted) for source, kinds in zip(operator.inputs, mine, strict=True)
        )
        return replace(operator, inputs=branches, aligned=True)

    @staticmethod
    def _branch(source: Operator, mine: list[str], kinds: list[str]) -> Operator:
        if mine == kinds:
            return source
        items = tuple(
            Item(name, column(name) if has == wanted else cast(column(name), wanted))
            for name, has, wanted in zip(source.columns, mine, kinds, strict=True)
        )
        return Project(source, items)

    def cut(self, operator: Operator) -> Operator:
        """The tree with a leaf in the place of each grouping, which becomes a node."""
        if operator in self.made:
            return self.made[operator]
        if _again(operator):
            return operator
        made = self._cut(operator)
        if made is None:
            return with_inputs(operator, tuple(self.cut(source) for source in inputs(operator)))
        self.made[operator] = made
        return made

    def _cut(self, operator: Operator) -> Operator | None:
        """What stands in the place of an operator that becomes a node; None: it needs none."""
        if _core(operator) is not None:
            keys = _kept_keys(operator)
            if keys is None or not operator.columns:
                return None  # a projection above drops a key, or leaves nothing to keep: cut below it
            whole = self._over_cut_core(operator)
            return self._leaf(self._added(self._partitions(None, whole, keys)))
        if not isinstance(operator, (Distinct, Aggregate)):
            return None
        operator = replace(operator, input=self.cut(operator.input))
        grouping = counted(operator) if isinstance(operator, Distinct) else operator
        kept = self._kept(grouping)
        wanted = kept.outputs
        if isinstance(operator, Distinct):
            wanted = tuple(Item(key.name, column(key.name)) for key in grouping.keys)
        typed = {new.name for new, old in zip(kept.aggregate.keys, grouping.keys, strict=True) if new != old}
        wanted = tuple(Item(item.name, exp.Null()) if item.name in typed else item for item in wanted)
        node = self._added(self._groups(None, kept, kept.aggregate.columns))
        return Project(self._leaf(node), wanted)

    def _added(self, node: Node) -> Node:
        """The node among those of the plan; what is the same already is not kept twice."""
        known = next((other for other in self.nodes if other.label == node.label), None)
        if known is None:
            self.nodes.append(node)
            found = self.describer.keep(node.leaf, node.query)
            self.kinds[node.label] = {column.name: column.type for column in found}
        return known or node

    def _leaf(self, node: Node) -> Scan:
        """The node as what the rest of the tree reads."""
        kinds = self.kinds[node.label]
        for name in node.columns:
            if kinds[name] != "void" and unheld(kinds[name]) is not None:
                raise refused(Refused.STATE_TYPE, name=name, kind=kinds[name].upper())
        return Scan(node.leaf, tuple(ScanColumn(name, name, kinds[name]) for name in node.columns))

    def _over_cut_core(self, operator: Operator) -> Operator:
        """A window, LIMIT or recursion and what is above it, with everything below cut."""
        if isinstance(operator, (Filter, Project)):
            return replace(operator, input=self._over_cut_core(operator.input))
        below = tuple(self.cut(source) for source in inputs(operator))
        if isinstance(operator, Limit) and not _plain(below[0]):
            # Kept as rows, what is limited need not be computed again to find the next ones.
            below = (self._bag_leaf(below[0]),)
        return with_inputs(operator, below)

    def _bag_leaf(self, operator: Operator) -> Operator:
        operator = Project(operator, tuple(Item(name, column(name)) for name in operator.columns))
        return self._leaf(self._added(self._bag(None, operator)))

    def _partitions(self, label: str | None, tree: Operator, keys: tuple[tuple[str, str], ...]) -> Node:
        core = _core(tree)
        assert core is not None
        described = {found.name: found for found in self.columns(tree)}
        _check_keys(described[name] for name, _ in keys)
        # All rows have the same NULL without a type, and Spark's joins take two of them for different.
        keys = tuple(pair for pair in keys if described[pair[0]].type != "void")
        floating = tuple(found for found in described.values() if hard_to_group(found.type))
        upkeep = Partitions(tree, core, keys, floating)
        key = _key(tree, {node.leaf: node for node in self.nodes})
        query = render(tree)
        return Node(label or _label(query), tree.columns, key or None, query, _inputs(tree), upkeep)

    def public_partitions(self, tree: Operator) -> bool:
        """A window whose partition keys are among the columns of the result is kept in the public table itself."""
        keys = None if _core(tree) is None else _kept_keys(tree)
        if keys is None:
            return False
        self.nodes.append(self._partitions(PUBLIC, self._over_cut_core(tree), keys))
        return True

    def _kept(self, aggregate: Aggregate, *, lean: bool = False) -> Upkeep:
        calls = [item.expression for item in aggregate.calls]
        plain = [call for call in calls if function_name(call) in ALGEBRAIC]
        values = [value for call in plain for value in arguments(call) if not isinstance(value, exp.Distinct)]
        once = list(dict.fromkeys(values))
        facts = dict(zip(once, self._arguments(aggregate.input, once), strict=True)) if once else {}
        described = self.columns(aggregate)
        facts.update(zip(calls, described[len(aggregate.keys) :], strict=True))
        return self_kept(replace(aggregate, keys=_typed_keys(aggregate.keys, described)), facts, lean=lean)

    def _arguments(self, operator: Operator, values: list[exp.Expr]) -> tuple[Column, ...]:
        """Types of expressions over an operator."""
        if all(isinstance(value, exp.Column) for value in values):
            known = {found.name: found for found in self.columns(operator)}
            return tuple(known[value.name] for value in values)
        return self.columns(Project(operator, tuple(Item(f"_trickle_{i}", v) for i, v in enumerate(values))))

    def _groups(self, label: str | None, kept: Upkeep, columns: tuple[str, ...]) -> Node:
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
        return Node(label or _label(query), columns, keys, query, _inputs(aggregate), upkeep)

    def public_groups(self, tree: Operator) -> bool:
        """A grouping whose own columns are state enough is kept in the public table itself."""
        if not isinstance(tree, Project) or not isinstance(tree.input, Aggregate):
            return False
        wanted = {item.expression.name: item.name for item in tree.items if item.is_rename}
        if len(wanted) != len(tree.items) or set(wanted) != set(tree.input.columns):
            return False
        below = self.cut(tree.input.input)  # as it will be cut if the grouping needs more state than it has columns
        aggregate = Aggregate(
            below,
            tuple(Item(wanted[key.name], key.expression) for key in tree.input.keys),
            tuple(Item(wanted[call.name], call.expression) for call in tree.input.calls),
        )
        kept = self._kept(aggregate, lean=True)
        if kept.added:
            return False
        self.nodes.append(self._groups(PUBLIC, kept, tree.columns))
        return True

    def public_bag(self, tree: Operator) -> None:
        self.nodes.append(self._bag(PUBLIC, tree))

    def _bag(self, label: str | None, tree: Operator) -> Node:
        """A node that is kept row by row."""
        tree = simplified(tree)
        floating = tuple(found for found in self.columns(tree) if hard_to_group(found.type))
        key = _key(tree, {node.leaf: node for node in self.nodes})
        query = render(tree)
        return Node(label or _label(query), tree.columns, key, query, _inputs(tree), Bag(tree, floating))


def _typed_keys(keys: tuple[Item, ...], described: tuple[Column, ...]) -> tuple[Item, ...]:
    """Keys that can be compared with kept ones. A NULL without a type becomes text: Spark's joins take two of them for
    different."""
    _check_keys(described[: len(keys)])
    return tuple(
        Item(key.name, cast(key.expression, "string")) if found.type == "void" else key
        for key, found in zip(keys, described, strict=False)
    )


def _check_keys(keys: Iterable[Column]) -> None:
    for key in keys:
        if is_collated(key.type):
            raise refused(Refused.COLLATED_KEY, name=key.name)
        if "map<" in key.type:
            raise refused(Refused.MAP_KEY, name=key.name)


def _label(query: exp.Query) -> str:
    """A name that follows from what is kept: the same state of another query has it too, and can be taken over."""
    return f"state_{hashlib.sha256(query.sql(dialect=TrickleSpark).encode()).hexdigest()[:8]}"


_RECOMPUTED = (Window, Limit, Recursion)


def _core(operator: Operator) -> Window | Limit | Recursion | None:
    """What is computed again as a whole, under conditions and projections."""
    while isinstance(operator, (Filter, Project)):
        operator = operator.input
    return operator if isinstance(operator, _RECOMPUTED) else None


def _kept_keys(operator: Operator) -> tuple[tuple[str, str], ...] | None:
    """The partition keys under the names that the operator gives them; None if one is lost above the window."""
    if isinstance(operator, Window):
        return tuple((name, name) for name in operator.keys)
    if isinstance(operator, Filter):
        return _kept_keys(operator.input)
    if isinstance(operator, Project):
        below = _kept_keys(operator.input)
        names = {item.expression.name: item.name for item in operator.items if item.is_rename}
        if below is None or not all(name in names for name, _ in below):
            return None
        return tuple((names[name], its) for name, its in below)
    return ()


def _again(operator: Operator) -> bool:
    """Does it read the recursion that it is a part of?"""
    if isinstance(operator, Recursion):
        return False
    return isinstance(operator, Again) or any(_again(source) for source in inputs(operator))


def _plain(operator: Operator) -> bool:
    """Rows of one table, or of several one after another: reading them again is all there is to it."""
    return isinstance(operator, (Scan, Filter, Project, UnionAll, OneRow)) and all(map(_plain, inputs(operator)))


def _names(expression: exp.Expr) -> set[str]:
    return {found.name for found in expression.find_all(exp.Column)}


def _inputs(operator: Operator) -> tuple[KeptLeaf, ...]:
    read = dict.fromkeys(scan.leaf for scan in scans(operator))
    return tuple(leaf for leaf in read if not isinstance(leaf, StepLeaf))


def _key(operator: Operator, nodes: Mapping[Leaf, Node]) -> tuple[str, ...] | None:
    """Columns that identify a row: those of groupings, as long as all of them are passed on."""
    match operator:
        case OneRow():
            return ()
        case Scan():
            node = nodes.get(operator.leaf)
            if node is None or node.key is None:
                return None
            names = {item.source: item.name for item in operator.items}
            return tuple(names[name] for name in node.key) if set(node.key) <= set(names) else None
        case Filter() | Window() | Limit():
            return _key(operator.input, nodes)
        case Match() if operator.kind is not MatchKind.MARK:
            return _key(operator.left, nodes)
        case OuterJoin() if not operator.keeps_right:
            left, right = _key(operator.left, nodes), _key(operator.right, nodes)
            return None if left is None or right is None else (*left, *right)
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
