"""The clauses of one SELECT: list, WHERE, GROUP BY, HAVING, DISTINCT, and the scalar subqueries in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.errors import SqlError
from spark_trickle.sql import generators
from spark_trickle.sql.bind import Binding, bind, without_aggregates
from spark_trickle.sql.functions import (
    GROUPING,
    bare_call,
    function_name,
    has_aggregate,
    is_aggregate,
    is_aggregate_of_collected,
    spark_name,
)
from spark_trickle.sql.grouping_sets import GroupingSets, grouping_sets
from spark_trickle.sql.known_types import fields, type_of
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Item,
    OneRow,
    Operator,
    Project,
    column,
    conjuncts,
    used,
)
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.relations import Built, Relation, in_order, joined
from spark_trickle.sql.scope import Names, Scope

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte

_NOT_SUPPORTED = (
    ("pivots", "PIVOT after joins", "there is no rule for it", "Put what is before it in a subquery", "PIVOT"),
    ("qualify", "QUALIFY", "there is no rule for window functions yet", "Use an aggregate and a join", "QUALIFY"),
    ("windows", "WINDOW", "there is no rule for window functions yet", "Use an aggregate and a join", "WINDOW"),
    ("sample", "TABLESAMPLE", "which rows it takes is random", "Filter on a column instead", "TABLESAMPLE"),
    ("operation_modifiers", "TRANSFORM", "there is no rule for it", None, None),
)


@dataclass(slots=True)
class Pending:
    """Scalar subqueries met while binding: each becomes a one-row relation that is joined."""

    builder: Builder
    ctes: Mapping[str, Cte]
    found: dict[str, Operator] = field(default_factory=dict)

    @property
    def completions(self) -> list[str]:
        return self.builder.completions

    @property
    def kinds(self) -> Mapping[str, str]:
        return self.builder.kinds

    def scalar(self, node: exp.Expr, outer: Scope) -> exp.Column:
        built = self.builder.query(node, self.ctes, outer)
        if len(built.outputs) != 1:
            raise wrong(self.builder.text, node, f"a scalar subquery with {len(built.outputs)} columns")
        if not built.one_row:
            raise unsupported(
                self.builder.text,
                node,
                "a scalar subquery that may give no row or several",
                "only those that are one aggregate over everything have a rule",
                "Write it as a join, or with max(...)",
                "SELECT",
            )
        name = built.outputs[0][1]
        self.found[name] = built.operator
        return column(name)

    def beside(self, operator: Operator, names: Iterable[str] | None = None) -> Operator:
        """The operator joined with the subqueries (those of the names)."""
        wanted = set(self.found) if names is None else set(names)
        return joined((operator, *(self.found.pop(name) for name in list(self.found) if name in wanted)))


@dataclass(frozen=True, slots=True)
class Output:
    """One entry of the select list."""

    name: str
    expression: exp.Expr


def select(builder: Builder, node: exp.Select, ctes: Mapping[str, Cte], outer: Scope) -> Built:
    """One SELECT as an operator."""
    for clause, construct, why, hint, keyword in _NOT_SUPPORTED:
        if node.args.get(clause):
            raise unsupported(builder.text, None, construct, why, hint, keyword)
    relation = _from(builder, node, ctes)
    pending = Pending(builder, ctes)
    for view in node.args.get("laterals") or ():
        where = Binding(builder.text, relation.scope, pending, outer=outer)
        relation = generators.lateral_view(builder, relation, view, where)
    where = Binding(builder.text, relation.scope, pending, outer=outer)
    operator = relation.operator
    condition = node.args.get("where")
    if condition is not None:
        bound = without_aggregates(bind(condition.this, where), "WHERE", where)
        operator = Filter(pending.beside(operator), tuple(conjuncts(bound)))
    outputs, made = _outputs(node, where, builder)
    having = _having(node, where, outputs)
    group = node.args.get("group")
    listed = [*(output.expression for output in outputs), *(found.call for found in made)]
    if group is not None or having is not None or any(map(has_aggregate, listed)):
        sets = _sets(group, outputs, where, builder.names)
        keys = list(sets.keys) if sets else _keys(group, outputs, where) if group is not None else []
        grouping = Grouping(where, builder.names, sets)
        arguments = [Output("", found.call) for found in made]
        operator, outputs = grouping.apply(operator, keys, [*outputs, *arguments], having)
        one_row = group is None and having is None
        if made:
            lifted = [output.expression for output in outputs[-len(made) :]]
            made = [replace(found, call=call) for found, call in zip(made, lifted, strict=True)]
            outputs = outputs[: -len(made)]
    else:
        operator = pending.beside(operator)
        one_row = isinstance(relation.operator, OneRow) and condition is None
    for found in made:
        operator, one_row = found.over(operator), False
    built = projected(operator, outputs, builder.names)
    if node.args.get("distinct") is not None:
        return Built(Distinct(_exactly(built, builder.names)), built.outputs)
    return Built(built.operator, built.outputs, one_row)


def _exactly(built: Built, names: Names) -> Operator:
    """Only the columns that are put out, each once: two outputs of one column are the same when it is."""
    once = tuple(dict.fromkeys(found for _, found in built.outputs))
    return in_order(Built(built.operator, tuple((name, name) for name in once)), names)


def _from(builder: Builder, node: exp.Select, ctes: Mapping[str, Cte]) -> Relation:
    clause = node.args.get("from_")
    if clause is None:
        return Relation(OneRow(), Scope())
    relation = builder.relation(clause.this, ctes)
    for join in node.args.get("joins") or ():
        relation = builder.join(relation, join, ctes)
    return relation


def _outputs(node: exp.Select, where: Binding, builder: Builder) -> tuple[list[Output], list[generators.Generator]]:
    outputs: list[Output] = []
    made: list[generators.Generator] = []
    aliases: dict[str, exp.Expr] = {}
    for entry in node.expressions:
        star = _star(entry, where, builder)
        if star is not None:
            outputs.extend(star)
            continue
        here = Binding(where.text, where.scope, where.subqueries, aliases, where.outer)
        generator = generators.listed(entry, here, builder)
        if generator is not None:
            made.append(generator)
            outputs.extend(Output(name, found) for name, found in generator.columns)
            aliases.update((name.lower(), found) for name, found in generator.columns if entry.args.get("alias"))
            continue
        bound = bind(entry.this if isinstance(entry, exp.Alias) else entry, here)
        outputs.append(Output(spark_name(entry), bound))
        if isinstance(entry, exp.Alias):
            aliases.setdefault(entry.alias.lower(), bound)
    return outputs, made


def _star(entry: exp.Expr, where: Binding, builder: Builder) -> list[Output] | None:
    qualifier: tuple[str, ...] = ()
    star = entry
    if isinstance(entry, exp.Column) and isinstance(entry.this, exp.Star):
        qualifier = tuple(part.name for part in entry.parts[:-1])
        star = entry.this
    if not isinstance(star, exp.Star):
        return None
    if star.args.get("replace") or star.args.get("rename"):
        raise unsupported(where.text, entry, "* REPLACE", "there is no rule for it", "Name the columns")
    left_out = {column.name.lower() for column in star.args.get("except_") or ()}
    found = where.scope.star(qualifier)
    if found:
        return [Output(v.name, column(v.column)) for v in found if v.name.lower() not in left_out]
    written = ".".join(qualifier)
    if not qualifier or where.scope.find(qualifier) is None:
        raise wrong(where.text, entry, f"'{written}' in '{written}.*' is no table of this query")
    base: exp.Expr = exp.column(exp.to_identifier(qualifier[0], quoted=True))
    for name in qualifier[1:]:
        base = exp.Dot(this=base, expression=exp.to_identifier(name, quoted=True))
    base = bind(base, where)
    known = fields(type_of(base, builder.kinds))
    if not known:
        raise unsupported(where.text, entry, f"{written}.*", "its fields are not known here", "Name the fields")
    return [
        Output(name, exp.Dot(this=base.copy(), expression=exp.to_identifier(name, quoted=True)))
        for lowered, (name, _) in known.items()
        if lowered not in left_out
    ]


def _having(node: exp.Select, where: Binding, outputs: list[Output]) -> exp.Expr | None:
    clause = node.args.get("having")
    if clause is None:
        return None
    aliases = {output.name.lower(): output.expression for output in outputs}
    return bind(clause.this, Binding(where.text, where.scope, where.subqueries, aliases, where.outer))


def _keys(group: exp.Group, outputs: list[Output], where: Binding) -> list[exp.Expr]:
    if group.args.get("all") and not group.expressions:
        listed = [output.expression for output in outputs if not has_aggregate(output.expression)]
        return [key for key in listed if not key.meta.get(generators.GENERATED)]
    return list(dict.fromkeys(_key(entry, outputs, where) for entry in group.expressions))


def _key(entry: exp.Expr, outputs: list[Output], where: Binding) -> exp.Expr:
    if isinstance(entry, exp.Literal) and not entry.is_string:
        position = int(entry.this) if entry.is_int else 0
        if not 1 <= position <= len(outputs):
            raise wrong(where.text, entry, f"GROUP BY {entry.this}: there are {len(outputs)} output columns")
        key = outputs[position - 1].expression
    else:
        aliases = {output.name.lower(): output.expression for output in outputs}
        key = bind(entry, Binding(where.text, where.scope, where.subqueries, aliases, where.outer))
    return without_aggregates(key.unnest(), "GROUP BY", where)


def _sets(group: exp.Group | None, outputs: list[Output], where: Binding, names: Names) -> GroupingSets | None:
    if group is None:
        return None
    return grouping_sets(group, lambda entry: _key(entry, outputs, where), lambda: names.fresh("grouping_set"))


def projected(operator: Operator, outputs: list[Output], names: Names) -> Built:
    """Computed outputs get a column; plain ones keep theirs."""
    computed: list[Item] = []
    placed: list[tuple[str, str]] = []
    for output in outputs:
        bare = output.expression.unnest()
        if isinstance(bare, exp.Column):
            placed.append((output.name, bare.name))
            continue
        computed.append(Item(names.fresh(output.name), output.expression))
        placed.append((output.name, computed[-1].name))
    if computed:
        fresh = {item.name for item in computed}
        plain = dict.fromkeys(found for _, found in placed if found not in fresh)
        operator = Project(operator, (*(Item(found, column(found)) for found in plain), *computed))
    return Built(operator, tuple(placed))


@dataclass(frozen=True, slots=True)
class Grouping:
    """Splits expressions over groups into keys, aggregate calls, and what is computed from both."""

    where: Binding
    names: Names
    sets: GroupingSets | None = None
    keys: dict[exp.Expr, str] = field(default_factory=dict)
    calls: dict[exp.Expr, str] = field(default_factory=dict)

    def apply(
        self, operator: Operator, keys: list[exp.Expr], outputs: list[Output], having: exp.Expr | None
    ) -> tuple[Operator, list[Output]]:
        pending = self.where.subqueries
        assert isinstance(pending, Pending)
        wishes = {output.expression.unnest(): output.name for output in outputs}
        for key in keys:
            plain = isinstance(key, exp.Column) and self.sets is None
            self.keys[key] = key.name if plain else self.names.fresh(wishes.get(key, "key"))
        for output in outputs:
            bare = output.expression.unnest()
            if is_aggregate(bare) and bare not in self.calls:
                self.calls[bare] = self.names.fresh(output.name)
        above = [Output(output.name, self._above(output.expression)) for output in outputs]
        condition = None if having is None else self._above(having)
        below = {name for part in (*self.keys, *self.calls) for name in used(part)}
        operator = pending.beside(operator, below)
        if not self.keys and not self.calls and not self.sets:
            self.calls[exp.Count(this=exp.Star(), big_int=True)] = self.names.fresh("count")
        calls = tuple(Item(name, call) for call, name in self.calls.items())
        if self.sets is not None:
            operator = self.sets.over(operator, self.keys)
            items = tuple(Item(name, column(name)) for name in (*self.keys.values(), self.sets.number))
        else:
            operator = self._constants(operator, keys)
            items = tuple(Item(name, key if used(key) else column(name)) for key, name in self.keys.items())
        aggregate = Aggregate(operator, items, calls)
        grouped = pending.beside(aggregate)
        if condition is not None:
            grouped = Filter(grouped, tuple(conjuncts(condition)))
        return grouped, above

    def _constants(self, operator: Operator, keys: list[exp.Expr]) -> Operator:
        # As a key, a number would be read as the position of an output column.
        constants = [Item(self.keys[key], key) for key in keys if not used(key)]
        if not constants:
            return operator
        return Project(operator, (*(Item(name, column(name)) for name in operator.columns), *constants))

    def _above(self, expression: exp.Expr) -> exp.Expr:
        holder = exp.Paren(this=expression.copy())
        self._lift(holder.this)
        lifted: exp.Expr = holder.this
        lifted.pop()
        return lifted

    def _lift(self, node: exp.Expr) -> None:
        if node in self.keys:
            node.replace(column(self.keys[node]))
        elif isinstance(node, exp.Anonymous) and function_name(node) in GROUPING:
            found = None if self.sets is None else self.sets.value(node)
            if found is None:
                raise wrong(self.where.text, node, f"{node.name} of what is no key of GROUPING SETS, CUBE or ROLLUP")
            node.replace(found)
        elif is_aggregate(node):
            if any(
                has_aggregate(part) for part in bare_call(node).iter_expressions()
            ) and not is_aggregate_of_collected(node):
                raise wrong(self.where.text, node, "an aggregate inside an aggregate", hint="Use a subquery")
            node.replace(column(self._call(node)))
        elif isinstance(node, exp.Column):
            if node.name not in self._pending and not node.meta.get(generators.GENERATED):
                raise self._not_grouped(node)
        else:
            for child in list(node.iter_expressions()):
                self._lift(child)

    @property
    def _pending(self) -> dict[str, Operator]:
        assert isinstance(self.where.subqueries, Pending)
        return self.where.subqueries.found

    def _call(self, node: exp.Expr) -> str:
        if node not in self.calls:
            columns = sorted(used(node))
            wish = "_".join([function_name(bare_call(node)), *columns[:2]])
            self.calls[node.copy()] = self.names.fresh(wish)
        return self.calls[node]

    def _not_grouped(self, node: exp.Column) -> SqlError:
        shown = next((v.name for v in self.where.scope.columns if v.column == node.name), node.name)
        return wrong(
            self.where.text,
            node,
            f"column '{shown}' is neither in GROUP BY nor in an aggregate",
            hint=f"Add it to GROUP BY, or use max({shown})",
        )
